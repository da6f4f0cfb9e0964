package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/trace"
)

// Start begins a person's operation that needs an answer from outside, and waits a bounded time for its end: check decides in
// the claim's transaction whether it may begin, the executor carries it on, the request looks at the row. Wake tells the relay.
//
// Errors: those of Run, and OPERATION_IN_PROGRESS while the outside hasn't answered; the same request may ask again.
func (r *Runner) Start(ctx context.Context, c Claim, wake func(), check func(tx pgx.Tx) (orderID uuid.UUID, err error)) (Outcome, error) {
	begun := false
	out, err := r.Run(ctx, c, func(tx pgx.Tx, op *Running) (Result, error) {
		orderID, err := check(tx)
		if err != nil {
			return Result{}, err
		}
		begun = true
		return Result{OrderID: orderID}, op.begin(ctx, tx, orderID)
	})
	if err == nil && !begun {
		return out, nil // replayed
	}
	if err != nil && fault.KindOf(err) != fault.InProgress {
		return out, err
	}
	if begun {
		wake()
	}
	out, err = r.await(ctx, c)
	out.Replayed = out.Replayed && !begun
	return out, err
}

// begin inserts the row unfinished and due.
func (op *Running) begin(ctx context.Context, tx pgx.Tx, orderID uuid.UUID) error {
	op.completed = true // by the executor
	i := op.claim.Identity
	tag, err := tx.Exec(ctx, `INSERT INTO operations (id, user_id, type, target, key, request_hash, status, order_id, trace_id, request_fields, next_attempt_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'PROCESSING', $7, $8, $9, now()) ON CONFLICT ON CONSTRAINT operations_identity DO NOTHING`,
		op.ID, i.User, i.Type, i.Target, i.Key, op.claim.Fingerprint, orderID, trace.ID(ctx), op.claim.fields())
	if err != nil {
		return fmt.Errorf("begin operation: %w", err)
	}
	return once(tag)
}

const lookEvery = 20 * time.Millisecond

// await looks at the row until it is finished, at most Wait.
func (r *Runner) await(ctx context.Context, c Claim) (Outcome, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	limit := time.NewTimer(r.Wait)
	defer limit.Stop()
	for {
		earlier, err := r.look(ctx, c)
		if err != nil {
			return Outcome{}, err
		}
		if earlier.found && earlier.Status != Processing {
			return earlier.outcome(c.Identity.ID()), nil
		}
		select {
		case <-look.C:
		case <-limit.C:
			return Outcome{}, inProgress(c.Identity.ID())
		case <-ctx.Done():
			return Outcome{}, inProgress(c.Identity.ID())
		}
	}
}
