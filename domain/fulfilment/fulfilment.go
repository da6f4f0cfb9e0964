// Package fulfilment gives a paid order what was bought: each effect is a system operation of its own with a business key, and
// a row whose UNIQUE key allows it once. The last effect makes the order FULFILLED.
// Physical units travel in parcels, each with an operation of its own (SHIP_PARCEL).
// When all of the money has gone back, REVERSE_EFFECTS takes back what was given, and an effect that comes to run later gives
// nothing. Each looks at the order under its lock, so either may come first.
package fulfilment

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
)

// The effects of a paid order.
const (
	IssueLicenses    operation.Type = "ISSUE_LICENSES"
	AccrueBonus      operation.Type = "ACCRUE_BONUS"
	SendNotification operation.Type = "SEND_NOTIFICATION"
	// ResendNotification is the receipt once more, because somebody asked for it. No order waits for it.
	ResendNotification operation.Type = "RESEND_NOTIFICATION"
)

// effect is a row of the table of what follows from a payment.
type effect struct {
	Type operation.Type
	key  string        // business key; %s is the order
	wait time.Duration // for an earlier effect; that one makes it due at once
}

// effects that every paid order has, once. The mail carries the licence keys, so it waits for them; the wait only matters if
// nobody calls.
var effects = []effect{ //nolint:gochecknoglobals // a table
	{Type: IssueLicenses, key: "license:issue:order:%s"},
	{Type: AccrueBonus, key: "bonus:accrue:order:%s"},
	{Type: SendNotification, key: "mail:order-paid:order:%s", wait: 30 * time.Second},
}

// Types lists the effect types in the order in which they are shown.
func Types() []operation.Type {
	types := make([]operation.Type, 0, len(effects)+1)
	for _, e := range effects {
		types = append(types, e.Type)
	}
	return append(types, ShipParcel)
}

// Plan inserts the effects of paid orders as operations, in one statement; those that exist stay as they are.
func Plan(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
	units, err := physicalUnits(ctx, tx, events)
	if err != nil {
		return err
	}
	plans := make([]operation.Plan, 0, len(events)*len(effects))
	for _, e := range events {
		for i := range parcelsOf(units[e.OrderID]) {
			plans = append(plans, operation.Plan{Type: ShipParcel, Key: parcelKey(e.OrderID, i+1, 1), OrderID: e.OrderID, Trace: e.Trace})
		}
		for _, f := range effects {
			plans = append(plans, operation.Plan{Type: f.Type, Key: fmt.Sprintf(f.key, e.OrderID), OrderID: e.OrderID, Trace: e.Trace, Delay: f.wait})
		}
	}
	b := &pgx.Batch{}
	operation.Enqueue(b, plans...)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("plan effects: %w", err)
	}
	return nil
}

// physicalUnits counts what has to be carried, by order; orders without such units are left out.
func physicalUnits(ctx context.Context, tx pgx.Tx, events []outbox.Event) (map[uuid.UUID]int, error) {
	ids := make([]uuid.UUID, len(events))
	for i, e := range events {
		ids[i] = e.OrderID
	}
	rows, err := tx.Query(ctx, `SELECT order_id, sum(quantity) FROM order_items WHERE order_id = ANY($1) AND kind = 'physical' GROUP BY order_id`, ids)
	if err != nil {
		return nil, fmt.Errorf("count physical units: %w", err)
	}
	units := map[uuid.UUID]int{}
	var id uuid.UUID
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		units[id] = n
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read physical units: %w", err)
	}
	return units, nil
}

// completing ends an effect in the transaction that made it: when it was the order's last, the order is FULFILLED. The
// order's lock makes effects that end together see each other. A mail that was given up holds nothing up.
func completing(ctx context.Context, tx pgx.Tx, op operation.Operation) error {
	var open bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM operations op WHERE order_id = $1 AND type = ANY($2) AND id <> $3 AND status <> 'COMPLETED'
		AND NOT (status = 'FAILED' AND type = $4) AND NOT `+Superseded+`)`,
		op.OrderID, Types(), op.ID, SendNotification).Scan(&open)
	if err != nil {
		return fmt.Errorf("look for open effects: %w", err)
	}
	if open {
		return nil
	}
	return order.MarkFulfilled(ctx, tx, op.OrderID.UUID)
}

// needless ends an effect that comes to run after all of the money went back: nothing is given, so nothing has to be taken back
// and nothing waits for it (the receipt waits for licences).
func needless(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.End, error) {
	return operation.Done("order", op.OrderID.UUID.String()), journal.Append(ctx, tx, journal.Entry{
		Kind: "effect.skipped", OperationID: op.ID, OrderID: op.OrderID.UUID, Detail: map[string]any{"type": op.Type, "order": order.Refunded},
	})
}

// wake makes an effect due that may be waiting for this one. The order is locked already, so an operation that somebody else
// has locked is left alone (lock order: operation, order): it is being worked on and looks itself.
func wake(ctx context.Context, tx pgx.Tx, orderID uuid.UUID, t operation.Type) error {
	_, err := tx.Exec(ctx, `UPDATE operations SET next_attempt_at = clock_timestamp() WHERE id = (SELECT id FROM operations
		WHERE order_id = $1 AND type = $2 AND status = 'PROCESSING' AND lease_expires_at IS NULL FOR UPDATE SKIP LOCKED)`, orderID, t)
	if err != nil {
		return fmt.Errorf("wake %s: %w", t, err)
	}
	return nil
}
