package seed

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// table is one that history is written to, in an order in which references point backwards.
type table int

const (
	users table = iota
	carts
	cartItems
	operations
	orders
	orderItems
	payments
	refunds
	incomingEvents
	outboxEvents
	licenses
	shipments
	bonusEntries
	notifications
	journal
	tables // how many there are
)

// layout names the columns in the order in which rows hold their values.
var layout = [tables]struct { //nolint:gochecknoglobals // a table
	name    string
	columns []string
}{
	users:     {"users", []string{"id", "email", "role", "created_at"}},
	carts:     {"carts", []string{"id", "user_id", "status", "checkout_key", "created_at", "updated_at"}},
	cartItems: {"cart_items", []string{"cart_id", "product_id", "quantity"}},
	operations: {"operations", []string{
		"id", "user_id", "type", "target", "key", "request_hash", "status", "order_id", "attempt", "sent_at", "looks", "next_attempt_at", "resource_type",
		"resource_id", "response_code", "response_body", "failure_code", "last_error", "trace_id", "created_at", "completed_at", "expires_at",
	}},
	orders: {"orders", []string{
		"id", "user_id", "cart_id", "operation_id", "status", "needs_review", "review_reason", "email", "customer_name", "locale", "delivery", "currency",
		"subtotal_minor", "total_minor", "created_at", "paid_at", "fulfilled_at", "closed_at", "closed_by", "expiry_planned_at", "outbox_removed",
	}},
	orderItems: {"order_items", []string{"id", "order_id", "product_id", "kind", "name", "quantity", "price_minor"}},
	payments: {"payments", []string{
		"id", "order_id", "attempt", "operation_id", "requested_by", "status", "amount_minor", "refunded_minor", "currency", "provider", "provider_key",
		"provider_payment_id", "confirmation_url", "failure_code", "created_at", "updated_at", "succeeded_at", "orphaned_at",
	}},
	refunds: {"refunds", []string{
		"id", "order_id", "payment_id", "operation_id", "requested_by", "status", "amount_minor", "currency", "reason", "provider", "provider_key",
		"provider_refund_id", "created_at", "updated_at",
	}},
	incomingEvents: {"incoming_events", []string{
		"id", "provider", "event_id", "event_type", "object_id", "payload", "payload_hash", "contradicts", "status", "reason", "deliveries", "attempts",
		"payment_id", "order_id", "trace_id", "received_at", "processed_at",
	}},
	outboxEvents: {"outbox_events", []string{
		"id", "dedupe_key", "event_type", "order_id", "trace_id", "created_at", "attempts", "next_attempt_at", "dispatched_at", "parked_at", "last_error",
	}},
	licenses: {"licenses", []string{"order_item_id", "unit", "order_id", "license_key", "issued_at", "revoked_at"}},
	shipments: {"shipments", []string{
		"id", "order_id", "parcel", "operation_id", "status", "address", "provider_key", "provider_shipment_id", "tracking", "failure_code", "created_at",
		"updated_at", "delivered_at",
	}},
	bonusEntries:  {"bonus_entries", []string{"order_id", "kind", "user_id", "points", "created_at"}},
	notifications: {"notifications", []string{"dedupe_key", "order_id", "kind", "recipient", "message_id", "sends", "sent_at", "created_at", "given_up_at"}},
	journal: {"journal", []string{
		"at", "kind", "trace_id", "operation_id", "order_id", "payment_id", "incoming_event_id", "outbox_event_id", "detail",
	}},
}

// rows are what a stretch of history comes to, by table.
type rows [tables][][]any

func (r *rows) add(t table, values ...any) { r[t] = append(r[t], values) }

// id is NULL for uuid.Nil.
func id(u uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: u != uuid.Nil} }

// text is NULL for "".
func text(s string) pgtype.Text { return pgtype.Text{String: s, Valid: s != ""} }

// moment is NULL for the zero time.
func moment(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}
