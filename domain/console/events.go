package console

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/inbox"
	"onefold/domain/store"
)

// IncomingEvent is an inbox row as operators see it, without its payload.
type IncomingEvent struct {
	ID            uuid.UUID
	Provider      string
	EventID       string // the provider's
	Type          string // the provider's own word
	ObjectID      string // the provider's ID of what it is about
	Status        inbox.Status
	Reason        string
	Contradicts   uuid.NullUUID // the row whose event ID came again with another payload
	Deliveries    int
	Attempts      int
	PaymentID     uuid.NullUUID
	OrderID       uuid.NullUUID
	OrderNumber   *int64
	TraceID       string
	ReceivedAt    time.Time
	NextAttemptAt *time.Time // nil once it is dealt with
	ProcessedAt   *time.Time
	ProviderAt    *time.Time `db:"-"` // the provider's own time of it; only an intent that was heard has it
}

func (e IncomingEvent) place() (time.Time, uuid.UUID) { return e.ReceivedAt, e.ID }

const eventColumns = `e.id, e.provider, e.event_id, e.event_type, e.object_id, e.status, coalesce(e.reason, ''), e.contradicts, e.deliveries, e.attempts,
	e.payment_id, e.order_id, o.number, e.trace_id, e.received_at, e.next_attempt_at, e.processed_at`

const eventRows = `incoming_events e LEFT JOIN orders o ON o.id = e.order_id`

// IncomingEvents lists what came from outside, newest first. Query.State is an inbox status, Query.Type any provider's word,
// Query.Provider one of Providers.
func IncomingEvents(ctx context.Context, q store.Querier, query Query) (Page[IncomingEvent], error) {
	return read(ctx, q, list{
		columns: eventColumns, from: eventRows, at: "e.received_at", id: "e.id",
		states: literally("e.status", EventStates()), typeIs: "e.event_type", providers: "e.provider",
	}, query, pgx.RowToStructByPos[IncomingEvent])
}

// OutboxEvent is a fact with consequences as operators see it.
type OutboxEvent struct {
	ID            uuid.UUID
	DedupeKey     string // names the fact
	Type          string
	OrderID       uuid.UUID
	OrderNumber   *int64
	State         string // one of OutboxStates
	TraceID       string
	Attempts      int // dispatches that failed
	LastError     string
	CreatedAt     time.Time
	NextAttemptAt time.Time
	DispatchedAt  *time.Time
	ParkedAt      *time.Time
}

func (e OutboxEvent) place() (time.Time, uuid.UUID) { return e.CreatedAt, e.ID }

const outboxColumns = `x.id, x.dedupe_key, x.event_type, x.order_id, o.number,
	CASE WHEN x.dispatched_at IS NOT NULL THEN 'DISPATCHED' WHEN x.parked_at IS NOT NULL THEN 'PARKED' ELSE 'WAITING' END,
	x.trace_id, x.attempts, coalesce(x.last_error, ''), x.created_at, x.next_attempt_at, x.dispatched_at, x.parked_at`

const outboxRows = `outbox_events x LEFT JOIN orders o ON o.id = x.order_id`

func scanOutboxEvent(row pgx.CollectableRow) (OutboxEvent, error) {
	e, err := pgx.RowToStructByPos[OutboxEvent](row)
	e.LastError = maskText(e.LastError)
	return e, err
}

// OutboxEvents lists what happened here, newest first. Query.State is one of OutboxStates, Query.Type one of OutboxTypes.
func OutboxEvents(ctx context.Context, q store.Querier, query Query) (Page[OutboxEvent], error) {
	return read(ctx, q, list{
		columns: outboxColumns, from: outboxRows, at: "x.created_at", id: "x.id",
		states: map[string]string{
			outboxWaiting: "x.dispatched_at IS NULL AND x.parked_at IS NULL", outboxDispatched: "x.dispatched_at IS NOT NULL",
			outboxParked: "x.parked_at IS NOT NULL",
		},
		types: OutboxTypes(), typeIs: "x.event_type",
	}, query, scanOutboxEvent)
}
