// Package fulfilment gives a paid order what was bought: each effect is a system operation of its own with a business key, and
// a row whose UNIQUE key allows it once. The last effect makes the order FULFILLED.
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
)

// effect is a row of the table of what follows from a payment.
type effect struct {
	Type operation.Type
	key  string        // business key; %s is the order
	wait time.Duration // for an earlier effect; that one makes it due at once
}

// effects of a paid order. The mail carries the licence keys, so it waits for them; the wait only matters if nobody calls.
var effects = []effect{ //nolint:gochecknoglobals // a table
	{Type: IssueLicenses, key: "license:issue:order:%s"},
	{Type: AccrueBonus, key: "bonus:accrue:order:%s"},
	{Type: SendNotification, key: "mail:order-paid:order:%s", wait: 30 * time.Second},
}

// Types lists the effect types in the order in which they are shown.
func Types() []operation.Type {
	types := make([]operation.Type, len(effects))
	for i, e := range effects {
		types[i] = e.Type
	}
	return types
}

// Plan inserts the effects of paid orders as operations, in one statement; those that exist stay as they are.
func Plan(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
	plans := make([]operation.Plan, 0, len(events)*len(effects))
	for _, e := range events {
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

// completing ends an effect in the transaction that made it: when it was the order's last, the order is FULFILLED. The
// order's lock makes effects that end together see each other.
func completing(ctx context.Context, tx pgx.Tx, op operation.Operation) error {
	var open bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM operations WHERE order_id = $1 AND type = ANY($2) AND id <> $3 AND status <> 'COMPLETED')`,
		op.OrderID, Types(), op.ID).Scan(&open)
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
