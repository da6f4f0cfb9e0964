package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// One action on many things:
//
//	Preview ─▶ PREVIEW (the set is frozen) ─▶ Confirm ─▶ RUNNING ─▶ DONE
//	                                                     ▲    └──▶ STOPPED
//	                                                     └ PAUSED ┘
//
// Each item is a press of its own by the person who confirmed, with a key made of batch and position: a step that runs twice
// presses nothing twice. The row is due, not the job.

// MaxBatch bounds the things of one batch.
const MaxBatch = 10_000

// TypedCount is from how many things on the person has to type their number.
const TypedCount = 51

// Batch as people see it.
type Batch struct {
	ID         uuid.UUID
	Action     Name
	UserID     uuid.UUID
	User       string // mail address
	Filter     string // in words
	Reason     string
	Status     string // PREVIEW, RUNNING, PAUSED, STOPPED, DONE
	Total      int
	Done       int
	Skipped    int
	Failed     int
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	RetryOf    uuid.NullUUID
	TraceID    string
}

// Waiting is how many things are still to come.
func (b Batch) Waiting() int { return b.Total - b.Done - b.Skipped - b.Failed }

// Item of a batch.
type Item struct {
	Position int
	ObjectID uuid.UUID
	OrderID  uuid.NullUUID
	Label    string
	State    string // when the set was frozen
	Minor    *int64
	Money    *string
	Status   string // WAITING, DONE, SKIPPED, FAILED
	Code     string // why it was skipped or failed: a guard or an error code
	DoneAt   *time.Time
}

// Preview freezes the set of things and judges each: what isn't SAFE now is skipped, with its guard. Nothing else happens before
// Confirm. filter says in words how they were chosen.
//
// Errors: NOT_FOUND (no such action, or it isn't for many), FORBIDDEN, VALIDATION_FAILED (none, or more than MaxBatch).
func (d *Desk) Preview(ctx context.Context, who account.User, name Name, ids []uuid.UUID, filter string) (uuid.UUID, error) {
	a, known := actions()[name]
	switch {
	case !known || !a.bulk:
		return uuid.Nil, fault.Missing("action for many things")
	case !who.Role.AtLeast(a.role):
		return uuid.Nil, account.Needs(a.role)
	case len(ids) == 0 || len(ids) > MaxBatch:
		return uuid.Nil, fault.Validation(fault.Field{Field: "selected", Rule: fmt.Sprintf("min=1,max=%d", MaxBatch), Message: "must name something, but not too much"})
	}
	id := uuid.Must(uuid.NewV7())
	return id, store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		texts := make([]string, len(ids))
		for i, object := range ids {
			texts[i] = object.String()
		}
		judged, err := a.look(ctx, tx, texts...)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM batches WHERE user_id = $1 AND status = 'PREVIEW' AND created_at < now() - interval '1 day'`, who.ID); err != nil {
			return fmt.Errorf("forget old previews: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO batches (id, action, user_id, filter, status, total, trace_id) VALUES ($1, $2, $3, $4, 'PREVIEW', $5, $6)`,
			id, name, who.ID, filter, len(judged), trace.ID(ctx))
		if err != nil {
			return fmt.Errorf("store batch: %w", err)
		}
		return copyItems(ctx, tx, id, judged)
	})
}

func copyItems(ctx context.Context, tx pgx.Tx, batch uuid.UUID, judged []Judgement) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"batch_items"},
		[]string{"batch_id", "position", "object_id", "order_id", "label", "state", "amount_minor", "currency", "status", "code", "done_at"},
		pgx.CopyFromSlice(len(judged), func(i int) ([]any, error) {
			j := judged[i]
			status, code := "WAITING", (*string)(nil)
			if j.Verdict != Safe {
				status, code = "SKIPPED", &j.Guard
			}
			return []any{batch, i + 1, uuid.MustParse(j.Object), j.OrderID, j.Label, j.State, j.Minor, j.Money, status, code, nil}, nil
		}))
	if err != nil {
		return fmt.Errorf("store items of batch: %w", err)
	}
	return nil
}

// Confirm starts a previewed batch, once: the batch's ID is its key. count is what the person typed as the number of things that
// wait; it is compared from TypedCount on.
//
// Errors: NOT_FOUND (none, or somebody else's), VALIDATION_FAILED (reason, count), CONFLICT if it was stopped. A batch that runs
// or has run already stays as it is.
func (d *Desk) Confirm(ctx context.Context, who account.User, id uuid.UUID, reason string, count int) error {
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil || b.Status != "PREVIEW" {
			return err
		}
		waiting, err := confirmable(ctx, tx, id, reason, count)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE batches SET status = 'RUNNING', reason = $2, started_at = now(), next_attempt_at = now() WHERE id = $1`, id, reason); err != nil {
			return fmt.Errorf("start batch: %w", err)
		}
		a := actions()[b.Action]
		r := record{outcome: done, operationID: id, detail: map[string]any{"batch": b.Action, "things": waiting}}
		return r.write(ctx, tx, Press{Actor: who, Action: "batch", Object: id.String(), Reason: reason}, a.object, uuid.NullUUID{})
	})
	if err == nil {
		d.Wake()
	}
	return err
}

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
		return fault.Missing("move of a batch")
	}
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql, id)
		if err != nil {
			return fmt.Errorf("%s batch: %w", move, err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		r := record{outcome: done, operationID: uuid.Must(uuid.NewV7()), detail: map[string]any{"move": move, "from": b.Status}}
		return r.write(ctx, tx, Press{Actor: who, Action: Name("batch_" + move), Object: id.String()}, "batch", uuid.NullUUID{})
	})
	if err == nil {
		d.Wake()
	}
	return err
}

// RetryFailed previews a new batch of what failed in another one; pressed twice it gives the same.
func (d *Desk) RetryFailed(ctx context.Context, who account.User, id uuid.UUID) (uuid.UUID, error) {
	again := uuid.NewSHA1(id, []byte("retry"))
	return again, store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO batches (id, action, user_id, filter, status, total, retry_of, trace_id)
			SELECT $2, action, user_id, filter, 'PREVIEW', n, id, $3 FROM batches b,
				(SELECT count(*) AS n FROM batch_items WHERE batch_id = $1 AND status = 'FAILED') f
			WHERE b.id = $1 AND n > 0 ON CONFLICT (id) DO NOTHING`, b.ID, again, trace.ID(ctx))
		if err != nil {
			return fmt.Errorf("store batch: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, `INSERT INTO batch_items (batch_id, position, object_id, order_id, label, state, amount_minor, currency, status)
			SELECT $2, row_number() OVER (ORDER BY position), object_id, order_id, label, state, amount_minor, currency, 'WAITING'
			FROM batch_items WHERE batch_id = $1 AND status = 'FAILED'`, b.ID, again)
		if err != nil {
			return fmt.Errorf("store items of batch: %w", err)
		}
		return nil
	})
}

// lockBatch finds a batch that somebody may steer: the person who made it, or an approver.
func lockBatch(ctx context.Context, tx pgx.Tx, who account.User, id uuid.UUID) (b Batch, err error) {
	err = tx.QueryRow(ctx, `SELECT id, action, user_id, status FROM batches WHERE id = $1 FOR UPDATE`, id).Scan(&b.ID, &b.Action, &b.UserID, &b.Status)
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
