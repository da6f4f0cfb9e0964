// Package order keeps orders and their states.
//
//	AWAITING_PAYMENT ─▶ PAID ─▶ FULFILLED          (a payment succeeds; the last effect is there)
//	AWAITING_PAYMENT ─▶ CANCELED | EXPIRED         (the shopper or the clock)
//	PAID | FULFILLED ─▶ PARTIALLY_REFUNDED ─▶ REFUNDED
package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/catalog"
	"onefold/domain/journal"
	"onefold/domain/money"
	"onefold/domain/outbox"
	"onefold/domain/trace"
)

// State of an order.
type State string

// The states, with who moves next.
const (
	AwaitingPayment   State = "AWAITING_PAYMENT"   // the shopper, through a payment
	Paid              State = "PAID"               // the fulfilment effects
	Fulfilled         State = "FULFILLED"          // nobody; an operator may refund
	Canceled          State = "CANCELED"           // nobody
	Expired           State = "EXPIRED"            // nobody
	PartiallyRefunded State = "PARTIALLY_REFUNDED" // an operator
	Refunded          State = "REFUNDED"           // nobody
)

// States lists all states in the order of the schema's CHECK.
func States() []State {
	return []State{AwaitingPayment, Paid, Fulfilled, Canceled, Expired, PartiallyRefunded, Refunded}
}

var next = map[State][]State{ //nolint:gochecknoglobals // the machine as a table
	AwaitingPayment:   {Paid, Canceled, Expired},
	Paid:              {Fulfilled, PartiallyRefunded, Refunded},
	Fulfilled:         {PartiallyRefunded, Refunded},
	PartiallyRefunded: {Refunded},
	Canceled:          nil,
	Expired:           nil,
	Refunded:          nil,
}

// CanMove reports a legal move. Staying is not a move.
func (s State) CanMove(to State) bool { return slices.Contains(next[s], to) }

// Order is the part of a row that moves depend on.
type Order struct {
	ID          uuid.UUID
	State       State
	Total       money.Amount
	NeedsReview bool
}

// Lock reads an order for a move. Lock order: operation, order, payment, the rest.
func Lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Order, error) {
	o := Order{ID: id}
	err := tx.QueryRow(ctx, `SELECT status, total_minor, currency, needs_review FROM orders WHERE id = $1 FOR UPDATE`, id).
		Scan(&o.State, &o.Total.Minor, &o.Total.Currency, &o.NeedsReview)
	if err != nil {
		return o, fmt.Errorf("lock order: %w", err)
	}
	return o, nil
}

// MarkPaid moves a locked order to PAID because paymentID succeeded, and appends ORDER_PAID. Money for an order that can't
// take it (paid by another attempt, canceled, expired) is never dropped: the order is flagged for review instead.
func MarkPaid(ctx context.Context, tx pgx.Tx, o Order, paymentID uuid.UUID) error {
	if !o.State.CanMove(Paid) {
		reason := "second_payment"
		if o.State == Canceled || o.State == Expired {
			reason = "paid_after_close"
		}
		return Flag(ctx, tx, o.ID, paymentID, reason)
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE orders SET status = 'PAID', paid_at = now() WHERE id = $1 AND status = 'AWAITING_PAYMENT'`, o.ID)
	event := outbox.Queue(ctx, b, outbox.OrderPaid, "order.paid:"+o.ID.String(), o.ID)
	journal.Queue(ctx, b, journal.Entry{
		Kind: "order.paid", OutboxID: event, OrderID: o.ID, PaymentID: paymentID, Detail: map[string]any{"from": o.State, "to": Paid},
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("mark order paid: %w", err)
	}
	return nil
}

// MarkFulfilled moves a locked PAID order to FULFILLED. One of which a part was refunded meanwhile keeps its state and gets the
// time; in any other state nothing happens.
func MarkFulfilled(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var to State
	err := tx.QueryRow(ctx, `UPDATE orders SET status = CASE status WHEN 'PAID' THEN 'FULFILLED' ELSE status END, fulfilled_at = now()
		WHERE id = $1 AND status IN ('PAID', 'PARTIALLY_REFUNDED') AND fulfilled_at IS NULL RETURNING status`, id).Scan(&to)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mark order fulfilled: %w", err)
	}
	return journal.Append(ctx, tx, journal.Entry{Kind: "order.fulfilled", OrderID: id, Detail: map[string]any{"to": to}})
}

// MarkRefunded moves a locked order because money of the payment that paid it went back: a part of it, or all. Only all of it
// has consequences (ORDER_REFUNDED): what was given for the money is taken back. Goods don't return to the stock by themselves.
func MarkRefunded(ctx context.Context, tx pgx.Tx, o Order, paymentID uuid.UUID, all bool) error {
	to := PartiallyRefunded
	if all {
		to = Refunded
	}
	if !o.State.CanMove(to) {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE orders SET status = $2 WHERE id = $1 AND status = $3`, o.ID, to, o.State)
	if all {
		outbox.Queue(ctx, b, outbox.OrderRefunded, "order.refunded:"+o.ID.String(), o.ID)
	}
	journal.Queue(ctx, b, journal.Entry{
		Kind: "order." + strings.ToLower(string(to)), OrderID: o.ID, PaymentID: paymentID, Detail: map[string]any{"from": o.State, "to": to},
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("mark order refunded: %w", err)
	}
	return nil
}

// Close moves a locked, unpaid order to CANCELED or EXPIRED and gives its stock and promo use back, once: only the transaction
// whose conditional UPDATE moved it does that.
func Close(ctx context.Context, tx pgx.Tx, o Order, to State, operationID uuid.UUID) error {
	var promo *string
	err := tx.QueryRow(ctx, `UPDATE orders SET status = $2, closed_at = now(), closed_by = $3 WHERE id = $1 AND status = 'AWAITING_PAYMENT'
		RETURNING promo_code`, o.ID, to, operationID).Scan(&promo)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("close order: %w", err)
	}
	if promo != nil {
		if err := catalog.ReleasePromo(ctx, tx, *promo); err != nil {
			return err
		}
	}
	if err := catalog.Release(ctx, tx, o.ID); err != nil {
		return err
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: "order." + strings.ToLower(string(to)), OperationID: operationID, OrderID: o.ID, Detail: map[string]any{"from": o.State, "to": to},
	})
}

// Flag puts an order under review; the first reason stays.
func Flag(ctx context.Context, tx pgx.Tx, id, paymentID uuid.UUID, reason string) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE orders SET needs_review = true, review_reason = $2 WHERE id = $1 AND NOT needs_review`, id, reason)
	journal.Queue(ctx, b, journal.Entry{Kind: "order.flagged", OrderID: id, PaymentID: paymentID, Detail: map[string]any{"reason": reason}})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("flag order: %w", err)
	}
	return nil
}

// QueueAnswered takes an order out of review whose question has been answered by itself; another reason stays.
func QueueAnswered(ctx context.Context, b *pgx.Batch, id uuid.UUID, reason string) {
	b.Queue(`WITH answered AS (UPDATE orders SET needs_review = false, review_reason = NULL WHERE id = $1 AND review_reason = $2 RETURNING id)
		INSERT INTO journal (kind, trace_id, order_id, detail) SELECT 'order.answered', $3, id, jsonb_build_object('reason', $2::text) FROM answered`,
		id, reason, trace.ID(ctx))
}

// QueueByOperation looks for the order that an operation made, also after the operation was cleaned away; found stays
// uuid.Nil if there is none.
func QueueByOperation(b *pgx.Batch, operationID uuid.UUID, found *uuid.UUID) {
	b.Queue(`SELECT id FROM orders WHERE operation_id = $1`, operationID).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(found); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find order: %w", err)
		}
		return nil
	})
}

// ByCart finds the order of a cart.
func ByCart(ctx context.Context, tx pgx.Tx, cartID uuid.UUID) (id uuid.UUID, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT id FROM orders WHERE cart_id = $1`, cartID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, false, nil
	}
	if err != nil {
		return id, false, fmt.Errorf("find order: %w", err)
	}
	return id, true, nil
}
