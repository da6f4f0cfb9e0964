package fulfilment

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
)

// ReverseEffects is the type of the system operation that takes back what a refunded order was given: its licences are revoked
// and its bonus is reversed. A partial refund takes nothing back; what was mailed stays mailed.
const ReverseEffects operation.Type = "REVERSE_EFFECTS"

// PlanReversal inserts the reversal of each refunded order.
func PlanReversal(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
	plans := make([]operation.Plan, len(events))
	for i, e := range events {
		plans[i] = operation.Plan{Type: ReverseEffects, Key: "effects:reverse:order:" + e.OrderID.String(), OrderID: e.OrderID, Trace: e.Trace}
	}
	b := &pgx.Batch{}
	operation.Enqueue(b, plans...)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("plan reversal: %w", err)
	}
	return nil
}

// Reversal takes back what a refunded order was given.
func Reversal() operation.Handler { return operation.Handler{Local: reverse} }

func reverse(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.End, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return operation.End{}, err
	}
	revoked, err := tx.Exec(ctx, `UPDATE licenses SET revoked_at = now() WHERE order_id = $1 AND revoked_at IS NULL`, o.ID)
	if err != nil {
		return operation.End{}, fmt.Errorf("revoke licences: %w", err)
	}
	var notes []journal.Entry
	if n := revoked.RowsAffected(); n > 0 {
		notes = append(notes, journal.Entry{Kind: "license.revoked", OperationID: op.ID, OrderID: o.ID, Detail: map[string]any{"units": n}})
	}
	var points int64
	err = tx.QueryRow(ctx, `INSERT INTO bonus_entries (order_id, kind, user_id, points)
		SELECT order_id, 'REVERSAL', user_id, -points FROM bonus_entries WHERE order_id = $1 AND kind = 'ACCRUAL'
		ON CONFLICT (order_id, kind) DO NOTHING RETURNING points`, o.ID).Scan(&points)
	switch {
	case err == nil:
		notes = append(notes, journal.Entry{Kind: "bonus.reversed", OperationID: op.ID, OrderID: o.ID, Detail: map[string]any{"points": points}})
	case !errors.Is(err, pgx.ErrNoRows): // none: there was no accrual, and there will be none
		return operation.End{}, fmt.Errorf("reverse bonus: %w", err)
	}
	return operation.Done("order", o.ID.String()), journal.Append(ctx, tx, notes...)
}
