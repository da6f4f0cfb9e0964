package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/crash"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Applier turns inbox rows into knowledge about payments.
type Applier struct {
	DB        store.DB
	Providers map[string]provider.Payments // by name
	// Refunds judges what an event says about a refund (refund.Apply); early names what is missing here yet. Nil ignores them.
	Refunds func(ctx context.Context, tx pgx.Tx, providerName string, said provider.Refund) (v inbox.Verdict, early string, err error)
	// Shipments judges what an event says about a parcel (fulfilment.ApplyShipment), as Refunds does. Nil ignores them.
	Shipments func(ctx context.Context, tx pgx.Tx, said provider.Shipment) (v inbox.Verdict, early string, err error)
	MaxWaits  int // looks for an unknown object before its event is quarantined; 0 means 9 (about 2 minutes)
}

// Apply deals with one inbox row. Repeats, late and early events are all successes; only a failing database is an error.
func (a *Applier) Apply(ctx context.Context, id uuid.UUID) error {
	err := store.InTx(ctx, a.DB, func(tx pgx.Tx) error {
		e, ok, err := inbox.Lock(ctx, tx, id)
		if err != nil || !ok {
			return err
		}
		trace.Note(ctx, slog.String("provider_event_id", e.EventID))
		verdict, wait, err := a.judge(ctx, tx, e)
		if err != nil {
			return err
		}
		trace.Note(ctx, slog.String("payment_id", verdict.PaymentID.String()), slog.String("order_id", verdict.OrderID.String()),
			slog.String("verdict", string(verdict.Status)))
		crash.Point(crash.BeforeApply, e.Type)
		return closeOrWait(ctx, tx, e, verdict, wait)
	})
	if err == nil {
		crash.Point(crash.AfterApply, "")
		return nil
	}
	if store.IsTransient(err) {
		return err
	}
	return errors.Join(err, a.setBack(ctx, id))
}

// setBack counts a try that failed for a reason of its own, so that a poisonous event ends up where people look.
func (a *Applier) setBack(ctx context.Context, id uuid.UUID) error {
	return store.InTx(ctx, a.DB, func(tx pgx.Tx) error {
		e, ok, err := inbox.Lock(ctx, tx, id)
		if err != nil || !ok {
			return err
		}
		verdict, wait, err := a.early(e, "failed")
		if err != nil {
			return err
		}
		return closeOrWait(ctx, tx, e, verdict, wait)
	})
}

func closeOrWait(ctx context.Context, tx pgx.Tx, e inbox.Event, v inbox.Verdict, wait bool) error {
	if wait {
		return inbox.Wait(ctx, tx, e, operation.Backoff(e.Attempts))
	}
	return inbox.Conclude(ctx, tx, e, v)
}

func (a *Applier) judge(ctx context.Context, tx pgx.Tx, e inbox.Event) (v inbox.Verdict, wait bool, err error) {
	p, known := a.Providers[e.Provider]
	if !known {
		return inbox.Verdict{Status: inbox.Quarantined, Reason: "provider_not_configured"}, false, nil
	}
	event, err := p.Translate(e.Payload)
	if err != nil {
		return inbox.Verdict{Status: inbox.Quarantined, Reason: "not_understood"}, false, nil //nolint:nilerr // the verdict is the answer
	}
	if said := event.Object.Refund; said != nil && a.Refunds != nil {
		v, early, err := a.Refunds(ctx, tx, e.Provider, *said)
		if early != "" && err == nil {
			return a.early(e, early)
		}
		return v, false, err
	}
	if said := event.Object.Shipment; said != nil && a.Shipments != nil {
		v, early, err := a.Shipments(ctx, tx, *said)
		if early != "" && err == nil {
			return a.early(e, early)
		}
		return v, false, err
	}
	said := event.Object.Payment
	if said == nil {
		return inbox.Verdict{Status: inbox.Ignored, Reason: "no_payment"}, false, nil
	}
	paymentID, operationID, err := match(ctx, tx, e.Provider, *said)
	if errors.Is(err, pgx.ErrNoRows) {
		return a.early(e, "unknown_object")
	}
	if err != nil {
		return v, false, fmt.Errorf("find payment of event: %w", err)
	}
	v, early, err := apply(ctx, tx, paymentID, operationID, *said)
	if early && err == nil {
		return a.early(e, "not_submitted")
	}
	return v, false, err
}

// early lets an event wait for what must come before it, but not for ever.
func (a *Applier) early(e inbox.Event, reason string) (inbox.Verdict, bool, error) {
	limit := a.MaxWaits
	if limit == 0 {
		limit = 9
	}
	if e.Attempts+1 < limit {
		return inbox.Verdict{}, true, nil
	}
	return inbox.Verdict{Status: inbox.Quarantined, Reason: reason}, false, nil
}

// match finds our payment by the provider's ID or, while that isn't stored yet, by our reference.
func match(ctx context.Context, tx pgx.Tx, providerName string, said provider.Payment) (id uuid.UUID, operationID operation.ID, err error) {
	reference, _ := uuid.Parse(said.Reference)
	err = tx.QueryRow(ctx, `SELECT id, operation_id FROM payments WHERE provider = $1 AND (provider_payment_id = $2 OR id = $3)
		ORDER BY (provider_payment_id = $2) IS TRUE DESC LIMIT 1`, providerName, said.ID, reference).Scan(&id, &operationID)
	return id, operationID, err
}

func apply(ctx context.Context, tx pgx.Tx, id uuid.UUID, operationID operation.ID, said provider.Payment) (v inbox.Verdict, early bool, err error) {
	op, err := lockOperations(ctx, tx, id, operationID)
	if err != nil {
		return v, false, err
	}
	learned, err := learn(ctx, tx, id, said, "event")
	if err != nil || learned.early {
		return v, learned.early, err
	}
	v = inbox.Verdict{Status: inbox.NoChange, PaymentID: id, OrderID: learned.payment.OrderID}
	switch {
	case learned.contradiction != "":
		v.Status, v.Reason = inbox.Quarantined, learned.contradiction
		return v, false, order.Flag(ctx, tx, v.OrderID, id, learned.contradiction)
	case learned.late:
		v.Status, v.Reason = inbox.Stale, "payment_is_"+string(learned.payment.State)
	case learned.moved:
		v.Status = inbox.Applied
	}
	op.OrderID = uuid.NullUUID{UUID: learned.payment.OrderID, Valid: true}
	if err := operation.Settle(ctx, tx, op, operation.Done("payment", id.String())); err != nil || learned.payment.State.Open() {
		return v, false, err
	}
	op.ID = watchID(learned.payment.OrderID, learned.payment.Attempt)
	return v, false, operation.Settle(ctx, tx, op, operation.Done("payment", id.String()))
}

// lockOperations takes the first locks of the order operation, order, payment: the operation that creates the payment and the
// one that watches it. Retention may have removed the rows.
func lockOperations(ctx context.Context, tx pgx.Tx, paymentID uuid.UUID, createID operation.ID) (operation.Operation, error) {
	op := operation.Operation{ID: createID}
	var orderID uuid.UUID
	var attempt int
	if err := tx.QueryRow(ctx, `SELECT order_id, attempt FROM payments WHERE id = $1`, paymentID).Scan(&orderID, &attempt); err != nil {
		return op, fmt.Errorf("find payment's order: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT FROM operations WHERE id = ANY($1) ORDER BY id FOR UPDATE`,
		[]operation.ID{createID, watchID(orderID, attempt)}); err != nil {
		return op, fmt.Errorf("lock payment's operations: %w", err)
	}
	return op, nil
}
