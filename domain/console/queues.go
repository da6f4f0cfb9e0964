package console

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fulfilment"
	"onefold/domain/store"
)

// Queue is a number of things that wait for knowledge or for a person.
type Queue struct {
	Name   string // unknown_payments, stuck_operations, failed_effects, quarantined_events, parked_events, orders_in_review
	Count  int    // at most MaxCount; that many means "or more"
	Oldest *time.Time
	Age    time.Duration // of the oldest, by the database's clock; 0 when empty
}

// MaxCount is where counting a queue stops.
const MaxCount = 10_000

// queues each read one partial index from its oldest end. $1 are the effect types.
const queuesSQL = `
SELECT name, n, oldest, extract(epoch FROM clock_timestamp() - oldest)::float8 FROM (
	SELECT 1, 'unknown_payments', count(*), min(at) FROM (
		SELECT updated_at FROM payments WHERE status = 'UNKNOWN' ORDER BY updated_at, id LIMIT 10000) r(at)
	UNION ALL SELECT 2, 'stuck_operations', count(*), min(at) FROM (
		SELECT op.created_at FROM operations op WHERE ` + stuckSQL + ` LIMIT 10000) r(at)
	UNION ALL SELECT 3, 'failed_effects', count(*), min(at) FROM (
		SELECT created_at FROM operations op WHERE status = 'FAILED' AND type = ANY($1) AND NOT ` + fulfilment.Superseded + ` ORDER BY created_at, id LIMIT 10000) r(at)
	UNION ALL SELECT 4, 'quarantined_events', count(*), min(at) FROM (
		SELECT received_at FROM incoming_events WHERE status = 'QUARANTINED' ORDER BY received_at, id LIMIT 10000) r(at)
	UNION ALL SELECT 5, 'parked_events', count(*), min(at) FROM (
		SELECT created_at FROM outbox_events WHERE parked_at IS NOT NULL ORDER BY created_at, id LIMIT 10000) r(at)
	UNION ALL SELECT 6, 'orders_in_review', count(*), min(at) FROM (
		SELECT created_at FROM orders WHERE needs_review ORDER BY created_at, id LIMIT 10000) r(at)
) AS queue(position, name, n, oldest) ORDER BY position`

// Queues counts what needs attention.
func Queues(ctx context.Context, q store.Querier) ([]Queue, error) {
	rows, err := q.Query(ctx, queuesSQL, fulfilment.Types())
	if err != nil {
		return nil, fmt.Errorf("count queues: %w", err)
	}
	queues, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (queue Queue, err error) {
		var seconds *float64
		if err = row.Scan(&queue.Name, &queue.Count, &queue.Oldest, &seconds); err == nil && seconds != nil {
			queue.Age = time.Duration(*seconds * float64(time.Second))
		}
		return queue, reading("queue", err)
	})
	if err != nil {
		return nil, fmt.Errorf("count queues: %w", err)
	}
	return queues, nil
}
