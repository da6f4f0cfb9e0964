package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

// CreatePayment is the type of the external operation that creates a payment at the provider.
const CreatePayment operation.Type = "CREATE_PAYMENT"

// New is an attempt to be inserted together with its external operation.
type New struct {
	ID       uuid.UUID
	OrderID  uuid.UUID
	Attempt  int // from 1
	Amount   money.Amount
	Provider string
	// RequestedBy is the shopper's operation that wanted this attempt; uuid.Nil if it comes with the order.
	RequestedBy uuid.UUID
}

// Key is the business key of the attempt and the provider's idempotency key: one per attempt, stored before the first call.
func (n New) Key() string { return fmt.Sprintf("payment:create:order:%s:%d", n.OrderID, n.Attempt) }

// OperationID of the attempt's external operation.
func (n New) OperationID() operation.ID {
	return operation.Identity{User: operation.System, Type: CreatePayment, Key: n.Key()}.ID()
}

// QueueCreate adds the attempt, its operation and their journal row to a batch, with what else the caller has to note.
func QueueCreate(ctx context.Context, b *pgx.Batch, n New, also ...journal.Entry) {
	b.Queue(`INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, requested_by)
		VALUES ($1, $2, $3, $4, 'CREATED', $5, $6, $7, $8, $9)`,
		n.ID, n.OrderID, n.Attempt, n.OperationID(), n.Amount.Minor, n.Amount.Currency, n.Provider, n.Key(),
		uuid.NullUUID{UUID: n.RequestedBy, Valid: n.RequestedBy != uuid.Nil})
	operation.Enqueue(b, operation.Plan{Type: CreatePayment, Key: n.Key(), OrderID: n.OrderID, Trace: trace.ID(ctx)})
	journal.Queue(ctx, b, append(also, journal.Entry{
		Kind: "payment.created", OperationID: n.OperationID(), OrderID: n.OrderID, PaymentID: n.ID, Detail: map[string]any{"attempt": n.Attempt},
	})...)
}

// Creator carries on CREATE_PAYMENT operations.
type Creator struct {
	Provider  provider.Payments
	ReturnURL func(orderID uuid.UUID) string // where the hosted page sends the shopper back to
}

// Handler is what the executor calls.
func (c Creator) Handler() operation.Handler { return operation.Handler{External: c.prepare} }

// prepare marks the attempt as being submitted and fixes the call's inputs from stored rows.
func (c Creator) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	if _, err := order.Lock(ctx, tx, op.OrderID.UUID); err != nil {
		return operation.Call{}, operation.End{}, err
	}
	p, err := lock(ctx, tx, `order_id = $1 AND operation_id = $2`, op.OrderID, op.ID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	switch p.State { //nolint:exhaustive // every other state is known and ends the operation
	case Created:
		if err := p.move(ctx, tx, Submitting, change{}); err != nil {
			return operation.Call{}, operation.End{}, err
		}
	case Submitting, Unknown:
	default:
		return operation.Call{}, operation.Done("payment", p.ID.String()), nil
	}
	in := provider.CreatePayment{
		Key: p.Key, Reference: p.ID.String(), Amount: p.Amount, ReturnURL: c.ReturnURL(p.OrderID),
		Description: "Order " + p.OrderID.String(),
		Metadata: map[string]string{
			"orderId": p.OrderID.String(), "operationId": op.ID.String(), "traceId": op.TraceID,
		},
	}
	return operation.Call{
		Lookup: func(ctx context.Context) (operation.Record, error) {
			found, err := c.Provider.FindPayment(ctx, in.Reference)
			return record(p.ID, found, "lookup"), err
		},
		Send: func(ctx context.Context) (operation.Record, error) {
			made, err := c.Provider.CreatePayment(ctx, in)
			if provider.KindOf(err) == provider.Rejected && err != nil {
				return recordRejection(p.ID, err), nil
			}
			return record(p.ID, made, "answer"), err
		},
		Absent: recordFailure(p.ID, "NOT_AT_PROVIDER", "not_at_provider"),
		Postponed: func(ctx context.Context, tx pgx.Tx, post operation.Postponement) error {
			if !post.AnyTry {
				return nil
			}
			return markUnknown(ctx, tx, p.ID)
		},
	}, operation.End{}, nil
}

// record stores what an answer or lookup says. A contradiction (other amount) makes the payment unknown and flags the order: a
// person has to look, nobody else will.
func record(id uuid.UUID, said provider.Payment, source string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		learned, err := learn(ctx, tx, id, said, source)
		if err != nil {
			return operation.End{}, err
		}
		if learned.contradiction != "" {
			if learned.payment.State.CanMove(Unknown) {
				if err := learned.payment.move(ctx, tx, Unknown, change{source: source}); err != nil {
					return operation.End{}, err
				}
			}
			if err := order.Flag(ctx, tx, learned.payment.OrderID, id, learned.contradiction); err != nil {
				return operation.End{}, err
			}
			return operation.End{Status: operation.Failed, FailureCode: learned.contradiction, ResourceType: "payment", ResourceID: id.String()}, nil
		}
		return operation.Done("payment", id.String()), nil
	}
}

func recordRejection(id uuid.UUID, cause error) operation.Record {
	code := "rejected"
	var e *provider.Error
	if errors.As(cause, &e) && e.Code != "" {
		code = e.Code
	}
	return recordFailure(id, "PAYMENT_REJECTED", code)
}

// recordFailure ends an attempt that took no money, for a known reason.
func recordFailure(id uuid.UUID, failure, reason string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		p, err := LockWithOrder(ctx, tx, id)
		if err != nil {
			return operation.End{}, err
		}
		if p.State.CanMove(Failed) {
			err = p.move(ctx, tx, Failed, change{failure: reason})
		}
		return operation.End{Status: operation.Failed, FailureCode: failure, ResourceType: "payment", ResourceID: id.String()}, err
	}
}

// A payment that is unknown for longer than a provider may take (24 hours are the longest that any promises) puts its order under
// review, until it is known. That is all that age does (DESIGN rule 6).
const (
	reviewLong  = "unknown_for_long"
	reviewAfter = 24 * time.Hour
)

func markUnknown(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	p, err := LockWithOrder(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case p.State.CanMove(Unknown):
		return p.move(ctx, tx, Unknown, change{})
	case p.State != Unknown || p.Order.NeedsReview:
		return nil
	}
	var long bool
	err = tx.QueryRow(ctx, `SELECT created_at < clock_timestamp() - $2::interval FROM payments WHERE id = $1`, id, reviewAfter).Scan(&long)
	if err != nil {
		return fmt.Errorf("read age of payment: %w", err)
	}
	if !long {
		return nil
	}
	return order.Flag(ctx, tx, p.OrderID, id, reviewLong)
}

// Last returns the number and state of an order's latest attempt. The order must be locked.
func Last(ctx context.Context, tx pgx.Tx, orderID uuid.UUID) (attempt int, s State, err error) {
	err = tx.QueryRow(ctx, `SELECT attempt, status FROM payments WHERE order_id = $1 ORDER BY attempt DESC LIMIT 1`, orderID).Scan(&attempt, &s)
	if err != nil {
		return 0, "", fmt.Errorf("read last attempt: %w", err)
	}
	return attempt, s, nil
}
