package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

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
	d.Spoil, d.Reordered = "", false
	d.NextAt = now.Add(backoff(d.Attempts))
	final := ok || d.Once || now.Sub(d.CreatedAt) > givenUpAfter
	gone, err := q.book(d, outcome, status, final)
	if err != nil && !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
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
