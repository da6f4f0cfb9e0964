package fulfilment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/provider"
)

// ShipParcel is the type of the external operation that buys one parcel's label from the carrier.
const ShipParcel operation.Type = "SHIP_PARCEL"

// unitsPerParcel is how many physical units go into one parcel.
const unitsPerParcel = 10

// parcelsOf is how many parcels an order's physical units make.
func parcelsOf(units int) int { return (units + unitsPerParcel - 1) / unitsPerParcel }

// parcelKey is the business key of an attempt at a parcel and the carrier's idempotency key. Parcels and attempts count from 1.
func parcelKey(orderID uuid.UUID, parcel, attempt int) string {
	key := fmt.Sprintf("delivery:create:order:%s:%d", orderID, parcel)
	if attempt > 1 {
		key += ":" + strconv.Itoa(attempt)
	}
	return key
}

// parcelOf reads a key made by parcelKey.
func parcelOf(op operation.Operation) (parcel, attempt int, err error) {
	attempt = 1
	parts := strings.Split(strings.TrimPrefix(op.Key, "delivery:create:order:"+op.OrderID.UUID.String()+":"), ":")
	if parcel, err = strconv.Atoi(parts[0]); err == nil && len(parts) > 1 {
		attempt, err = strconv.Atoi(parts[1])
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read key of parcel: %w", err)
	}
	return parcel, attempt, nil
}

// Superseded is the SQL condition on operations op that a later attempt at the same parcel took its place, or another mail the
// place of a receipt that couldn't be sent. It asks for one row at a time: planned as NOT EXISTS, it would read all shipments first.
const Superseded = `(op.status = 'FAILED' AND CASE op.type
	WHEN 'SHIP_PARCEL' THEN (SELECT s.id FROM shipments s WHERE s.operation_id = op.id) IS NULL
	WHEN 'SEND_NOTIFICATION' THEN EXISTS (SELECT FROM notifications n WHERE n.order_id = op.order_id AND n.sent_at IS NOT NULL)
	ELSE false END)`

// ShipmentState of a parcel.
type ShipmentState string

// The states, with who moves next.
const (
	ShipmentCreated    ShipmentState = "CREATED"    // the executor
	ShipmentSubmitting ShipmentState = "SUBMITTING" // the executor: a call may be on its way
	ShipmentUnknown    ShipmentState = "UNKNOWN"    // the executor asks until it is known; age never ends it
	ShipmentSucceeded  ShipmentState = "SUCCEEDED"  // the carrier: the label is bought
	ShipmentFailed     ShipmentState = "FAILED"     // an operator: certainly no label; Correct starts another attempt
)

// ShipmentStates lists all states in the order of the schema's CHECK.
func ShipmentStates() []ShipmentState {
	return []ShipmentState{ShipmentCreated, ShipmentSubmitting, ShipmentUnknown, ShipmentSucceeded, ShipmentFailed}
}

var nextShipment = map[ShipmentState][]ShipmentState{ //nolint:gochecknoglobals // the machine of one attempt as a table
	ShipmentCreated:    {ShipmentSubmitting},
	ShipmentSubmitting: {ShipmentUnknown, ShipmentSucceeded, ShipmentFailed},
	ShipmentUnknown:    {ShipmentSucceeded, ShipmentFailed},
	ShipmentSucceeded:  nil,
	ShipmentFailed:     nil,
}

// CanMove reports a legal move within an attempt. Staying is not a move.
func (s ShipmentState) CanMove(to ShipmentState) bool { return slices.Contains(nextShipment[s], to) }

// shipment is the part of a row that moves depend on.
type shipment struct {
	ID          uuid.UUID
	OrderID     uuid.UUID
	Parcel      int
	Attempt     int
	OperationID operation.ID
	State       ShipmentState
	Address     provider.Address
	Key         string // the carrier's idempotency key
	ProviderID  string // the carrier's ID; "" until known
	Delivered   bool
}

// lockShipment reads one shipment for a move. Its order must be locked already.
func lockShipment(ctx context.Context, tx pgx.Tx, where string, arg any) (s shipment, err error) {
	err = tx.QueryRow(ctx, `SELECT id, order_id, parcel, attempt, operation_id, status, coalesce(address, '{}'), provider_key,
		coalesce(provider_shipment_id, ''), delivered_at IS NOT NULL FROM shipments WHERE `+where+` FOR UPDATE`, arg).
		Scan(&s.ID, &s.OrderID, &s.Parcel, &s.Attempt, &s.OperationID, &s.State, &s.Address, &s.Key, &s.ProviderID, &s.Delivered)
	if err != nil {
		return s, fmt.Errorf("lock shipment: %w", err)
	}
	return s, nil
}

// beginShipment makes the row of a parcel, or the next attempt in the row of one that certainly failed.
func beginShipment(ctx context.Context, tx pgx.Tx, op operation.Operation) (shipment, error) {
	parcel, attempt, err := parcelOf(op)
	if err != nil {
		return shipment{}, err
	}
	tag, err := tx.Exec(ctx, `INSERT INTO shipments AS s (id, order_id, parcel, attempt, operation_id, status, address, provider_key)
		SELECT $1, id, $3, $4, $5, 'CREATED', delivery -> 'address', $6 FROM orders WHERE id = $2
		ON CONFLICT (order_id, parcel) DO UPDATE SET attempt = excluded.attempt, operation_id = excluded.operation_id, status = 'CREATED',
			address = excluded.address, provider_key = excluded.provider_key, failure_code = NULL, updated_at = now()
		WHERE s.status = 'FAILED' AND s.attempt < excluded.attempt`, uuid.Must(uuid.NewV7()), op.OrderID, parcel, attempt, op.ID, op.Key)
	if err != nil {
		return shipment{}, fmt.Errorf("store shipment: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return shipment{}, fmt.Errorf("parcel %d of order %s has another attempt", parcel, op.OrderID.UUID)
	}
	s, err := lockShipment(ctx, tx, `operation_id = $1`, op.ID)
	if err != nil {
		return s, err
	}
	return s, journal.Append(ctx, tx, s.entry(ShipmentCreated, map[string]any{"attempt": attempt}))
}

// shipmentChange holds what a move stores besides the state; empty fields stay as they are.
type shipmentChange struct{ providerID, tracking, failure, source string }

// move is one conditional UPDATE with its journal row. The caller holds the row's lock and has asked CanMove.
func (s *shipment) move(ctx context.Context, tx pgx.Tx, to ShipmentState, c shipmentChange) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE shipments SET status = $3, updated_at = now(), provider_shipment_id = coalesce(provider_shipment_id, nullif($4, '')),
		tracking = coalesce(nullif($5, ''), tracking), failure_code = nullif($6, '') WHERE id = $1 AND status = $2`,
		s.ID, s.State, to, c.providerID, c.tracking, c.failure)
	journal.Queue(ctx, b, s.entry(to, map[string]any{
		"from": s.State, "to": to, "source": c.source, "provider_shipment_id": c.providerID, "tracking": c.tracking, "failure": c.failure,
	}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("move shipment to %s: %w", to, err)
	}
	s.State = to
	return nil
}

// hand notes that the parcel reached its recipient.
func (s *shipment) hand(ctx context.Context, tx pgx.Tx) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE shipments SET delivered_at = now(), updated_at = now() WHERE id = $1 AND delivered_at IS NULL`, s.ID)
	journal.Queue(ctx, b, s.entry("DELIVERED", map[string]any{}))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("note delivery: %w", err)
	}
	s.Delivered = true
	return nil
}

func (s *shipment) entry(what ShipmentState, detail map[string]any) journal.Entry {
	detail["shipment"], detail["parcel"] = s.ID, s.Parcel
	return journal.Entry{Kind: "shipment." + strings.ToLower(string(what)), OperationID: s.OperationID, OrderID: s.OrderID, Detail: detail}
}

func (s *shipment) operation() operation.Operation {
	return operation.Operation{ID: s.OperationID, OrderID: uuid.NullUUID{UUID: s.OrderID, Valid: true}}
}

// end is how the operation of a final attempt ends.
func (s *shipment) end() operation.End {
	end := operation.Done("shipment", s.ID.String())
	if s.State == ShipmentFailed {
		end.Status, end.FailureCode = operation.Failed, "SHIPMENT_FAILED"
	}
	return end
}
