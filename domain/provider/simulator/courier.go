package simulator

import (
	"container/heap"
	"context"
	"net/http"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	couriers        = 32               // deliveries at the same time
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
	defer q.client.CloseIdleConnections()
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
