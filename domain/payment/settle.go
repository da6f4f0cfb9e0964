package payment

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

// SettlePayment is the type of the operation that ends an unknown payment because two people said how it ended. The provider is
// asked first, and what it says wins.
const SettlePayment operation.Type = "SETTLE_PAYMENT"

const settleKey = "payment:settle:"

// PlanSettlement plans one for a decision. providerID names the payment at the provider that is ours; "" claims that there is none.
func PlanSettlement(ctx context.Context, b *pgx.Batch, decision, paymentID, orderID uuid.UUID, providerID string) operation.ID {
	plan := operation.Plan{
		Type: SettlePayment, Key: settleKey + paymentID.String() + ":" + decision.String() + ":" + providerID, OrderID: orderID, Trace: trace.ID(ctx),
	}
	operation.Enqueue(b, plan)
	return operation.Identity{User: operation.System, Type: plan.Type, Key: plan.Key}.ID()
}

// Settler carries on SETTLE_PAYMENT operations.
type Settler struct{ Provider provider.Payments }

// Handler is what the executor calls.
func (s Settler) Handler() operation.Handler { return operation.Handler{External: s.prepare} }

func (s Settler) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	parts := strings.SplitN(strings.TrimPrefix(op.Key, settleKey), ":", 3)
	id, err := uuid.Parse(parts[0])
	if err != nil || len(parts) != 3 {
		return operation.Call{}, operation.End{}, fmt.Errorf("read payment from key %q: %w", op.Key, err)
	}
	if _, err := order.Lock(ctx, tx, op.OrderID.UUID); err != nil {
		return operation.Call{}, operation.End{}, err
	}
	p, err := lock(ctx, tx, `id = $1`, id)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	if p.State != Unknown {
		return operation.Call{}, operation.Done("payment", id.String()), nil
	}
	return operation.Call{Send: func(ctx context.Context) (operation.Record, error) {
		said, err := s.ask(ctx, p, parts[2])
		if provider.KindOf(err) == provider.NotFound && err != nil && parts[2] == "" {
			return s.recordAbsence(p, op), nil
		}
		return s.recordAnswer(p, op, said), err
	}}, operation.End{}, nil
}

func (s Settler) ask(ctx context.Context, p Payment, providerID string) (provider.Payment, error) {
	if providerID != "" {
		return s.Provider.GetPayment(ctx, providerID)
	}
	return s.Provider.FindPayment(ctx, p.ID.String())
}

// recordAnswer stores what the provider said. It may contradict what we know: then the payment stays unknown, and the operation says why.
func (s Settler) recordAnswer(p Payment, op operation.Operation, said provider.Payment) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if err := s.keep(ctx, tx, p, op, map[string]any{"provider_says": said.Status, "provider_payment_id": said.ID, "amount": said.Amount}); err != nil {
			return operation.End{}, err
		}
		learned, err := learn(ctx, tx, p.ID, said, "settlement")
		if err != nil {
			return operation.End{}, err
		}
		if learned.contradiction != "" {
			return operation.End{Status: operation.Failed, FailureCode: learned.contradiction, ResourceType: "payment", ResourceID: p.ID.String()}, nil
		}
		return operation.Done("payment", p.ID.String()), endCreation(ctx, tx, p)
	}
}

// recordAbsence ends the attempt: the provider knows nothing of it, and two people said that nothing is on its way.
func (s Settler) recordAbsence(p Payment, op operation.Operation) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if err := s.keep(ctx, tx, p, op, map[string]any{"provider_says": "nothing under our reference"}); err != nil {
			return operation.End{}, err
		}
		now, err := LockWithOrder(ctx, tx, p.ID)
		if err != nil {
			return operation.End{}, err
		}
		if now.State.CanMove(Failed) {
			if err := now.move(ctx, tx, Failed, change{failure: "settled_as_absent", source: "settlement"}); err != nil {
				return operation.End{}, err
			}
		}
		return operation.Done("payment", p.ID.String()), endCreation(ctx, tx, p)
	}
}

// keep appends the evidence to the journal.
// It locks the operation that made the attempt before anything else (lock order: operations, order, payment).
func (s Settler) keep(ctx context.Context, tx pgx.Tx, p Payment, op operation.Operation, evidence map[string]any) error {
	if _, err := tx.Exec(ctx, `SELECT FROM operations WHERE id = $1 FOR UPDATE`, p.OperationID); err != nil {
		return fmt.Errorf("lock operation of payment: %w", err)
	}
	return journal.Append(ctx, tx, journal.Entry{Kind: "payment.evidence", OperationID: op.ID, OrderID: p.OrderID, PaymentID: p.ID, Detail: evidence})
}

// endCreation ends the operation that made the attempt, which would go on looking.
func endCreation(ctx context.Context, tx pgx.Tx, p Payment) error {
	creation := operation.Operation{ID: p.OperationID, OrderID: uuid.NullUUID{UUID: p.OrderID, Valid: true}}
	return operation.Settle(ctx, tx, creation, operation.Done("payment", p.ID.String()))
}
