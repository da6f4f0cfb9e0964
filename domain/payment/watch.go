package payment

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

// WatchPayment is the type of the system operation that looks at a pending payment until it is final, so that a lost webhook
// doesn't matter.
const WatchPayment operation.Type = "WATCH_PAYMENT"

// firstLook is when a pending payment is looked at for the first time, and the shortest pause after that: webhooks are faster,
// and shoppers need a moment.
const firstLook = 30 * time.Second

func watchKey(orderID uuid.UUID, attempt int) string {
	return fmt.Sprintf("payment:watch:order:%s:%d", orderID, attempt)
}

// watchID is the operation that watches an attempt.
func watchID(orderID uuid.UUID, attempt int) operation.ID {
	return operation.Identity{User: operation.System, Type: WatchPayment, Key: watchKey(orderID, attempt)}.ID()
}

// watch starts the watching of a payment that has become pending.
func (p *Payment) watch(ctx context.Context, tx pgx.Tx) error {
	b := &pgx.Batch{}
	operation.Enqueue(b, operation.Plan{
		Type: WatchPayment, Key: watchKey(p.OrderID, p.Attempt), OrderID: p.OrderID, Trace: trace.ID(ctx), Delay: firstLook,
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("watch payment: %w", err)
	}
	return nil
}

// Watcher carries on WATCH_PAYMENT operations.
type Watcher struct{ Provider provider.Payments }

// Handler is what the executor calls.
func (w Watcher) Handler() operation.Handler { return operation.Handler{External: w.prepare} }

func (w Watcher) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	if _, err := order.Lock(ctx, tx, op.OrderID.UUID); err != nil {
		return operation.Call{}, operation.End{}, err
	}
	p, err := lockWatched(ctx, tx, op)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if p.State != Pending {
		return operation.Call{}, operation.Done("payment", p.ID.String()), nil
	}
	var right provider.Payment // found under our reference, though nothing was under the provider's ID
	correct := func(ctx context.Context, tx pgx.Tx) error { return correctID(ctx, tx, p, right) }
	return operation.Call{
		Send: func(ctx context.Context) (operation.Record, error) {
			now, err := w.Provider.GetPayment(ctx, p.ProviderID)
			if err != nil && provider.KindOf(err) == provider.NotFound {
				now, err = w.Provider.FindPayment(ctx, p.ID.String())
				right = now
			}
			if err == nil && now.Status == provider.Pending {
				err = &provider.Error{Kind: provider.NotYet, RetryAfter: firstLook}
			}
			return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
				if err := correct(ctx, tx); err != nil {
					return operation.End{}, err
				}
				return record(p.ID, now, "watch")(ctx, tx)
			}, err
		},
		Postponed: func(ctx context.Context, tx pgx.Tx, _ operation.Postponement) error { return correct(ctx, tx) },
	}, operation.End{}, nil
}

// correctID replaces a provider's ID that an event had told wrongly: the provider knows nothing under it, but found under our reference.
func correctID(ctx context.Context, tx pgx.Tx, p Payment, found provider.Payment) error {
	if found.ID == "" || found.ID == p.ProviderID {
		return nil // a 404 of the moment
	}
	now, err := LockWithOrder(ctx, tx, p.ID)
	if err != nil || now.ProviderID != p.ProviderID {
		return err
	}
	done, err := tx.Exec(ctx, `UPDATE payments SET provider_payment_id = $2, confirmation_url = nullif($3, ''), updated_at = now() WHERE id = $1
		AND NOT EXISTS (SELECT FROM payments o WHERE o.provider_payment_id = $2 AND o.provider = $4)`, p.ID, found.ID, found.ConfirmationURL, p.Provider)
	if err != nil {
		return fmt.Errorf("correct provider's payment ID: %w", err)
	}
	if done.RowsAffected() == 0 { // it is another payment's: a person has to look
		return order.Flag(ctx, tx, p.OrderID, p.ID, "second_provider_payment")
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: "payment.id_corrected", OperationID: p.OperationID, OrderID: p.OrderID, PaymentID: p.ID,
		Detail: map[string]any{"was": p.ProviderID, "provider_payment_id": found.ID, "source": "watch"},
	})
}

// lockWatched finds the attempt whose watch op is by op's key (see watchKey).
func lockWatched(ctx context.Context, tx pgx.Tx, op operation.Operation) (Payment, error) {
	return lock(ctx, tx, `order_id = $1 AND 'payment:watch:order:' || order_id || ':' || attempt = $2`, op.OrderID, op.Key)
}
