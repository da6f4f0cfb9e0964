package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// CancelOrder is the type of a shopper's operation that closes an unpaid order; ExpireOrder is the system's.
const (
	CancelOrder operation.Type = "CANCEL_ORDER"
	ExpireOrder operation.Type = "EXPIRE_ORDER"
)

// Cancel closes an unpaid order, once per (user, order, key). A pending payment is canceled at the provider first, so the end
// may come after the request: then OPERATION_IN_PROGRESS, and the same request asks again.
//
// Errors: NOT_FOUND, ORDER_STATE (paid; a result if it was learned by asking), PAYMENT_UNRESOLVED (the outcome isn't known),
// IDEMPOTENCY_KEY_EXPIRED (the key closed the order, its operation was cleaned away).
func (d *Desk) Cancel(ctx context.Context, userID, orderID uuid.UUID, key string) (operation.Outcome, error) {
	return d.CancelFor(ctx, userID, orderID, key, nil)
}

// CancelFor is Cancel by somebody who need not be the owner: may, asked in the operation's transaction, takes the place of that
// rule and writes what else belongs to it. Nil asks for the owner.
func (d *Desk) CancelFor(ctx context.Context, userID, orderID uuid.UUID, key string, may func(tx pgx.Tx, wish operation.ID) error) (operation.Outcome, error) {
	fingerprint, err := operation.Fingerprint(1, struct{ OrderID uuid.UUID }{orderID})
	if err != nil {
		return operation.Outcome{}, err
	}
	claim := operation.Claim{
		Identity:    operation.Identity{User: userID, Type: CancelOrder, Target: "order:" + orderID.String(), Key: key},
		Fingerprint: fingerprint, Describe: func(f *operation.Fields) { f.Put("order", orderID.String()) },
	}
	return d.Operations.Start(ctx, claim, d.Wake, func(tx pgx.Tx) (uuid.UUID, error) {
		if err := mayCancel(ctx, tx, claim.Identity, orderID, may == nil); err != nil || may == nil {
			return orderID, err
		}
		return orderID, may(tx, claim.Identity.ID())
	})
}

func mayCancel(ctx context.Context, tx pgx.Tx, wish operation.Identity, orderID uuid.UUID, ownOnly bool) error {
	var owner uuid.UUID
	var closedBy uuid.NullUUID
	err := tx.QueryRow(ctx, `SELECT user_id, closed_by FROM orders WHERE id = $1`, orderID).Scan(&owner, &closedBy)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && ownOnly && owner != wish.User) {
		return fault.Missing("order")
	}
	if err != nil {
		return fmt.Errorf("find order: %w", err)
	}
	if closedBy.Valid && closedBy.UUID == wish.ID() {
		return operation.Expired(wish.ID(), "the cancellation of order "+orderID.String())
	}
	o, err := order.Lock(ctx, tx, orderID)
	if err != nil {
		return err
	}
	_, last, err := payment.Last(ctx, tx, orderID)
	switch {
	case err != nil:
		return err
	case o.State == order.Canceled: // a repeated step is a success that does nothing
		return nil
	case o.State != order.AwaitingPayment:
		return orderState(o.State)
	case last == payment.Unknown:
		return fault.New(fault.Conflict, "PAYMENT_UNRESOLVED", "The outcome of the payment isn't known yet, so the order can't be canceled.")
	}
	return nil
}

func orderState(s order.State) *fault.Error {
	return fault.New(fault.Conflict, "ORDER_STATE", "This order is "+string(s)+" and can't be canceled.")
}

// Closer carries on CANCEL_ORDER and EXPIRE_ORDER operations.
type Closer struct {
	Provider provider.Payments
	To       order.State   // order.Canceled or order.Expired
	Keep     time.Duration // how long a shopper's key is kept
}

// Handler is what the executor calls.
func (c Closer) Handler() operation.Handler { return operation.Handler{External: c.prepare} }

// lookAgain is the pace of looking at an order whose payment isn't known yet.
const lookAgain = 500 * time.Millisecond

func (c Closer) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	closing, err := payment.PrepareClosing(ctx, tx, op, c.Provider)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	switch {
	case closing.Order.State != order.AwaitingPayment, closing.Ask == nil && !closing.Unsure:
		end, err := c.conclude(ctx, tx, op, closing.Order)
		return operation.Call{}, end, err
	case closing.Unsure:
		return operation.Call{Send: func(context.Context) (operation.Record, error) {
			return nil, &provider.Error{Kind: provider.NotYet, RetryAfter: lookAgain}
		}}, operation.End{}, nil
	}
	return operation.Call{Lookup: func(ctx context.Context) (operation.Record, error) {
		said, err := closing.Look(ctx)
		if err == nil && said.Status == provider.Pending {
			err = provider.Errorf(provider.NotFound, "no cancellation yet")
		}
		return c.record(op, closing.Last, said), err
	}, Send: func(ctx context.Context) (operation.Record, error) {
		said, err := closing.Ask(ctx)
		if err != nil && provider.KindOf(err) == provider.Rejected {
			return c.refused(op, closing.Last), nil
		}
		if err == nil && said.Status == provider.Pending {
			err = &provider.Error{Kind: provider.NotYet, RetryAfter: lookAgain}
		}
		return c.record(op, closing.Last, said), err
	}}, operation.End{}, nil
}

// refused ends a wish that the provider refused: the payment stays open there, so the order stays open here. A shopper may try
// again with another key; an order that can't even expire is looked at by a person.
func (c Closer) refused(op operation.Operation, p payment.Payment) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if op.User == operation.System {
			if _, err := order.Lock(ctx, tx, p.OrderID); err != nil {
				return operation.End{}, err
			}
			if err := order.Flag(ctx, tx, p.OrderID, p.ID, "cancel_refused"); err != nil {
				return operation.End{}, err
			}
		}
		refusal := fault.New(fault.Conflict, "ORDER_STATE", "The payment service refused to cancel the payment; it can still be paid.")
		return operation.End{
			Status: operation.Failed, FailureCode: refusal.Code, Body: refusal.Message, Code: 409, Keep: c.Keep, ResourceType: "order", ResourceID: p.OrderID.String(),
		}, nil
	}
}

func (c Closer) record(op operation.Operation, p payment.Payment, said provider.Payment) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if _, err := payment.Learn(ctx, tx, p, said, "cancel"); err != nil {
			return operation.End{}, err
		}
		o, err := order.Lock(ctx, tx, p.OrderID)
		if err != nil {
			return operation.End{}, err
		}
		return c.conclude(ctx, tx, op, o)
	}
}

// conclude closes a locked order that may be closed, and ends the operation with what the shopper is told.
func (c Closer) conclude(ctx context.Context, tx pgx.Tx, op operation.Operation, o order.Order) (operation.End, error) {
	if o.State == order.AwaitingPayment {
		if err := order.Close(ctx, tx, o, c.To, op.ID); err != nil {
			return operation.End{}, err
		}
		o.State = c.To
	}
	if o.State != order.Canceled && o.State != order.Expired {
		refusal := orderState(o.State)
		return operation.End{Status: operation.Failed, FailureCode: refusal.Code, Body: refusal.Message, Code: 409, Keep: c.Keep, ResourceType: "order", ResourceID: o.ID.String()}, nil
	}
	end := operation.Done("order", o.ID.String())
	if op.User == operation.System {
		return end, nil
	}
	var owner uuid.UUID // who may not be the one who cancels
	if err := tx.QueryRow(ctx, `SELECT user_id FROM orders WHERE id = $1`, o.ID).Scan(&owner); err != nil {
		return operation.End{}, fmt.Errorf("read owner: %w", err)
	}
	view, err := Find(ctx, tx, owner, o.ID)
	if err != nil {
		return operation.End{}, err
	}
	body, err := json.Marshal(view)
	if err != nil {
		return operation.End{}, fmt.Errorf("write order: %w", err)
	}
	end.Code, end.Body, end.Keep = 200, string(body), c.Keep
	return end, nil
}

// PlanExpiry makes an EXPIRE_ORDER operation of every order that has waited for its payment longer than ttl, at most limit at a
// time, and returns how many. An order is planned once; its operation is carried on until the order is closed or paid.
func PlanExpiry(ctx context.Context, db store.DB, ttl time.Duration, limit int) (n int, err error) {
	err = store.InTx(ctx, db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `UPDATE orders SET expiry_planned_at = now() WHERE id IN (SELECT id FROM orders
			WHERE status = 'AWAITING_PAYMENT' AND expiry_planned_at IS NULL AND created_at < now() - $1::interval
			ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id`, ttl, limit)
		if err != nil {
			return fmt.Errorf("find overdue orders: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return fmt.Errorf("read overdue orders: %w", err)
		}
		if n = len(ids); n == 0 {
			return nil
		}
		plans := make([]operation.Plan, n)
		for i, id := range ids {
			plans[i] = operation.Plan{Type: ExpireOrder, Key: "order:expire:order:" + id.String(), OrderID: id, Trace: trace.ID(trace.Resume(ctx, ""))}
		}
		b := &pgx.Batch{}
		operation.Enqueue(b, plans...)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return fmt.Errorf("plan expiry: %w", err)
		}
		return nil
	})
	return n, err
}
