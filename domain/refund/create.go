package refund

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/trace"
)

const (
	// RefundOrder is the type of an operator's local operation that decides on a refund.
	RefundOrder operation.Type = "REFUND_ORDER"
	// CreateRefund is the type of the external operation that makes it at the provider.
	CreateRefund operation.Type = "CREATE_REFUND"
)

const maxReason = 500 // characters

// answer is what CREATE_REFUND's request is told; its JSON is part of the contract.
type answer struct {
	ID     uuid.UUID    `json:"refundId"`
	Amount money.Amount `json:"amount"`
	Status State        `json:"status"`
}

// Create sends money of an order back, once per (actor, order, key). A nil amount means all that is left; reason has 1–500
// characters. The caller has asked whether actor may. It returns as soon as the refund is stored; the provider is asked later.
//
// The money is that of the payment which paid the order; if there is none, what came without it (an orphan).
//
// Errors: NOT_FOUND, VALIDATION_FAILED, REFUND_EXCEEDS_PAYMENT (with all refunds that haven't failed it would be more than was
// captured), ORDER_STATE (no money came in). They bind nothing to the key. IDEMPOTENCY_KEY_EXPIRED: the refund is there, its
// operation was cleaned away.
func Create(ctx context.Context, run *operation.Runner, actor, orderID uuid.UUID, key string, amount *money.Amount, reason string) (operation.Outcome, error) {
	reason = strings.TrimSpace(reason)
	if err := check(amount, reason); err != nil {
		return operation.Outcome{}, err
	}
	fingerprint, err := operation.Fingerprint(1, struct {
		Amount *money.Amount
		Reason string
	}{amount, operation.Text(reason)})
	if err != nil {
		return operation.Outcome{}, err
	}
	claim := operation.Claim{
		Identity:    operation.Identity{User: actor, Type: RefundOrder, Target: "order:" + orderID.String(), Key: key},
		Fingerprint: fingerprint,
	}
	existing := uuid.Nil // the refund that this key made before its operation was cleaned away
	claim.Reads = func(b *pgx.Batch) { queueByWish(b, claim.Identity.ID(), &existing) }
	return run.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		if existing != uuid.Nil {
			return operation.Result{}, operation.Expired(op.ID, "refund "+existing.String())
		}
		p, err := refundable(ctx, tx, orderID)
		if err != nil {
			return operation.Result{}, err
		}
		agreed, err := within(ctx, tx, p, amount)
		if err != nil {
			return operation.Result{}, err
		}
		return store(ctx, tx, op, p, agreed, reason)
	})
}

func queueByWish(b *pgx.Batch, wish operation.ID, found *uuid.UUID) {
	b.Queue(`SELECT id FROM refunds WHERE requested_by = $1`, wish).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(found); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find refund: %w", err)
		}
		return nil
	})
}

func check(amount *money.Amount, reason string) error {
	var broken []fault.Field
	if amount != nil && amount.Minor <= 0 {
		broken = append(broken, fault.Field{Field: "amount", Rule: "gt=0", Message: "must be more than nothing"})
	}
	if n := utf8.RuneCountInString(reason); n == 0 || n > maxReason || strings.ContainsRune(reason, 0) {
		broken = append(broken, fault.Field{Field: "reason", Rule: "required,max=500", Message: "must have 1 to 500 characters"})
	}
	if len(broken) > 0 {
		return fault.Validation(broken...)
	}
	return nil
}

// refundable locks an order and the payment whose money is to go back.
func refundable(ctx context.Context, tx pgx.Tx, orderID uuid.UUID) (payment.Payment, error) {
	o, err := order.Lock(ctx, tx, orderID)
	if errors.Is(err, pgx.ErrNoRows) {
		return payment.Payment{}, fault.Missing("order")
	}
	if err != nil {
		return payment.Payment{}, err
	}
	var id uuid.UUID
	err = tx.QueryRow(ctx, `SELECT id FROM payments WHERE order_id = $1
		AND (status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED') OR orphaned_at IS NOT NULL)
		ORDER BY orphaned_at IS NOT NULL, refunded_minor = amount_minor, attempt LIMIT 1`, orderID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return payment.Payment{}, fault.New(fault.Conflict, "ORDER_STATE", "This order is "+string(o.State)+" and no money came in for it.")
	}
	if err != nil {
		return payment.Payment{}, fmt.Errorf("find money of order: %w", err)
	}
	return payment.LockWithOrder(ctx, tx, id)
}

// within says what goes back of a locked payment: the asked amount, or what is left.
func within(ctx context.Context, tx pgx.Tx, p payment.Payment, asked *money.Amount) (money.Amount, error) {
	gone, err := spent(ctx, tx, p.ID)
	if err != nil {
		return money.Amount{}, err
	}
	left := money.Amount{Minor: p.Amount.Minor - gone, Currency: p.Amount.Currency}
	amount := left
	if asked != nil {
		amount = *asked
	}
	switch {
	case amount.Currency != left.Currency:
		return amount, fault.Validation(fault.Field{Field: "amount.currency", Rule: "eq=" + left.Currency, Message: "must be the payment's currency"})
	case amount.Minor > left.Minor || left.Minor <= 0:
		return amount, fault.New(fault.Invalid, "REFUND_EXCEEDS_PAYMENT", "Of this payment "+left.String()+" is left to refund.")
	}
	return amount, nil
}

// store inserts the refund, its external operation and the answer.
func store(ctx context.Context, tx pgx.Tx, op *operation.Running, p payment.Payment, amount money.Amount, reason string) (operation.Result, error) {
	r := Refund{ID: uuid.Must(uuid.NewV7()), OrderID: p.OrderID, PaymentID: p.ID, RequestedBy: op.ID, Amount: amount}
	r.Key = fmt.Sprintf("refund:create:order:%s:%s", r.OrderID, r.ID)
	r.OperationID = operation.Identity{User: operation.System, Type: CreateRefund, Key: r.Key}.ID()
	body, err := json.Marshal(answer{ID: r.ID, Amount: amount, Status: Created})
	if err != nil {
		return operation.Result{}, fmt.Errorf("write refund: %w", err)
	}
	result := operation.Result{OrderID: r.OrderID, ResourceType: "refund", ResourceID: r.ID.String(), Code: 202, Body: string(body)}
	b := &pgx.Batch{}
	operation.Enqueue(b, operation.Plan{Type: CreateRefund, Key: r.Key, OrderID: r.OrderID, Trace: trace.ID(ctx)})
	r.queueCreate(ctx, b, p.Provider, reason, journal.Entry{
		Kind: "operation.completed", OperationID: op.ID, OrderID: r.OrderID, PaymentID: r.PaymentID, Detail: map[string]any{"resource": "refund " + r.ID.String()},
	})
	op.Complete(ctx, b, result)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return operation.Result{}, fmt.Errorf("store refund: %w", err)
	}
	return result, nil
}
