package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// RollupEvery is the pause between two readings of the journal; charts are at most twice that behind.
const RollupEvery = 5 * time.Second

// atOnce bounds one reading, so that a long way behind is caught up in steps.
const atOnce = 200_000

// Series of the charts. Their labels are words of "label.<series>.<label>".
const (
	Operations = "operations" // ends of operations, and repeats: completed, failed, replayed, refused
	Payments   = "payments"   // results: succeeded, canceled, failed, unknown
	Providers  = "providers"  // as payments, each with its provider: sim/succeeded
	Absorbed   = "absorbed"   // repeats that changed nothing, by the layer that absorbed them
	Latency    = "latency"    // answers of the web, by upper bound in milliseconds
	Queue      = "queue"      // things in each queue at the end of the minute
	ReusedBy   = "reused_by"  // refused uses of a key for another request, by user
)

// counted says which journal lines count for what.
const counted = `(VALUES
	('operation.completed', 'operations', 'completed'), ('operation.failed', 'operations', 'failed'),
	('operation.replayed', 'operations', 'replayed'), ('operation.key_reused', 'operations', 'refused'),
	('payment.succeeded', 'payments', 'succeeded'), ('payment.canceled', 'payments', 'canceled'),
	('payment.failed', 'payments', 'failed'), ('payment.unknown', 'payments', 'unknown'),
	('operation.replayed', 'absorbed', 'request'), ('operation.in_progress', 'absorbed', 'twin'), ('operation.key_reused', 'absorbed', 'key'),
	('inbox.repeated', 'absorbed', 'delivery'), ('inbox.no_change', 'absorbed', 'event'), ('inbox.stale', 'absorbed', 'event'),
	('operation.late_owner', 'absorbed', 'worker'), ('operation.already_settled', 'absorbed', 'worker')
) AS k(kind, series, label)`

// add puts counters of minutes (at, series, label, n) into both spans.
const add = `INSERT INTO rollups AS r (series, span, at, label, n)
	SELECT series, span, date_bin(span * interval '1 minute', at, 'epoch'), label, sum(n)::bigint
	FROM found, (VALUES (1::smallint), (15)) AS s(span) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
	ON CONFLICT (series, span, at, label) DO UPDATE SET n = r.n + excluded.n`

// Rollup counts what the journal has got since the last time, unless another process has just done so. more says that it is worth
// calling again at once.
func Rollup(ctx context.Context, db store.DB, every time.Duration) (more bool, err error) {
	_, err = tick(ctx, db, "rollup", every, func(tx pgx.Tx) error {
		from, to, left, err := advance(ctx, tx)
		if err != nil || from == to {
			return err
		}
		more = left
		if _, err := tx.Exec(ctx, `WITH found AS (
				SELECT date_trunc('minute', j.at) AS at, k.series, k.label, count(*) AS n
				FROM journal j JOIN `+counted+` USING (kind) WHERE j.id > $1 AND j.id <= $2 GROUP BY 1, 2, 3
			UNION ALL
				SELECT date_trunc('minute', j.at), 'reused_by', o.user_id::text, count(*)
				FROM journal j JOIN operations o ON o.id = j.operation_id WHERE j.id > $1 AND j.id <= $2 AND j.kind = 'operation.key_reused' GROUP BY 1, 2, 3
			UNION ALL
				SELECT date_trunc('minute', j.at), '`+Providers+`', p.provider || '/' || k.label, count(*)
				FROM journal j JOIN `+counted+` USING (kind) JOIN payments p ON p.id = j.payment_id
				WHERE j.id > $1 AND j.id <= $2 AND k.series = '`+Payments+`' GROUP BY 1, 2, 3
			) `+add, from, to); err != nil {
			return fmt.Errorf("count journal: %w", err)
		}
		return latestReuse(ctx, tx, from, to)
	})
	return more, err
}

// advance takes the next stretch of the journal (from, to] in which no row can appear any more; see the comment at ticks.
func advance(ctx context.Context, tx pgx.Tx) (from, to int64, left bool, err error) {
	var settled int64
	err = tx.QueryRow(ctx, `SELECT done_id, CASE WHEN pg_snapshot_xmin(pg_current_snapshot()) >= next_xmax THEN next_id ELSE done_id END
		FROM ticks WHERE name = 'rollup'`).Scan(&from, &settled)
	if err != nil {
		return 0, 0, false, fmt.Errorf("read progress: %w", err)
	}
	to = min(settled, from+atOnce)
	_, err = tx.Exec(ctx, `UPDATE ticks SET done_id = $1,
		next_xmax = CASE WHEN $2 THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE next_xmax END,
		next_id = CASE WHEN $2 THEN (SELECT coalesce(max(id), 0) FROM journal) ELSE next_id END WHERE name = 'rollup'`, to, to == settled)
	if err != nil {
		return 0, 0, false, fmt.Errorf("keep progress: %w", err)
	}
	return from, to, to < settled, nil
}

func latestReuse(ctx context.Context, tx pgx.Tx, from, to int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO key_reuse (user_id, operation_id, at)
		SELECT DISTINCT ON (o.user_id) o.user_id, o.id, j.at FROM journal j JOIN operations o ON o.id = j.operation_id
		WHERE j.id > $1 AND j.id <= $2 AND j.kind = 'operation.key_reused' ORDER BY o.user_id, j.id DESC
		ON CONFLICT (user_id) DO UPDATE SET operation_id = excluded.operation_id, at = excluded.at`, from, to)
	if err != nil {
		return fmt.Errorf("keep latest reuse: %w", err)
	}
	return nil
}

// AddLatency adds a web process's answers since its last call, by upper bound in milliseconds.
func AddLatency(ctx context.Context, q store.Querier, answers map[string]int64) error {
	var bounds []string
	var counts []int64
	for bound, n := range answers {
		bounds, counts = append(bounds, bound), append(counts, n)
	}
	_, err := q.Exec(ctx, `WITH found AS (SELECT date_trunc('minute', clock_timestamp()) AS at, 'latency' AS series, label, n
		FROM unnest($1::text[], $2::bigint[]) AS t(label, n)) `+add, bounds, counts)
	if err != nil {
		return fmt.Errorf("add latency: %w", err)
	}
	return nil
}

// sample keeps how full the queues are, for their sparklines.
func sample(ctx context.Context, tx pgx.Tx, found []measure) error {
	names, counts := make([]string, len(found)), make([]int64, len(found))
	for i, m := range found {
		names[i], counts[i] = m.name, int64(m.n)
	}
	_, err := tx.Exec(ctx, `INSERT INTO rollups (series, span, at, label, n)
		SELECT 'queue', 1, date_trunc('minute', clock_timestamp()), label, n FROM unnest($1::text[], $2::bigint[]) AS t(label, n)
		ON CONFLICT (series, span, at, label) DO UPDATE SET n = excluded.n`, names, counts)
	if err != nil {
		return fmt.Errorf("sample queues: %w", err)
	}
	return nil
}

// Sweep removes counters that no chart reaches any more.
func Sweep(ctx context.Context, q store.Querier) error {
	_, err := q.Exec(ctx, `DELETE FROM rollups WHERE (span = 1 AND at < now() - interval '1 day') OR (span = 15 AND at < now() - interval '31 days')`)
	if err != nil {
		return fmt.Errorf("sweep rollups: %w", err)
	}
	return nil
}
