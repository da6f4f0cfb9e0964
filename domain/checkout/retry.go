package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
)

// RetryPayment is the type of the operation that starts another attempt for an unpaid order.
const RetryPayment operation.Type = "RETRY_PAYMENT"

// Retry starts a new payment attempt with a new provider key, once per (user, order, key).
//
// Errors: NOT_FOUND, PAYMENT_IN_PROGRESS (the last attempt isn't final), PAYMENT_UNRESOLVED (its outcome isn't known: never a
// new key while an older one is unknown), ORDER_STATE (the order doesn't wait for a payment). They bind nothing to the key.
// IDEMPOTENCY_KEY_EXPIRED: the attempt is there, its operation was cleaned away.
func (d *Desk) Retry(ctx context.Context, userID, orderID uuid.UUID, key string) (operation.Outcome, error) {
	fingerprint, err := operation.Fingerprint(1, struct{ OrderID uuid.UUID }{orderID})
	if err != nil {
		return operation.Outcome{}, err
	}
	claim := operation.Claim{
		Identity:    operation.Identity{User: userID, Type: RetryPayment, Target: "order:" + orderID.String(), Key: key},
		Fingerprint: fingerprint, Describe: func(f *operation.Fields) { f.Put("order", orderID.String()) },
	}
	return d.Operations.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		var owner uuid.UUID
		var existing uuid.NullUUID // the attempt that this key made before its operation was cleaned away
		err := tx.QueryRow(ctx, `SELECT o.user_id, p.id FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND p.requested_by = $2
			WHERE o.id = $1`, orderID, op.ID).Scan(&owner, &existing)
		if errors.Is(err, pgx.ErrNoRows) || (err == nil && owner != userID) {
			return operation.Result{}, fault.Missing("order")
		}
		if err != nil {
			return operation.Result{}, fmt.Errorf("find order: %w", err)
		}
		if existing.Valid {
			return operation.Result{}, operation.Expired(op.ID, "payment "+existing.UUID.String())
		}
		return d.retry(ctx, tx, op, orderID)
	})
}

func (d *Desk) retry(ctx context.Context, tx pgx.Tx, op *operation.Running, orderID uuid.UUID) (operation.Result, error) {
	o, err := order.Lock(ctx, tx, orderID)
	if err != nil {
		return operation.Result{}, err
	}
	last, state, err := payment.Last(ctx, tx, orderID)
	if err != nil {
		return operation.Result{}, err
	}
	if err := mayRetry(o.State, o.NeedsReview, state); err != nil {
		return operation.Result{}, err
	}
	attempt := payment.New{ID: newID(), OrderID: orderID, Attempt: last + 1, Amount: o.Total, Provider: d.Provider, RequestedBy: op.ID}
	body, err := json.Marshal(Payment{
		ID: attempt.ID, OrderID: orderID, Attempt: attempt.Attempt, Status: payment.Created, Amount: o.Total, CreatedAt: op.Now, UpdatedAt: op.Now,
	})
	if err != nil {
		return operation.Result{}, fmt.Errorf("write payment: %w", err)
	}
	result := operation.Result{OrderID: orderID, ResourceType: "payment", ResourceID: attempt.ID.String(), Code: 202, Body: string(body)}
	b := &pgx.Batch{}
	payment.QueueCreate(ctx, b, attempt)
	journal.Queue(ctx, b, journal.Entry{
		Kind: "operation.completed", OperationID: op.ID, OrderID: orderID, PaymentID: attempt.ID, Detail: map[string]any{"resource": "payment " + attempt.ID.String()},
	})
	op.Complete(ctx, b, result)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return operation.Result{}, fmt.Errorf("store attempt: %w", err)
	}
	return result, nil
}

// mayRetry refuses while money may be on its way or there: a flagged order waits for a person, not for another payment.
func mayRetry(o order.State, needsReview bool, last payment.State) error {
	switch {
	case o != order.AwaitingPayment:
		return fault.New(fault.Conflict, "ORDER_STATE", "This order is "+string(o)+" and doesn't wait for a payment.")
	case last == payment.Unknown:
		return fault.New(fault.Conflict, "PAYMENT_UNRESOLVED", "The outcome of the last payment isn't known yet. You don't need to pay again.")
	case last.Open():
		return fault.New(fault.Conflict, "PAYMENT_IN_PROGRESS", "The last payment is still in progress.")
	case needsReview:
		return fault.New(fault.Conflict, "PAYMENT_UNRESOLVED", "We are checking a payment of this order. You don't need to pay again.")
	case last.Captured():
		return fault.New(fault.Conflict, "ORDER_STATE", "This order's payment succeeded.")
	}
	return nil
}
