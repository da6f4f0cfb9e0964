package payment

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/trace"
)

// RefundOrphan is the type of the system operation that sends back money which its order couldn't take. Package refund carries
// it on.
const RefundOrphan operation.Type = "REFUND_ORPHAN"

const orphanKey = "refund:orphan:payment:"

// OrphanOf names the payment that a REFUND_ORPHAN operation sends back.
func OrphanOf(op operation.Operation) (uuid.UUID, error) {
	id, err := uuid.Parse(strings.TrimPrefix(op.Key, orphanKey))
	if err != nil {
		return id, fmt.Errorf("read payment from key %q: %w", op.Key, err)
	}
	return id, nil
}

// arrive pays the order with an attempt that has just succeeded, or sends the money back if the order can't take it.
func (p *Payment) arrive(ctx context.Context, tx pgx.Tx) error {
	if err := order.MarkPaid(ctx, tx, p.Order, p.ID); err != nil || p.Order.State.CanMove(order.Paid) {
		return err
	}
	return p.orphan(ctx, tx, p.ProviderID)
}

// orphan notes money without an order, and plans its way back.
func (p *Payment) orphan(ctx context.Context, tx pgx.Tx, providerID string) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE payments SET orphaned_at = now(), updated_at = now(), provider_payment_id = coalesce(provider_payment_id, nullif($2, ''))
		WHERE id = $1`, p.ID, providerID)
	operation.Enqueue(b, operation.Plan{Type: RefundOrphan, Key: orphanKey + p.ID.String(), OrderID: p.OrderID, Trace: trace.ID(ctx)})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("plan refund of orphan: %w", err)
	}
	p.Orphan = true
	return nil
}

// Holds reports that money came in through this attempt, whatever became of it as an attempt to pay the order.
func (p Payment) Holds() bool { return p.State.Captured() || p.Orphan }

// GiveBack books that an amount (minor units, at most what is left) of a payment from LockWithOrder went back to the payer. The
// order follows the payment that paid it; an orphan never moves it.
func (p *Payment) GiveBack(ctx context.Context, tx pgx.Tx, minor int64) error {
	if _, err := tx.Exec(ctx, `UPDATE payments SET refunded_minor = refunded_minor + $2, updated_at = now() WHERE id = $1`, p.ID, minor); err != nil {
		return fmt.Errorf("book refund: %w", err)
	}
	p.Refunded += minor
	to := PartiallyRefunded
	if p.Refunded == p.Amount.Minor {
		to = Refunded
	}
	if p.State.CanMove(to) {
		if err := p.move(ctx, tx, to, change{source: "refund"}); err != nil {
			return err
		}
	}
	if p.Orphan {
		return nil
	}
	return order.MarkRefunded(ctx, tx, p.Order, p.ID, to == Refunded)
}
