package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// moves of a batch that people may make, besides Confirm.
var moves = map[string]string{ //nolint:gochecknoglobals // a table
	"pause":  `UPDATE batches SET status = 'PAUSED', next_attempt_at = NULL WHERE id = $1 AND status = 'RUNNING'`,
	"resume": `UPDATE batches SET status = 'RUNNING', next_attempt_at = now() WHERE id = $1 AND status = 'PAUSED'`,
	"stop":   `UPDATE batches SET status = 'STOPPED', next_attempt_at = NULL, finished_at = now() WHERE id = $1 AND status IN ('PREVIEW','RUNNING','PAUSED')`,
}

// Steer pauses, resumes or stops a batch; one that isn't in a state for it stays as it is. What was done stays done.
func (d *Desk) Steer(ctx context.Context, who account.User, id uuid.UUID, move string) error {
	sql, known := moves[move]
	if !known {
		return d.refuse(ctx, Press{Actor: who, Action: "tried", Object: id.String()}, id, fault.Missing("move of a batch"))
	}
	p := Press{Actor: who, Action: Name("batch_" + move), Object: id.String()}
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql, id)
		if err != nil {
			return fmt.Errorf("%s batch: %w", move, err)
		}
		what := done
		if tag.RowsAffected() == 0 {
			what = replayed
		}
		line := batchLine(what, uuid.Must(uuid.NewV7()), map[string]any{"move": move, "from": b.Status})
		return line.write(ctx, tx, p, "batch", uuid.NullUUID{})
	})
	if err == nil {
		d.Wake()
	}
	return d.refuse(ctx, p, id, err)
}

// RetryFailed previews a new batch of what failed in another one; pressed twice it gives the same. NOT_FOUND while that one goes on:
// what fails later would never be in it.
func (d *Desk) RetryFailed(ctx context.Context, who account.User, id uuid.UUID) (uuid.UUID, error) {
	again := uuid.NewSHA1(id, []byte("retry"))
	p := Press{Actor: who, Action: previewed, Object: again.String()}
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		if b.Status != "DONE" && b.Status != "STOPPED" {
			return fault.Missing("batch that has ended")
		}
		tag, err := tx.Exec(ctx, `INSERT INTO batches (id, action, user_id, filter, status, total, retry_of, trace_id, input)
			SELECT $2, action, user_id, filter, 'PREVIEW', n, id, $3, input FROM batches b,
				(SELECT count(*) AS n FROM batch_items WHERE batch_id = $1 AND status = 'FAILED') f
			WHERE b.id = $1 AND n > 0 ON CONFLICT (id) DO NOTHING`, b.ID, again, trace.ID(ctx))
		if err != nil {
			return fmt.Errorf("store batch: %w", err)
		}
		detail := map[string]any{"batch": b.Action, "retry_of": id}
		if tag.RowsAffected() == 0 {
			return batchLine(replayed, uuid.Must(uuid.NewV7()), detail).write(ctx, tx, p, "batch", uuid.NullUUID{})
		}
		_, err = tx.Exec(ctx, `INSERT INTO batch_items (batch_id, position, object_id, order_id, label, state, amount_minor, currency, status)
			SELECT $2, row_number() OVER (ORDER BY position), object_id, order_id, label, state, amount_minor, currency, 'WAITING'
			FROM batch_items WHERE batch_id = $1 AND status = 'FAILED'`, b.ID, again)
		if err != nil {
			return fmt.Errorf("store items of batch: %w", err)
		}
		return batchLine(done, uuid.Must(uuid.NewV7()), detail).write(ctx, tx, p, "batch", uuid.NullUUID{})
	})
	return again, d.refuse(ctx, p, again, err)
}

// assigneeOf is the mail address of the person whom a batch assigns to.
const assigneeOf = `coalesce((SELECT email FROM users WHERE id = (b.input ->> 'Assignee')::uuid), '')`

// lockBatch finds a batch that somebody may steer: the person who made it, or an approver.
func lockBatch(ctx context.Context, tx pgx.Tx, who account.User, id uuid.UUID) (b Batch, err error) {
	err = tx.QueryRow(ctx, `SELECT b.id, b.action, b.user_id, b.status, b.input, `+assigneeOf+` FROM batches b WHERE b.id = $1 FOR UPDATE`, id).
		Scan(&b.ID, &b.Action, &b.UserID, &b.Status, &b.Input, &b.Assignee)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && b.UserID != who.ID && !who.Role.AtLeast(account.Approver)) {
		return b, fault.Missing("batch")
	}
	if err != nil {
		return b, fmt.Errorf("find batch: %w", err)
	}
	if !who.Role.AtLeast(actions()[b.Action].role) {
		return b, account.Needs(actions()[b.Action].role)
	}
	return b, nil
}
