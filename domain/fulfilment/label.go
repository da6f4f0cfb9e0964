package fulfilment

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// lesson says what learning came to.
type lesson struct {
	shipment      shipment
	moved         bool
	contradiction string // "" or the name of the fact that differs
}

// learnLabel is the one way in which anything said by the carrier (an answer, a lookup, an event) changes a parcel of ours. The
// label makes the receipt due, and the order FULFILLED if nothing else is missing.
func learnLabel(ctx context.Context, tx pgx.Tx, id uuid.UUID, said provider.Shipment, source string) (lesson, error) {
	s, err := lockWithOrder(ctx, tx, id)
	if err != nil {
		return lesson{}, err
	}
	if fact := contradictsLabel(s, said); fact != "" {
		return lesson{shipment: s, contradiction: fact}, order.Flag(ctx, tx, s.OrderID, uuid.Nil, fact)
	}
	moved := false
	if s.State.CanMove(ShipmentSucceeded) {
		moved = true
		if err := s.move(ctx, tx, ShipmentSucceeded, shipmentChange{providerID: said.ID, tracking: said.Tracking, source: source}); err != nil {
			return lesson{}, err
		}
		if err := wake(ctx, tx, s.OrderID, SendNotification); err != nil {
			return lesson{}, err
		}
		if err := completing(ctx, tx, s.operation()); err != nil {
			return lesson{}, err
		}
	}
	if said.Delivered && !s.Delivered {
		moved = true
		err = s.hand(ctx, tx)
	}
	return lesson{shipment: s, moved: moved}, err
}

// contradictsLabel names the first fact that differs from ours; "" means that all agree. A label of an attempt that had certainly
// failed is bought and may travel: the state stays, a person has to look.
func contradictsLabel(s shipment, said provider.Shipment) string {
	switch {
	case said.Reference != s.ID.String():
		return "reference_mismatch"
	case s.ProviderID != "" && said.ID != s.ProviderID:
		return "second_label"
	case s.State == ShipmentFailed:
		return "label_after_failed"
	}
	return ""
}

// ApplyShipment judges an event about a parcel. early says what is missing here yet: the event comes again.
func ApplyShipment(ctx context.Context, tx pgx.Tx, said provider.Shipment) (v inbox.Verdict, early string, err error) {
	var id uuid.UUID
	var operationID operation.ID
	reference, _ := uuid.Parse(said.Reference) // uuid.Nil matches nothing
	err = tx.QueryRow(ctx, `SELECT id, operation_id FROM shipments WHERE provider_shipment_id = $1 OR id = $2
		ORDER BY (provider_shipment_id = $1) IS TRUE DESC LIMIT 1`, said.ID, reference).Scan(&id, &operationID)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, "unknown_object", nil
	}
	if err != nil {
		return v, "", fmt.Errorf("find shipment of event: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT FROM operations WHERE id = $1 FOR UPDATE`, operationID); err != nil {
		return v, "", fmt.Errorf("lock shipment's operation: %w", err)
	}
	l, err := learnLabel(ctx, tx, id, said, "event")
	if err != nil {
		return v, "", err
	}
	v = inbox.Verdict{Status: inbox.NoChange, OrderID: l.shipment.OrderID}
	switch {
	case l.contradiction != "":
		v.Status, v.Reason = inbox.Quarantined, l.contradiction
	case l.moved:
		v.Status = inbox.Applied
		err = operation.Settle(ctx, tx, l.shipment.operation(), l.shipment.end())
	}
	return v, "", err
}
