package payment

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// Payment is the part of a row that moves depend on.
type Payment struct {
	ID          uuid.UUID
	OrderID     uuid.UUID
	OperationID operation.ID
	Attempt     int
	State       State
	Amount      money.Amount
	Key         string      // the provider's idempotency key
	Provider    string      // its name
	ProviderID  string      // the provider's payment ID; "" until known
	Refunded    int64       // what went back of Amount, in minor units
	Orphan      bool        // money came in that the order couldn't take
	Order       order.Order // only from LockWithOrder
}

// lock reads one payment for a move. The order must be locked already (or not be needed).
func lock(ctx context.Context, tx pgx.Tx, where string, args ...any) (Payment, error) {
	var p Payment
	var providerID *string
	err := tx.QueryRow(ctx, `SELECT id, order_id, operation_id, attempt, status, amount_minor, currency, provider_key, provider,
		provider_payment_id, refunded_minor, orphaned_at IS NOT NULL FROM payments WHERE `+where+` FOR UPDATE`, args...).
		Scan(&p.ID, &p.OrderID, &p.OperationID, &p.Attempt, &p.State, &p.Amount.Minor, &p.Amount.Currency, &p.Key, &p.Provider, &providerID, &p.Refunded, &p.Orphan)
	if err != nil {
		return p, fmt.Errorf("lock payment: %w", err)
	}
	if providerID != nil {
		p.ProviderID = *providerID
	}
	return p, nil
}

// LockWithOrder locks the payment's order, then the payment (lock order: operation, order, payment).
func LockWithOrder(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Payment, error) {
	var orderID uuid.UUID
	if err := tx.QueryRow(ctx, `SELECT order_id FROM payments WHERE id = $1`, id).Scan(&orderID); err != nil {
		return Payment{}, fmt.Errorf("find payment's order: %w", err)
	}
	o, err := order.Lock(ctx, tx, orderID)
	if err != nil {
		return Payment{}, err
	}
	p, err := lock(ctx, tx, `id = $1`, id)
	p.Order = o
	return p, err
}

// change holds what a move stores besides the state; empty fields stay as they are.
type change struct {
	providerID, url, failure string
	source                   string
}

// move is one conditional UPDATE with its journal row. The caller holds the row's lock and has asked CanMove.
func (p *Payment) move(ctx context.Context, tx pgx.Tx, to State, c change) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE payments SET status = $3, updated_at = now(), provider_payment_id = coalesce(provider_payment_id, nullif($4, '')),
		confirmation_url = coalesce(nullif($5, ''), confirmation_url), failure_code = coalesce(nullif($6, ''), failure_code),
		succeeded_at = CASE WHEN $3 = 'SUCCEEDED' THEN now() ELSE succeeded_at END WHERE id = $1 AND status = $2`,
		p.ID, p.State, to, c.providerID, c.url, c.failure)
	journal.Queue(ctx, b, journal.Entry{
		Kind: "payment." + strings.ToLower(string(to)), OperationID: p.OperationID, OrderID: p.OrderID, PaymentID: p.ID,
		Detail: map[string]any{"from": p.State, "to": to, "source": c.source, "provider_payment_id": c.providerID, "failure": c.failure},
	})
	if p.State == Unknown {
		order.QueueAnswered(ctx, b, p.OrderID, reviewLong)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("move payment to %s: %w", to, err)
	}
	p.State = to
	return nil
}

// lesson says what learning came to.
type lesson struct {
	payment       Payment
	moved         bool
	late          bool   // we know something later
	early         bool   // we haven't submitted it yet
	contradiction string // "" or the name of the fact that differs
}

var meaning = map[provider.Status]State{ //nolint:gochecknoglobals // a table
	provider.Pending: Pending, provider.Succeeded: Succeeded, provider.Canceled: Canceled, provider.Failed: Failed,
}

// learn is the one way in which anything said by the provider (an answer, a lookup, an event) changes a payment: facts about
// money are compared, then the state moves forward or not at all. It locks order and payment and settles the operation.
func learn(ctx context.Context, tx pgx.Tx, id uuid.UUID, said provider.Payment, source string) (lesson, error) {
	p, err := LockWithOrder(ctx, tx, id)
	if err != nil {
		return lesson{}, err
	}
	if fact := contradicts(p, said); fact != "" {
		return lesson{payment: p, contradiction: fact}, nil
	}
	to := meaning[said.Status]
	switch {
	case p.State == Created:
		return lesson{payment: p, early: true}, nil
	case p.State.CanMove(to):
	case p.State == to:
		return lesson{payment: p}, nil
	case to == Succeeded && p.Orphan:
		return lesson{payment: p}, nil
	case to == Succeeded && !p.State.Captured():
		// Money came in through an attempt that had ended without it. The state stays (no step back), a person looks at it.
		if err := p.orphan(ctx, tx, said.ID); err != nil {
			return lesson{}, err
		}
		return lesson{payment: p, moved: true}, order.Flag(ctx, tx, p.OrderID, p.ID, "success_after_"+strings.ToLower(string(p.State)))
	default:
		return lesson{payment: p, late: true}, nil
	}
	if err := p.move(ctx, tx, to, change{providerID: said.ID, url: said.ConfirmationURL, failure: said.FailureCode, source: source}); err != nil {
		return lesson{}, err
	}
	switch to { //nolint:exhaustive // the provider says no other
	case Pending:
		err = p.watch(ctx, tx)
	case Succeeded:
		err = p.arrive(ctx, tx)
	}
	return lesson{payment: p, moved: true}, err
}

// contradicts names the first fact that differs from ours; "" means that all agree.
func contradicts(p Payment, said provider.Payment) string {
	switch {
	case said.Amount.Currency != p.Amount.Currency:
		return "currency_mismatch"
	case said.Amount.Minor != p.Amount.Minor:
		return "amount_mismatch"
	case said.Reference != "" && said.Reference != p.ID.String():
		return "reference_mismatch"
	case p.ProviderID != "" && said.ID != p.ProviderID:
		return "second_provider_payment"
	case meaning[said.Status] == "":
		return "unknown_status"
	}
	return ""
}
