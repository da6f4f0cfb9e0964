package fulfilment

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// Carrier buys labels for parcels.
type Carrier struct{ Delivery provider.Delivery }

// Handler is what the executor calls.
func (c Carrier) Handler() operation.Handler { return operation.Handler{External: c.prepare} }

// prepare marks the parcel as being submitted and fixes the call's inputs from stored rows. After a full refund nothing more is
// sent: only what an earlier try may have left behind is looked for.
func (c Carrier) prepare(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.Call, operation.End, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	s, err := lockShipment(ctx, tx, `operation_id = $1`, op.ID)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && o.State == order.Refunded:
		end, err := needless(ctx, tx, op)
		return operation.Call{}, end, err
	case errors.Is(err, pgx.ErrNoRows):
		s, err = beginShipment(ctx, tx, op)
	}
	if err != nil {
		return operation.Call{}, operation.End{}, err
	}
	switch s.State {
	case ShipmentCreated:
		if err := s.move(ctx, tx, ShipmentSubmitting, shipmentChange{}); err != nil {
			return operation.Call{}, operation.End{}, err
		}
	case ShipmentSubmitting, ShipmentUnknown:
	case ShipmentSucceeded, ShipmentFailed:
		return operation.Call{}, s.end(), nil
	}
	call := c.call(s)
	if o.State == order.Refunded {
		call.Send, call.Absent = withheld, skip(op, s.ID)
	}
	return call, operation.End{}, nil
}

func (c Carrier) call(s shipment) operation.Call {
	in := provider.CreateShipment{Key: s.Key, Reference: s.ID.String(), Address: s.Address, Parcels: 1}
	return operation.Call{
		Lookup: func(ctx context.Context) (operation.Record, error) {
			found, err := c.Delivery.FindShipment(ctx, in.Reference)
			return recordLabel(s.ID, found, "lookup"), err
		},
		Send: func(ctx context.Context) (operation.Record, error) {
			made, err := c.Delivery.CreateShipment(ctx, in)
			if err != nil && provider.KindOf(err) == provider.Rejected {
				return recordNoLabel(s.ID, codeOf(err)), nil
			}
			return recordLabel(s.ID, made, "answer"), err
		},
		Absent: recordNoLabel(s.ID, "not_at_carrier"),
		Postponed: func(ctx context.Context, tx pgx.Tx, post operation.Postponement) error {
			if !post.AnyTry {
				return nil
			}
			return markShipmentUnknown(ctx, tx, s.ID)
		},
	}
}

// withheld stands for the call that a refunded order's parcel no longer makes. It proves nothing about earlier ones.
func withheld(context.Context) (operation.Record, error) {
	return nil, provider.Errorf(provider.NotFound, "the money went back; nothing more is sent")
}

// skip ends the parcel of a refunded order once it is known that no label was bought.
func skip(op operation.Operation, id uuid.UUID) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		if _, err := recordNoLabel(id, "order_refunded")(ctx, tx); err != nil {
			return operation.End{}, err
		}
		return needless(ctx, tx, op)
	}
}

// recordLabel stores what an answer or lookup says. A contradiction leaves the outcome unknown to us: a person has to look.
func recordLabel(id uuid.UUID, said provider.Shipment, source string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		l, err := learnLabel(ctx, tx, id, said, source)
		if err != nil || l.contradiction == "" {
			return l.shipment.end(), err
		}
		if l.shipment.State.CanMove(ShipmentUnknown) {
			err = l.shipment.move(ctx, tx, ShipmentUnknown, shipmentChange{source: source})
		}
		return operation.End{Status: operation.Failed, FailureCode: l.contradiction, ResourceType: "shipment", ResourceID: id.String()}, err
	}
}

// recordNoLabel ends an attempt of which it is known that it bought no label.
func recordNoLabel(id uuid.UUID, code string) operation.Record {
	return func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		s, err := lockWithOrder(ctx, tx, id)
		if err == nil && s.State.CanMove(ShipmentFailed) {
			err = s.move(ctx, tx, ShipmentFailed, shipmentChange{failure: code, source: "answer"})
		}
		if err == nil {
			err = wake(ctx, tx, s.OrderID, SendNotification)
		}
		return s.end(), err
	}
}

func markShipmentUnknown(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	s, err := lockWithOrder(ctx, tx, id)
	if err != nil || !s.State.CanMove(ShipmentUnknown) {
		return err
	}
	return s.move(ctx, tx, ShipmentUnknown, shipmentChange{})
}

// lockWithOrder locks a shipment's order, then the shipment (lock order: operation, order, the rest).
func lockWithOrder(ctx context.Context, tx pgx.Tx, id uuid.UUID) (shipment, error) {
	var orderID uuid.UUID
	if err := tx.QueryRow(ctx, `SELECT order_id FROM shipments WHERE id = $1`, id).Scan(&orderID); err != nil {
		return shipment{}, fmt.Errorf("find shipment's order: %w", err)
	}
	if _, err := order.Lock(ctx, tx, orderID); err != nil {
		return shipment{}, err
	}
	return lockShipment(ctx, tx, `id = $1`, id)
}

// codeOf is the carrier's own word for a refusal.
func codeOf(err error) string {
	var e *provider.Error
	if errors.As(err, &e) && e.Code != "" {
		return e.Code
	}
	return "rejected"
}
