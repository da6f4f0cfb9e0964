package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/console"
	"onefold/domain/store"
)

// measure is what was found behind one alarm.
type measure struct {
	name string
	n    int           // things; a queue stops counting at console.MaxCount
	age  time.Duration // of the oldest
}

// measureAll looks at everything that may raise an alarm.
func measureAll(ctx context.Context, q store.Querier) ([]measure, error) {
	queues, err := console.Queues(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []measure
	for _, queue := range queues {
		all = append(all, measure{queue.Name, queue.Count, queue.Age})
	}
	lags, err := lags(ctx, q)
	if err != nil {
		return nil, err
	}
	all = append(all, lags...)
	proof, err := Proof(ctx, q)
	if err != nil || !proof.Known() {
		return all, err
	}
	return append(all, measure{name: Violations, n: proof.Violations()}), nil
}

// lags each read one partial index from its oldest end.
func lags(ctx context.Context, q store.Querier) ([]measure, error) {
	rows, err := q.Query(ctx, `
		SELECT name, n, coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float8 FROM (
			SELECT '`+OutboxLag+`', count(*), min(at) FROM (
				SELECT created_at FROM outbox_events WHERE dispatched_at IS NULL AND parked_at IS NULL ORDER BY next_attempt_at LIMIT 1000) r(at)
			UNION ALL SELECT '`+InboxLag+`', count(*), min(at) FROM (
				SELECT received_at FROM incoming_events WHERE status = 'RECEIVED' AND attempts = 0 ORDER BY next_attempt_at LIMIT 1000) r(at)
		) AS lag(name, n, oldest)`)
	if err != nil {
		return nil, fmt.Errorf("measure lags: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m measure, err error) {
		var seconds float64
		err = row.Scan(&m.name, &m.n, &seconds)
		m.age = time.Duration(seconds * float64(time.Second))
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("measure lags: %w", err)
	}
	return list, nil
}

// Invariant is the latest evaluation of one promise.
type Invariant struct {
	Number     int
	Name       string
	Violations int
	Sample     string
	CheckedAt  time.Time
	Took       time.Duration
	Since      *time.Time // since when it has been violated; nil if it isn't
}

// ProofResult is the latest evaluation of all of them.
type ProofResult []Invariant

// Known says that there has been one.
func (p ProofResult) Known() bool { return len(p) > 0 }

// Violations are those of all invariants together.
func (p ProofResult) Violations() (n int) {
	for _, i := range p {
		n += i.Violations
	}
	return n
}

// CheckedAt is when the oldest of the results was found out; zero if there is none.
func (p ProofResult) CheckedAt() (at time.Time) {
	for _, i := range p {
		if at.IsZero() || i.CheckedAt.Before(at) {
			at = i.CheckedAt
		}
	}
	return at
}

// Proof reads what the periodic check of the invariants found.
func Proof(ctx context.Context, q store.Querier) (ProofResult, error) {
	rows, err := q.Query(ctx, `SELECT number, name, violations::int, coalesce(sample::text, ''), checked_at, took_ms::float8, since FROM invariant_results ORDER BY number`)
	if err != nil {
		return nil, fmt.Errorf("read invariants: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i Invariant, err error) {
		var ms float64
		err = row.Scan(&i.Number, &i.Name, &i.Violations, &i.Sample, &i.CheckedAt, &ms, &i.Since)
		i.Took = time.Duration(ms * float64(time.Millisecond))
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("read invariants: %w", err)
	}
	return list, nil
}
