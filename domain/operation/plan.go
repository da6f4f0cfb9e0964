package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Plan is a system intent to be carried on by the executor.
type Plan struct {
	Type    Type
	Key     string        // the business key
	OrderID uuid.UUID     // the order it belongs to
	Trace   string        // the trace that made it necessary
	Delay   time.Duration // until it is first due; 0 means at once
}

// Enqueue inserts system intents; one that is there already stays as it is.
func Enqueue(b *pgx.Batch, plans ...Plan) {
	n := len(plans)
	ids, types, keys := make([]uuid.UUID, n), make([]string, n), make([]string, n)
	orders, traces, delays := make([]uuid.UUID, n), make([]string, n), make([]float64, n)
	for i, p := range plans {
		ids[i] = Identity{User: System, Type: p.Type, Key: p.Key}.ID()
		types[i], keys[i], orders[i], traces[i], delays[i] = string(p.Type), p.Key, p.OrderID, p.Trace, p.Delay.Seconds()
	}
	b.Queue(`INSERT INTO operations (id, user_id, type, key, request_hash, status, order_id, next_attempt_at, trace_id)
		SELECT id, $7, type, key, 'v1:system', 'PROCESSING', order_id, now() + make_interval(secs => delay), trace
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::float8[]) AS p(id, type, key, order_id, trace, delay)
		ON CONFLICT DO NOTHING`, ids, types, keys, orders, traces, delays, System)
}

// Due is an operation whose time has come.
type Due struct {
	ID    ID
	Type  Type
	Trace string
}

// TakeDue moves next_attempt_at of at most limit due operations on by lease and returns them, for the relay to make jobs of
// in the same transaction. A job that is lost makes its row due again. Rows are compared with now(), which is stable within the
// statement: clock_timestamp() isn't, and would read the whole index.
func TakeDue(ctx context.Context, tx pgx.Tx, lease time.Duration, limit int) ([]Due, error) {
	// MATERIALIZED, because a subquery with SKIP LOCKED may run once per row, and then it takes more than limit.
	rows, err := tx.Query(ctx, `WITH due AS MATERIALIZED (
			SELECT id FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= now()
			ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		UPDATE operations o SET next_attempt_at = clock_timestamp() + $1::interval FROM due WHERE o.id = due.id
		RETURNING o.id, o.type, o.trace_id`, lease, limit)
	if err != nil {
		return nil, fmt.Errorf("take due operations: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("read due operations: %w", err)
	}
	return due, nil
}
