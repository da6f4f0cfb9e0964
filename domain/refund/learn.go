package refund

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/provider"
)

// lesson says what learning came to.
type lesson struct {
	refund        Refund
	moved         bool
	late          bool   // it had ended otherwise
	early         bool   // we haven't submitted it yet
	contradiction string // "" or the name of the fact that differs
}

var meaning = map[provider.Status]State{ //nolint:gochecknoglobals // a table
	provider.Pending: Submitting, provider.Succeeded: Succeeded, provider.Failed: Failed, provider.Canceled: Failed,
}

// learn is the one way in which anything said by the provider (an answer, a lookup, an event) changes a refund of ours: facts
// about money are compared, then the state moves forward or not at all. Money that went back moves the payment and the order.
func learn(ctx context.Context, tx pgx.Tx, id uuid.UUID, said provider.Refund, source string) (lesson, error) {
	p, r, err := lockAll(ctx, tx, id)
	if err != nil {
		return lesson{}, err
	}
	to := meaning[said.Status]
	switch fact := contradicts(p, r, said); {
	case fact != "":
		return lesson{refund: r, contradiction: fact}, order.Flag(ctx, tx, r.OrderID, r.PaymentID, fact)
	case r.State == Created:
		return lesson{refund: r, early: true}, nil
	case said.Status == provider.Pending:
		return lesson{refund: r}, r.link(ctx, tx, said.ID)
	case r.State == to:
		return lesson{refund: r}, nil
	case !r.State.CanMove(to):
		// The provider took back what it had said: the state stays (no step back), and a person has to look where the money is.
		reason := "refund_" + string(said.Status) + "_after_" + strings.ToLower(string(r.State))
		return lesson{refund: r, late: true}, order.Flag(ctx, tx, r.OrderID, r.PaymentID, reason)
	}
	if err := r.move(ctx, tx, to, change{providerID: said.ID, failure: said.FailureCode, source: source}); err != nil {
		return lesson{}, err
	}
	if to == Succeeded {
		err = p.GiveBack(ctx, tx, r.Amount.Minor)
	}
	return lesson{refund: r, moved: true}, err
}

// lockAll locks a refund's order, payment and row, in the order of locks.
func lockAll(ctx context.Context, tx pgx.Tx, id uuid.UUID) (p payment.Payment, r Refund, err error) {
	var paymentID uuid.UUID
	if err = tx.QueryRow(ctx, `SELECT payment_id FROM refunds WHERE id = $1`, id).Scan(&paymentID); err != nil {
		return p, r, fmt.Errorf("find refund's payment: %w", err)
	}
	if p, err = payment.LockWithOrder(ctx, tx, paymentID); err != nil {
		return p, r, err
	}
	r, err = lock(ctx, tx, `id = $1`, id)
	return p, r, err
}

// link stores the provider's ID of a refund that hasn't ended.
func (r *Refund) link(ctx context.Context, tx pgx.Tx, providerID string) error {
	_, err := tx.Exec(ctx, `UPDATE refunds SET provider_refund_id = $2, updated_at = now() WHERE id = $1 AND provider_refund_id IS NULL
		AND status IN ('SUBMITTING', 'UNKNOWN')`, r.ID, providerID)
	if err != nil {
		return fmt.Errorf("link refund: %w", err)
	}
	return nil
}

// contradicts names the first fact that differs from ours; "" means that all agree.
func contradicts(p payment.Payment, r Refund, said provider.Refund) string {
	switch {
	case said.Amount.Currency != r.Amount.Currency:
		return "currency_mismatch"
	case said.Amount.Minor != r.Amount.Minor:
		return "amount_mismatch"
	case !r.External && said.Reference != "" && said.Reference != r.ID.String():
		return "reference_mismatch"
	case said.PaymentID != p.ProviderID:
		return "other_payment_refunded"
	case r.ProviderID != "" && said.ID != r.ProviderID:
		return "second_provider_refund"
	case meaning[said.Status] == "":
		return "unknown_status"
	case said.Status == provider.Succeeded && r.State.CanMove(Succeeded) && p.Refunded+r.Amount.Minor > p.Amount.Minor:
		return exceeds
	}
	return ""
}

// exceeds is the flag of an order of whose payment more went back, or is about to, than came in.
const exceeds = "refund_exceeds_payment"
