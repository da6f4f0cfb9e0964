package operator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Due is a batch whose next step has come.
type Due struct {
	ID    uuid.UUID
	Trace string
}

// TakeDue moves running batches on by lease and returns them, as operation.TakeDue does with operations.
func TakeDue(ctx context.Context, tx pgx.Tx, lease time.Duration) ([]Due, error) {
	rows, err := tx.Query(ctx, `WITH due AS MATERIALIZED (
			SELECT id FROM batches WHERE status = 'RUNNING' AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT 10 FOR UPDATE SKIP LOCKED)
		UPDATE batches b SET next_attempt_at = clock_timestamp() + $1::interval FROM due WHERE b.id = due.id RETURNING b.id, b.trace_id`, lease)
	if err != nil {
		return nil, fmt.Errorf("take due batches: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("read due batches: %w", err)
	}
	return due, nil
}

// stepSize is how many things one job presses before the batch is looked at again: pausing takes effect after them.
const stepSize = 25

// Step presses the next things of a running batch. A press that was made already is found by its key; an unavailable database
// leaves the rest for the next step.
func (d *Desk) Step(ctx context.Context, id uuid.UUID) error {
	var p Press
	var running bool
	var traceID string
	err := d.Operations.DB.QueryRow(ctx, `SELECT b.action, b.user_id, coalesce(u.email, ''), u.role, coalesce(b.reason, ''), b.status = 'RUNNING', b.trace_id, b.input
		FROM batches b JOIN users u ON u.id = b.user_id WHERE b.id = $1`, id).
		Scan(&p.Action, &p.Actor.ID, &p.Actor.Email, &p.Actor.Role, &p.Reason, &running, &traceID, &p.Input)
	if err != nil {
		return fmt.Errorf("read batch: %w", err)
	}
	if !running {
		return nil
	}
	ctx = trace.Resume(ctx, traceID)
	items, err := d.waiting(ctx, id)
	if err != nil {
		return err
	}
	for position, object := range items {
		p.Object, p.Key = object.String(), "batch:"+id.String()+":"+strconv.Itoa(position)
		_, err := d.Press(ctx, p)
		if err := d.finished(ctx, id, position, err); err != nil {
			return err
		}
	}
	_, err = d.Operations.DB.Exec(ctx, `UPDATE batches b SET status = CASE WHEN n = 0 THEN 'DONE' ELSE status END, finished_at = CASE WHEN n = 0 THEN now() END,
			next_attempt_at = CASE WHEN n > 0 THEN now() END
		FROM (SELECT count(*) AS n FROM batch_items WHERE batch_id = $1 AND status = 'WAITING') w WHERE b.id = $1 AND b.status = 'RUNNING'`, id)
	if err != nil {
		return fmt.Errorf("move batch on: %w", err)
	}
	d.Wake()
	return nil
}

func (d *Desk) waiting(ctx context.Context, id uuid.UUID) (map[int]uuid.UUID, error) {
	rows, err := d.Operations.DB.Query(ctx, `SELECT position, object_id FROM batch_items WHERE batch_id = $1 AND status = 'WAITING' ORDER BY position LIMIT $2`, id, stepSize)
	if err != nil {
		return nil, fmt.Errorf("read items of batch: %w", err)
	}
	items := map[int]uuid.UUID{}
	var position int
	var object uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&position, &object}, func() error {
		items[position] = object
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read items of batch: %w", err)
	}
	return items, nil
}

// finished notes what became of one thing. A refusal by verdict means that it has changed since the preview: skipped, not failed.
func (d *Desk) finished(ctx context.Context, id uuid.UUID, position int, cause error) error {
	status, code := "DONE", (*string)(nil)
	if cause != nil {
		e, ok := fault.Of(cause)
		if !ok || e.Kind == fault.Unavailable || e.Kind == fault.InProgress {
			return cause // nothing is known of this thing yet
		}
		status, code = "FAILED", &e.Code
		if e.Code == "ACTION_WAIT" || e.Code == "ACTION_UNSAFE" {
			status = "SKIPPED"
		}
		if len(e.Fields) > 0 {
			code = &e.Fields[0].Rule
		}
	}
	_, err := d.Operations.DB.Exec(ctx, `UPDATE batch_items SET status = $3, code = $4, done_at = now() WHERE batch_id = $1 AND position = $2 AND status = 'WAITING'`,
		id, position, status, code)
	if err != nil {
		return fmt.Errorf("note item of batch: %w", err)
	}
	return nil
}

const batchColumns = `b.id, b.action, b.user_id, coalesce(u.email, ''), b.filter, b.input, ` + assigneeOf + `, coalesce(b.reason, ''), b.status, b.total, i.done, i.skipped, i.failed,
	b.created_at, b.started_at, b.finished_at, b.retry_of, b.trace_id
	FROM batches b LEFT JOIN users u ON u.id = b.user_id CROSS JOIN LATERAL (
		SELECT count(*) FILTER (WHERE status = 'DONE') AS done, count(*) FILTER (WHERE status = 'SKIPPED') AS skipped,
			count(*) FILTER (WHERE status = 'FAILED') AS failed FROM batch_items WHERE batch_id = b.id) i`

// FindBatch reads a batch and at most limit of its items: failed ones first, then skipped, then the rest in order.
func FindBatch(ctx context.Context, q store.Querier, id uuid.UUID, limit int) (Batch, []Item, error) {
	rows, err := q.Query(ctx, `SELECT `+batchColumns+` WHERE b.id = $1`, id)
	if err != nil {
		return Batch{}, nil, fmt.Errorf("read batch: %w", err)
	}
	batches, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Batch])
	if err != nil {
		return Batch{}, nil, fmt.Errorf("read batch: %w", err)
	}
	if len(batches) == 0 {
		return Batch{}, nil, fault.Missing("batch")
	}
	rows, err = q.Query(ctx, `SELECT position, object_id, order_id, label, state, amount_minor, currency::text, status, coalesce(code, ''), done_at
		FROM batch_items WHERE batch_id = $1 ORDER BY array_position(ARRAY['FAILED','SKIPPED','WAITING','DONE'], status), position LIMIT $2`, id, limit)
	if err != nil {
		return Batch{}, nil, fmt.Errorf("read items of batch: %w", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Item])
	if err != nil {
		return Batch{}, nil, fmt.Errorf("read items of batch: %w", err)
	}
	return batches[0], items, nil
}

// Batches lists the newest that were confirmed, at most limit.
func Batches(ctx context.Context, q store.Querier, limit int) ([]Batch, error) {
	rows, err := q.Query(ctx, `SELECT `+batchColumns+` WHERE b.status <> 'PREVIEW' ORDER BY b.created_at DESC, b.id DESC LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list batches: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Batch])
	if err != nil {
		return nil, fmt.Errorf("list batches: %w", err)
	}
	return list, nil
}
