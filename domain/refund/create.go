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
// Errors: NOT_FOUND, VALIDATION_FAILED, what may says, REFUND_EXCEEDS_PAYMENT (with all refunds that haven't failed it would be more than was
// captured), ORDER_STATE (no money came in). They bind nothing to the key. IDEMPOTENCY_KEY_EXPIRED: the refund is there, its
// operation was cleaned away.
func Create(ctx context.Context, run *operation.Runner, actor, orderID uuid.UUID, key string, amount *money.Amount, reason string, may May) (operation.Outcome, error) {
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
		Describe: func(f *operation.Fields) {
			if f.Put("amount", "all that is left"); amount != nil {
				f.Put("amount", amount.String())
			}
			f.Personal("reason", operation.Text(reason)) // free text may name somebody
		},
	}
	existing := uuid.Nil // the refund that this key made before its operation was cleaned away
	claim.Reads = func(b *pgx.Batch) { queueByWish(b, claim.Identity.ID(), &existing) }
	return run.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		if existing != uuid.Nil {
			return operation.Result{}, operation.Expired(op.ID, "refund "+existing.String())
		}
		r, err := Decide(ctx, tx, op.ID, orderID, amount, nil, reason, may)
		if err != nil {
			return operation.Result{}, err
		}
		body, err := json.Marshal(answer{ID: r.ID, Amount: r.Amount, Status: Created})
		if err != nil {
			return operation.Result{}, fmt.Errorf("write refund: %w", err)
		}
		return operation.Result{OrderID: r.OrderID, ResourceType: "refund", ResourceID: r.ID.String(), Code: 202, Body: string(body)},
			journal.Append(ctx, tx, journal.Entry{
				Kind: "operation.completed", OperationID: op.ID, OrderID: r.OrderID, PaymentID: r.PaymentID, Detail: map[string]any{"resource": "refund " + r.ID.String()},
			})
	})
}

// May says whether somebody may decide alone that so much goes back of one payment, all its refunds taken together. Nil allows all.
type May func(together money.Amount) error

// Decide stores a refund and its external operation in the transaction of a wish, which may have one refund for ever. A nil amount
// means all that is left. expected is what the person who decides saw as left; nil isn't compared.
//
// Errors: as Create, and BALANCE_CHANGED when something else is left than was expected.
func Decide(ctx context.Context, tx pgx.Tx, wish operation.ID, orderID uuid.UUID, amount, expected *money.Amount, reason string, may May) (Refund, error) {
	p, err := refundable(ctx, tx, orderID)
	if err != nil {
		return Refund{}, err
	}
	agreed, err := within(ctx, tx, p, amount, expected, may)
	if err != nil {
		return Refund{}, err
	}
	r := Refund{ID: uuid.Must(uuid.NewV7()), OrderID: p.OrderID, PaymentID: p.ID, RequestedBy: wish, Amount: agreed}
	r.Key = fmt.Sprintf("refund:create:order:%s:%s", r.OrderID, r.ID)
	r.OperationID = operation.Identity{User: operation.System, Type: CreateRefund, Key: r.Key}.ID()
	b := &pgx.Batch{}
	operation.Enqueue(b, operation.Plan{Type: CreateRefund, Key: r.Key, OrderID: r.OrderID, Trace: trace.ID(ctx)})
	r.queueCreate(ctx, b, p.Provider, reason)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return Refund{}, fmt.Errorf("store refund: %w", err)
	}
	return r, nil
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
func within(ctx context.Context, tx pgx.Tx, p payment.Payment, asked, expected *money.Amount, may May) (money.Amount, error) {
	gone, err := spent(ctx, tx, p.ID)
	if err != nil {
		return money.Amount{}, err
	}
	left := money.Amount{Minor: p.Amount.Minor - gone, Currency: p.Amount.Currency}
	if expected != nil && *expected != left {
		return left, fault.New(fault.Conflict, "BALANCE_CHANGED", "Of this payment "+left.String()+" is left by now, not "+expected.String()+". Nothing was sent back.")
	}
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
	if may != nil {
		return amount, may(money.Amount{Minor: gone + amount.Minor, Currency: amount.Currency})
	}
	return amount, nil
}
