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
// Each item is a press of its own by the person who made the batch, with a key made of batch and position: a step that runs twice
// presses nothing twice. The row is due, not the job. Every press on the batch itself is a line of the audit, too.

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
	Input      Input  // what the action was told besides the reason: frozen with the set
	Assignee   string // mail address of Input.Assignee
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

// Wish is what somebody wants to do to many things.
type Wish struct {
	Action  Name
	Objects []uuid.UUID
	Input   Input  // as for a single press; Objects isn't looked at
	Filter  string // says in words how the things were chosen
}

// Preview freezes the set of things and judges each: what isn't SAFE now is skipped, with its guard. Nothing else happens before
// Confirm.
//
// Errors: NOT_FOUND (no such action, or it isn't for many), FORBIDDEN, VALIDATION_FAILED (input, none, or more than MaxBatch).
func (d *Desk) Preview(ctx context.Context, who account.User, w Wish) (uuid.UUID, error) {
	id := uuid.Must(uuid.NewV7())
	p := Press{Actor: who, Action: previewed, Object: id.String()}
	a, known := actions()[w.Action]
	var err error
	switch {
	case !known || !a.bulk:
		err = fault.Missing("action for many things")
	case !who.Role.AtLeast(a.role):
		err = account.Needs(a.role)
	case len(w.Objects) == 0 || len(w.Objects) > MaxBatch:
		err = fault.Validation(fault.Field{Field: "selected", Rule: fmt.Sprintf("min=1,max=%d", MaxBatch), Message: "must name something, but not too much"})
	default:
		err = store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error { return w.freeze(ctx, tx, p, id) })
	}
	return id, d.refuse(ctx, p, id, err)
}

func (w Wish) freeze(ctx context.Context, tx pgx.Tx, p Press, id uuid.UUID) error {
	a := actions()[w.Action]
	if err := a.fits(ctx, tx, w.Input); err != nil {
		return err
	}
	texts := make([]string, len(w.Objects))
	for i, object := range w.Objects {
		texts[i] = object.String()
	}
	judged, err := a.look(ctx, tx, texts...)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM batches WHERE user_id = $1 AND status = 'PREVIEW' AND created_at < now() - interval '1 day'`, p.Actor.ID); err != nil {
		return fmt.Errorf("forget old previews: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO batches (id, action, user_id, filter, status, total, trace_id, input) VALUES ($1, $2, $3, $4, 'PREVIEW', $5, $6, $7)`,
		id, w.Action, p.Actor.ID, w.Filter, len(judged), trace.ID(ctx), w.Input)
	if err != nil {
		return fmt.Errorf("store batch: %w", err)
	}
	if err := copyItems(ctx, tx, id, judged); err != nil {
		return err
	}
	return batchLine(done, uuid.Must(uuid.NewV7()), map[string]any{"batch": w.Action, "things": len(judged), "filter": w.Filter}).write(ctx, tx, p, "batch", uuid.NullUUID{})
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
// wait; it is compared from TypedCount on. A batch that runs, has run or was stopped stays as it is.
//
// Errors: NOT_FOUND (none, or somebody else's), VALIDATION_FAILED (reason, count, input: what was right when it was previewed may
// not be any more).
func (d *Desk) Confirm(ctx context.Context, who account.User, id uuid.UUID, reason string, count int) error {
	p := Press{Actor: who, Action: started, Object: id.String(), Reason: tellable(reason)}
	err := store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		b, err := lockBatch(ctx, tx, who, id)
		if err != nil {
			return err
		}
		if b.Status != "PREVIEW" {
			return batchLine(replayed, id, nil).write(ctx, tx, p, "batch", uuid.NullUUID{})
		}
		waiting, err := confirmable(ctx, tx, id, reason, count)
		if err != nil {
			return err
		}
		if err := actions()[b.Action].fits(ctx, tx, b.Input); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE batches SET status = 'RUNNING', reason = $2, started_at = now(), next_attempt_at = now() WHERE id = $1`, id, reason); err != nil {
			return fmt.Errorf("start batch: %w", err)
		}
		detail := map[string]any{"batch": b.Action, "things": waiting}
		if b.Action == Assign {
			detail["assignee"] = b.Assignee
		}
		if !b.Input.Until.IsZero() {
			detail["until"] = b.Input.Until
		}
		return batchLine(done, id, detail).write(ctx, tx, p, "batch", uuid.NullUUID{})
	})
	if err == nil {
		d.Wake()
	}
	return d.refuse(ctx, p, id, err)
}

// What people do to batches, as the audit calls it; moves are batch_pause, batch_resume, batch_stop.
const (
	previewed = "batch_preview"
	started   = "batch"
)

func batchLine(what outcome, press uuid.UUID, detail map[string]any) record {
	return record{outcome: what, operationID: press, detail: detail}
}

// refuse writes the line of a press on a batch that did nothing, and hands on why.
func (d *Desk) refuse(ctx context.Context, p Press, id uuid.UUID, err error) error {
	e, ok := fault.Of(err)
	if !ok || e.Kind == fault.Internal || e.Kind == fault.Unavailable {
		return err
	}
	return errors.Join(err, d.note(ctx, p, action{object: "batch"}, id, refused, e.Code))
}
