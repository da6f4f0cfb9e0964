package fulfilment

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Correct stores another address of an order and starts one new attempt, under a new key, at each of its parcels of which it is
// certain that no label was bought. Parcels whose outcome isn't known are left alone: they go on asking with what they sent. Until
// the new attempt runs, correcting again only changes the address.
//
// Errors: NOT_FOUND, VALIDATION_FAILED, ORDER_STATE (the money went back, or no parcel has failed).
func Correct(ctx context.Context, db store.DB, orderID uuid.UUID, address provider.Address) error {
	var broken []fault.Field
	address = order.NormalAddress(address, func(field, rule, message string) {
		broken = append(broken, fault.Field{Field: field, Rule: rule, Message: message})
	})
	if len(broken) > 0 {
		return fault.Validation(broken...)
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		o, err := order.Lock(ctx, tx, orderID)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.Missing("order")
		}
		if err != nil {
			return err
		}
		failed, err := failedParcels(ctx, tx, o.ID)
		if err != nil {
			return err
		}
		if o.State == order.Refunded || len(failed) == 0 {
			return fault.New(fault.Conflict, "ORDER_STATE", "This order is "+string(o.State)+" and has no parcel that needs another address.")
		}
		b := &pgx.Batch{}
		b.Queue(`UPDATE orders SET delivery = jsonb_set(delivery, '{address}', $2) WHERE id = $1`, o.ID, address)
		for i := range failed {
			failed[i].Trace = trace.ID(ctx)
		}
		operation.Enqueue(b, failed...)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return fmt.Errorf("correct address: %w", err)
		}
		return nil
	})
}

// failedParcels plans the next attempts at the parcels of a locked order that certainly failed.
func failedParcels(ctx context.Context, tx pgx.Tx, orderID uuid.UUID) ([]operation.Plan, error) {
	rows, err := tx.Query(ctx, `SELECT parcel, attempt FROM shipments WHERE order_id = $1 AND status = 'FAILED' ORDER BY parcel`, orderID)
	if err != nil {
		return nil, fmt.Errorf("list failed parcels: %w", err)
	}
	plans, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (operation.Plan, error) {
		var parcel, attempt int
		err := row.Scan(&parcel, &attempt)
		return operation.Plan{Type: ShipParcel, Key: parcelKey(orderID, parcel, attempt+1), OrderID: orderID}, err
	})
	if err != nil {
		return nil, fmt.Errorf("read failed parcels: %w", err)
	}
	return plans, nil
}
