package simulator

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	couriers        = 16               // deliveries at the same time
	postTimeout     = 10 * time.Second // for the receiver to answer
	firstRetry      = 250 * time.Millisecond
	longestRetry    = time.Minute
	givenUpAfter    = 72 * time.Hour // since the event
	reorderPatience = 10 * time.Second
	idleLook        = time.Hour
)

// courier delivers webhooks. The queue bucket is the truth; the lists below only say when to look at which row.
type courier struct {
	s      *Server
	url    string
	secret string
	client *http.Client
	wake   chan struct{}

	mu      sync.Mutex
	ready   schedule
	parked  map[uint64]delivery // held
	running int
	work    sync.WaitGroup
}

func newCourier(s *Server, url, secret string) *courier {
	return &courier{
		s: s, url: url, secret: secret, wake: make(chan struct{}, 1), parked: map[uint64]delivery{},
		client: &http.Client{
			Timeout:       postTimeout,
			Transport:     &http.Transport{MaxIdleConnsPerHost: couriers, IdleConnTimeout: postTimeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// load takes up what an earlier process left undelivered.
func (q *courier) load() error {
	return q.s.db.View(func(tx *bolt.Tx) error { //nolint:wrapcheck // wrapped where it arises
		rows, err := all[delivery](tx, bQueue)
		for _, d := range rows {
			q.schedule(d)
		}
		return err
	})
}

func (q *courier) schedule(d delivery) {
	q.mu.Lock()
	if d.Held {
		q.parked[d.Number] = d
	} else {
		heap.Push(&q.ready, d)
	}
	q.mu.Unlock()
	q.nudge()
}

func (q *courier) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// accept takes committed events over, one fault each. It returns at once unless a fault wants delivery before the response.
func (q *courier) accept(events []delivery) {
	for _, d := range events {
		f := q.s.faults.take(webhooksSend, d.References...)
		if f.Do == "" {
			q.schedule(d)
			continue
		}
		if f.Do == reorder && q.awaits(d.Subject) {
			q.schedule(d) // it is the other one that the earlier event waits for
			continue
		}
		if err := q.misdeliver(d, f); err != nil {
			q.s.log.Error("plan webhook", "event", d.EventID, "error", err)
			q.schedule(d)
		}
	}
}

func (q *courier) misdeliver(d delivery, f fault) error {
	changed, extra, lost, err := plan(d, f, q.s.now().UTC())
	if err != nil {
		return err
	}
	err = q.s.db.Batch(func(tx *bolt.Tx) error {
		if lost {
			return q.conclude(tx, d, lose, 0)
		}
		if extra != nil {
			if err := enqueue(tx, extra); err != nil {
				return err
			}
		}
		return put(tx, bQueue, numbered(d.Number), changed)
	})
	switch {
	case err != nil || lost:
		return err //nolint:wrapcheck // wrapped where it arises
	case f.Do == beforeResponse:
		q.attempt(context.Background(), changed)
		return nil
	case extra != nil:
		q.schedule(*extra)
	}
	q.schedule(changed)
	return nil
}

// run delivers what is due until ctx ends.
func (q *courier) run(ctx context.Context) {
	defer q.work.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(q.start(ctx))
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-timer.C:
		}
	}
}

// start begins every due delivery there is room for and returns how long to sleep.
func (q *courier) start(ctx context.Context) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 && q.running < couriers {
		if wait := q.ready[0].NextAt.Sub(q.s.now()); wait > 0 {
			return wait
		}
		d, _ := heap.Pop(&q.ready).(delivery)
		q.running++
		q.work.Go(func() {
			q.attempt(ctx, d)
			q.mu.Lock()
			q.running--
			q.mu.Unlock()
			q.nudge()
		})
	}
	return idleLook
}

// attempt makes one delivery and books how it went.
func (q *courier) attempt(ctx context.Context, d delivery) {
	status, err := 0, error(nil)
	if d.Spoil != errorBefore {
		status, err = q.post(ctx, d.Body, q.signature(d))
	}
	if ctx.Err() != nil && status == 0 {
		return // stopped by us: the row stays as it is, for the next process
	}
	ok := status/100 == 2 && d.Spoil == ""
	outcome := strconv.Itoa(status)
	switch {
	case d.Spoil != "":
		outcome = d.Spoil
	case err != nil:
		outcome = "no_answer"
	}
	now := q.s.now().UTC()
	d.Attempts++
	d.Spoil = ""
	d.NextAt = now.Add(backoff(d.Attempts))
	final := ok || d.Once || now.Sub(d.CreatedAt) > givenUpAfter
	gone, err := q.book(d, outcome, status, final)
	if err != nil && !errors.Is(err, bolt.ErrDatabaseNotOpen) {
		q.s.log.Error("book webhook", "event", d.EventID, "error", err)
	}
	if !final && !gone {
		q.s.log.Warn("webhook not accepted", "event", d.EventID, "type", d.Type, "outcome", outcome, "attempt", d.Attempts)
		q.schedule(d)
	}
	q.expedite(d.Subject)
}

// book writes what an attempt came to. gone means that the row was removed meanwhile, by a reset.
func (q *courier) book(d delivery, outcome string, status int, final bool) (gone bool, err error) {
	err = q.s.db.Batch(func(tx *bolt.Tx) error {
		if gone = tx.Bucket([]byte(bQueue)).Get([]byte(numbered(d.Number))) == nil; gone {
			return nil
		}
		if final {
			return q.conclude(tx, d, outcome, status)
		}
		if err := q.log(tx, d, outcome, status); err != nil {
			return err
		}
		return put(tx, bQueue, numbered(d.Number), d)
	})
	return gone, err //nolint:wrapcheck // wrapped where it arises
}

// conclude takes a delivery off the queue for good.
func (q *courier) conclude(tx *bolt.Tx, d delivery, outcome string, status int) error {
	if err := q.log(tx, d, outcome, status); err != nil {
		return err
	}
	if err := tx.Bucket([]byte(bQueue)).Delete([]byte(numbered(d.Number))); err != nil {
		return fmt.Errorf("take delivery off the queue: %w", err)
	}
	return nil
}

func (q *courier) log(tx *bolt.Tx, d delivery, outcome string, status int) error {
	return q.s.logCall(tx, call{on: webhooksSend, key: d.EventID, references: d.References},
		reply{outcome: outcome, status: status, id: d.Subject})
}

func (q *courier) signature(d delivery) string {
	secret := q.secret
	if d.Forged {
		secret = "not " + secret
	}
	return sign(secret, q.s.now(), d.Body)
}

// post makes one HTTP exchange; signature "" sends no header.
func (q *courier) post(ctx context.Context, body []byte, signature string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, q.url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("make webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "onefold-simulator")
	if signature != "" {
		req.Header.Set(SignatureHeader, signature)
	}
	answer, err := q.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send webhook: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, bodyLimit)) // read out, so that the connection can be used again
	return answer.StatusCode, nil
}

// backoff grows twofold from a quarter of a second to a minute, with half to one and a half of it at random.
func backoff(attempts int) time.Duration {
	wait := longestRetry
	if attempts < 9 {
		wait = min(firstRetry<<(attempts-1), longestRetry)
	}
	return wait/2 + rand.N(wait) //nolint:gosec // spreads load, guards nothing
}

func (q *courier) awaits(subject string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.ready {
		if d.Reordered && d.Subject == subject {
			return true
		}
	}
	return false
}

// expedite lets an event go that waited for another one of its subject; "" all of them.
func (q *courier) expedite(subject string) (count int) {
	q.mu.Lock()
	for i := range q.ready {
		if d := &q.ready[i]; d.Reordered && (subject == "" || d.Subject == subject) {
			d.Reordered = false
			d.NextAt = q.s.now()
			count++
		}
	}
	heap.Init(&q.ready)
	q.mu.Unlock()
	if count > 0 {
		q.nudge()
	}
	return count
}

// release lets all held and reordered events go.
func (q *courier) release() (count int, err error) {
	q.mu.Lock()
	held := q.parked
	q.parked = map[uint64]delivery{}
	q.mu.Unlock()
	err = q.s.db.Batch(func(tx *bolt.Tx) error {
		for number, d := range held {
			d.Held = false
			if err := put(tx, bQueue, numbered(number), d); err != nil {
				return err
			}
		}
		return nil
	})
	for _, d := range held {
		d.Held = false
		q.schedule(d)
	}
	return len(held) + q.expedite(""), err //nolint:wrapcheck // wrapped where it arises
}

func (q *courier) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready, q.parked = nil, map[uint64]delivery{}
}

// schedule is a heap by time, then by number.
type schedule []delivery

func (h schedule) Len() int { return len(h) }
func (h schedule) Less(i, j int) bool {
	if h[i].NextAt.Equal(h[j].NextAt) {
		return h[i].Number < h[j].Number
	}
	return h[i].NextAt.Before(h[j].NextAt)
}
func (h schedule) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *schedule) Push(x any) {
	if d, ok := x.(delivery); ok {
		*h = append(*h, d)
	}
}

func (h *schedule) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
