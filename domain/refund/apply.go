package refund

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/inbox"
	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

// ExternalRefund is the type of the system operation that stands for a refund made at the provider without us. It is never seen
// unfinished.
const ExternalRefund operation.Type = "EXTERNAL_REFUND"

// Apply judges an event about a refund. early says what is missing here yet: the event comes again.
func Apply(ctx context.Context, tx pgx.Tx, providerName string, said provider.Refund) (v inbox.Verdict, early string, err error) {
	id, operationID, err := match(ctx, tx, providerName, said)
	if errors.Is(err, pgx.ErrNoRows) {
		return applyExternal(ctx, tx, providerName, said)
	}
	if err != nil {
		return v, "", err
	}
	if _, err := tx.Exec(ctx, `SELECT FROM operations WHERE id = $1 FOR UPDATE`, operationID); err != nil {
		return v, "", fmt.Errorf("lock refund's operation: %w", err)
	}
	l, err := learn(ctx, tx, id, said, "event")
	if err != nil {
		return v, "", err
	}
	if l.early {
		return v, "not_submitted", nil
	}
	v = inbox.Verdict{Status: inbox.NoChange, PaymentID: l.refund.PaymentID, OrderID: l.refund.OrderID}
	switch {
	case l.contradiction != "":
		v.Status, v.Reason = inbox.Quarantined, l.contradiction
	case l.late:
		v.Status, v.Reason = inbox.Stale, "refund_is_"+string(l.refund.State)
	case l.moved:
		v.Status = inbox.Applied
		err = operation.Settle(ctx, tx, l.refund.operation(), l.refund.end())
	}
	return v, "", err
}

func (r *Refund) operation() operation.Operation {
	return operation.Operation{ID: r.OperationID, OrderID: uuid.NullUUID{UUID: r.OrderID, Valid: true}}
}

// match finds our refund by the provider's ID or, while that isn't stored yet, by our reference.
func match(ctx context.Context, tx pgx.Tx, providerName string, said provider.Refund) (id uuid.UUID, operationID operation.ID, err error) {
	reference, _ := uuid.Parse(said.Reference) // uuid.Nil matches nothing
	err = tx.QueryRow(ctx, `SELECT id, operation_id FROM refunds WHERE provider = $1 AND (provider_refund_id = $2 OR id = $3)
		ORDER BY (provider_refund_id = $2) IS TRUE DESC LIMIT 1`, providerName, said.ID, reference).Scan(&id, &operationID)
	if err != nil {
		return id, operationID, fmt.Errorf("find refund of event: %w", err)
	}
	return id, operationID, nil
}

// applyExternal counts a refund that we didn't ask for, once. One that carries a reference of our form, which we don't know, was made
// by nobody in a dashboard: money isn't booked on its word.
func applyExternal(ctx context.Context, tx pgx.Tx, providerName string, said provider.Refund) (v inbox.Verdict, early string, err error) {
	if _, err := uuid.Parse(said.Reference); err == nil {
		return v, "unknown_object", nil
	}
	var paymentID uuid.UUID
	err = tx.QueryRow(ctx, `SELECT id FROM payments WHERE provider = $1 AND provider_payment_id = $2`, providerName, said.PaymentID).Scan(&paymentID)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, "unknown_object", nil
	}
	if err != nil {
		return v, "", fmt.Errorf("find payment of refund: %w", err)
	}
	p, err := payment.LockWithOrder(ctx, tx, paymentID)
	if err != nil {
		return v, "", err
	}
	v = inbox.Verdict{PaymentID: p.ID, OrderID: p.OrderID}
	switch {
	case said.Status != provider.Succeeded:
		v.Status, v.Reason = inbox.Ignored, "external_refund_"+string(said.Status)
		return v, "", nil
	case !p.Holds():
		return v, "payment_not_captured", nil // its own event is still on the way
	}
	if known, err := isKnown(ctx, tx, providerName, said.ID); err != nil || known {
		v.Status = inbox.NoChange
		return v, "", err
	}
	if fact := impossible(p, said); fact != "" {
		v.Status, v.Reason = inbox.Quarantined, fact
		return v, "", order.Flag(ctx, tx, p.OrderID, p.ID, fact)
	}
	v.Status = inbox.Applied
	return v, "", countExternal(ctx, tx, p, said)
}

// isKnown looks again under the payment's lock: another event about the same refund may have been faster.
func isKnown(ctx context.Context, tx pgx.Tx, providerName, providerID string) (known bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM refunds WHERE provider = $1 AND provider_refund_id = $2)`, providerName, providerID).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("look for refund: %w", err)
	}
	return known, nil
}

func impossible(p payment.Payment, said provider.Refund) string {
	switch {
	case said.Amount.Currency != p.Amount.Currency:
		return "currency_mismatch"
	case said.Amount.Minor <= 0:
		return "amount_mismatch"
	case said.Amount.Minor > p.Amount.Minor-p.Refunded:
		return exceeds
	}
	return ""
}

func countExternal(ctx context.Context, tx pgx.Tx, p payment.Payment, said provider.Refund) error {
	key := "refund:external:" + p.Provider + ":" + said.ID
	r := Refund{
		ID: uuid.Must(uuid.NewV7()), OrderID: p.OrderID, PaymentID: p.ID, Amount: said.Amount, State: Succeeded,
		OperationID: operation.Identity{User: operation.System, Type: ExternalRefund, Key: key}.ID(),
	}
	b := &pgx.Batch{}
	operation.Enqueue(b, operation.Plan{Type: ExternalRefund, Key: key, OrderID: p.OrderID, Trace: trace.ID(ctx)})
	b.Queue(`INSERT INTO refunds (id, order_id, payment_id, operation_id, status, amount_minor, currency, reason, provider, provider_key,
			provider_refund_id, external)
		VALUES ($1, $2, $3, $4, 'SUCCEEDED', $5, $6, 'Made at the provider.', $7, $8, $9, true)`,
		r.ID, r.OrderID, r.PaymentID, r.OperationID, r.Amount.Minor, r.Amount.Currency, p.Provider, key, said.ID)
	journal.Queue(ctx, b, r.entry(Succeeded, map[string]any{"external": true, "provider_refund_id": said.ID}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("store external refund: %w", err)
	}
	if err := operation.Settle(ctx, tx, r.operation(), r.end()); err != nil {
		return err
	}
	if err := p.GiveBack(ctx, tx, r.Amount.Minor); err != nil {
		return err
	}
	// A refund of ours that is on its way may no longer fit: the provider decides, and a person is told.
	gone, err := spent(ctx, tx, p.ID)
	if err != nil || gone <= p.Amount.Minor {
		return err
	}
	return order.Flag(ctx, tx, p.OrderID, p.ID, exceeds)
}
