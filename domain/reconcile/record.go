package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
	"onefold/domain/store"
)

// Record writes down the answers that have come for open runs and closes the runs that have all of theirs. Any number of
// processes may call it at any time; an answer that isn't recorded is found by the next call. It returns how many it recorded.
func Record(ctx context.Context, db store.DB) (n int, err error) {
	err = store.InTx(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, recordSQL)
		if err != nil {
			return fmt.Errorf("record answers: %w", err)
		}
		n = int(tag.RowsAffected())
		if _, err = tx.Exec(ctx, finishSQL); err != nil {
			return fmt.Errorf("finish runs: %w", err)
		}
		return nil
	})
	return n, err
}

// recordSQL reads each answer from the rows it changed: the object's state, and how its operation's last try went. An error text
// begins with "provider: " and its kind (provider.Error).
const recordSQL = `WITH answered AS MATERIALIZED (
		SELECT i.run_id, i.object_id, i.before, coalesce(p.status, r.status, s.status) AS after, i.operation_id,
			op.status AS op_status, op.last_error, op.failure_code
		FROM reconcile_runs run JOIN reconcile_items i ON i.run_id = run.id
		LEFT JOIN payments p ON i.object_type = 'payment' AND p.id = i.object_id
		LEFT JOIN refunds r ON i.object_type = 'refund' AND r.id = i.object_id
		LEFT JOIN shipments s ON i.object_type = 'shipment' AND s.id = i.object_id
		LEFT JOIN operations op ON op.id = i.operation_id
		WHERE run.finished_at IS NULL AND i.done_at IS NULL AND (op.id IS NULL OR op.status <> 'PROCESSING'
			OR (op.attempt > i.attempt AND op.lease_expires_at IS NULL))
		ORDER BY i.run_id, i.object_id FOR UPDATE OF i SKIP LOCKED)
	UPDATE reconcile_items i SET after = a.after, done_at = clock_timestamp(), detail = coalesce(a.failure_code, a.last_error),
		result = CASE WHEN a.after <> a.before THEN 'CHANGED'
			WHEN a.operation_id IS NULL THEN 'SKIPPED'
			WHEN a.op_status = 'PROCESSING' AND a.last_error ~ '^provider: (unknown|not_sent|rate_limited|auth)' THEN 'UNREACHABLE'
			ELSE 'UNCHANGED' END
	FROM answered a WHERE i.run_id = a.run_id AND i.object_id = a.object_id`

const finishSQL = `UPDATE reconcile_runs run SET finished_at = clock_timestamp(), changed = c.changed, unchanged = c.unchanged,
		unreachable = c.unreachable, skipped = c.skipped
	FROM (SELECT i.run_id, count(*) FILTER (WHERE result = 'CHANGED') AS changed, count(*) FILTER (WHERE result = 'UNCHANGED') AS unchanged,
			count(*) FILTER (WHERE result = 'UNREACHABLE') AS unreachable, count(*) FILTER (WHERE result = 'SKIPPED') AS skipped
		FROM reconcile_items i JOIN reconcile_runs open ON open.id = i.run_id WHERE open.finished_at IS NULL
		GROUP BY i.run_id HAVING count(*) = count(done_at)) c
	WHERE run.id = c.run_id AND run.finished_at IS NULL`

// RunScheduled starts the run of the present period over everything unknown, unless it was started already, by the database's clock.
func RunScheduled(ctx context.Context, db store.DB) error {
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		r := Request{By: operation.System, Scope: Schedule}
		var begun bool
		var now time.Time
		if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		r.ID = ScheduledID(now)
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM reconcile_runs WHERE id = $1)
			OR NOT pg_try_advisory_xact_lock(hashtextextended('onefold reconcile schedule', 0))`, r.ID).Scan(&begun); err != nil {
			return fmt.Errorf("look for run: %w", err)
		}
		if begun {
			return nil
		}
		_, err := Start(ctx, tx, r)
		return err
	})
}
