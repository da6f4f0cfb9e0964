package refund

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
)

// State of a refund.
type State string

// The states, with who moves next.
const (
	Created    State = "CREATED"    // the executor
	Submitting State = "SUBMITTING" // the executor: a call may be on its way, or the provider hasn't decided
	Unknown    State = "UNKNOWN"    // the executor asks until it is known; age never ends it
	Succeeded  State = "SUCCEEDED"  // nobody: the money went back
	Failed     State = "FAILED"     // nobody: no money moved
)

// States lists all states in the order of the schema's CHECK.
func States() []State { return []State{Created, Submitting, Unknown, Succeeded, Failed} }

var next = map[State][]State{ //nolint:gochecknoglobals // the machine as a table
	Created:    {Submitting},
	Submitting: {Unknown, Succeeded, Failed},
	Unknown:    {Succeeded, Failed},
	Succeeded:  nil,
	Failed:     nil,
}

// CanMove reports a legal move. Staying is not a move.
func (s State) CanMove(to State) bool { return slices.Contains(next[s], to) }

// Refund is the part of a row that moves depend on.
type Refund struct {
	ID          uuid.UUID
	OrderID     uuid.UUID
	PaymentID   uuid.UUID
	OperationID operation.ID
	RequestedBy operation.ID // the operator's operation that wanted it; only while it is created
	State       State
	Amount      money.Amount
	Key         string // the provider's idempotency key
	ProviderID  string // the provider's refund ID; "" until known
	Failure     string // why it failed; "" unless it did
	External    bool   // made at the provider, not by us: its reference is somebody else's
}

// lock reads one refund for a move. Its order and payment must be locked already.
func lock(ctx context.Context, tx pgx.Tx, where string, arg any) (r Refund, err error) {
	err = tx.QueryRow(ctx, `SELECT id, order_id, payment_id, operation_id, status, amount_minor, currency, provider_key,
		coalesce(provider_refund_id, ''), coalesce(failure_code, ''), external FROM refunds WHERE `+where+` FOR UPDATE`, arg).
		Scan(&r.ID, &r.OrderID, &r.PaymentID, &r.OperationID, &r.State, &r.Amount.Minor, &r.Amount.Currency, &r.Key, &r.ProviderID, &r.Failure, &r.External)
	if err != nil {
		return r, fmt.Errorf("lock refund: %w", err)
	}
	return r, nil
}

// change holds what a move stores besides the state; empty fields stay as they are.
type change struct{ providerID, failure, source string }

// move is one conditional UPDATE with its journal row. The caller holds the row's lock and has asked CanMove.
func (r *Refund) move(ctx context.Context, tx pgx.Tx, to State, c change) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE refunds SET status = $3, updated_at = now(), provider_refund_id = coalesce(provider_refund_id, nullif($4, '')),
		failure_code = coalesce(nullif($5, ''), failure_code) WHERE id = $1 AND status = $2`, r.ID, r.State, to, c.providerID, c.failure)
	journal.Queue(ctx, b, r.entry(to, map[string]any{
		"from": r.State, "to": to, "source": c.source, "provider_refund_id": c.providerID, "failure": c.failure,
	}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("move refund to %s: %w", to, err)
	}
	r.State, r.Failure = to, c.failure
	return nil
}

func (r *Refund) entry(state State, detail map[string]any) journal.Entry {
	detail["refund"], detail["amount"] = r.ID, r.Amount.String()
	return journal.Entry{
		Kind: "refund." + strings.ToLower(string(state)), OperationID: r.OperationID, OrderID: r.OrderID, PaymentID: r.PaymentID, Detail: detail,
	}
}

// queueCreate adds a refund with its journal row to a batch. provider is the payment's.
func (r *Refund) queueCreate(ctx context.Context, b *pgx.Batch, provider, reason string, also ...journal.Entry) {
	b.Queue(`INSERT INTO refunds (id, order_id, payment_id, operation_id, status, amount_minor, currency, reason, provider, provider_key, requested_by)
		VALUES ($1, $2, $3, $4, 'CREATED', $5, $6, $7, $8, $9, $10)`,
		r.ID, r.OrderID, r.PaymentID, r.OperationID, r.Amount.Minor, r.Amount.Currency, reason, provider, r.Key,
		uuid.NullUUID{UUID: r.RequestedBy, Valid: r.RequestedBy != uuid.Nil})
	journal.Queue(ctx, b, append(also, r.entry(Created, map[string]any{}))...)
	r.State = Created
}

// end is how the operation of a final refund ends.
func (r *Refund) end() operation.End {
	end := operation.Done("refund", r.ID.String())
	if r.State == Failed {
		end.Status, end.FailureCode = operation.Failed, "REFUND_FAILED"
	}
	return end
}

// spent is what the refunds of a locked payment come to that haven't failed, in minor units.
func spent(ctx context.Context, tx pgx.Tx, paymentID uuid.UUID) (minor int64, err error) {
	err = tx.QueryRow(ctx, `SELECT coalesce(sum(amount_minor), 0)::bigint FROM refunds WHERE payment_id = $1 AND status <> 'FAILED'`, paymentID).Scan(&minor)
	if err != nil {
		return 0, fmt.Errorf("sum refunds: %w", err)
	}
	return minor, nil
}
