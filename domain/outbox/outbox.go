// Package outbox keeps facts that happened here and must have consequences.
//
//	appended (in the transaction of the fact) ─▶ due ─▶ dispatched
//	                                              └────▶ parked (given up; listed in the console until settled)
//
// What the database decides: one_event_per_fact makes a fact's event unique from whichever path it was learned, and
// next_attempt_at with SKIP LOCKED lets any number of relays share the work without an order of sequence numbers, so a row
// that commits late is never skipped.
package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/trace"
)

// Type of an event.
type Type string

// The events. What follows from each is one table: jobs/events.go.
const (
	OrderPlaced   Type = "ORDER_PLACED"
	OrderPaid     Type = "ORDER_PAID"
	OrderRefunded Type = "ORDER_REFUNDED" // all of its money went back
)

// Event is a due event.
type Event struct {
	ID       uuid.UUID
	Type     Type
	OrderID  uuid.UUID
	Trace    string
	Attempts int // dispatches that failed so far
}

// Queue appends an event to a batch. dedupe names the fact, e.g. "order.paid:<id>"; a known one stays as it is.
// It returns the event's ID, for the journal.
func Queue(ctx context.Context, b *pgx.Batch, t Type, dedupe string, orderID uuid.UUID) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	b.Queue(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT ON CONSTRAINT one_event_per_fact DO NOTHING`, id, dedupe, t, orderID, trace.ID(ctx))
	return id
}

// TakeDue locks at most limit due events for this transaction, oldest first.
func TakeDue(ctx context.Context, tx pgx.Tx, limit int) ([]Event, error) {
	rows, err := tx.Query(ctx, `SELECT id, event_type, order_id, trace_id, attempts FROM outbox_events
		WHERE dispatched_at IS NULL AND parked_at IS NULL AND next_attempt_at <= now()
		ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED`, limit)
	if err != nil {
		return nil, fmt.Errorf("take due events: %w", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("read due events: %w", err)
	}
	return events, nil
}

// Dispatched marks events whose consequences are written in the same transaction.
func Dispatched(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) error {
	if _, err := tx.Exec(ctx, `UPDATE outbox_events SET dispatched_at = clock_timestamp() WHERE id = ANY($1)`, ids); err != nil {
		return fmt.Errorf("mark events dispatched: %w", err)
	}
	return nil
}

const maxAttempts = 8

// Failed notes that an event could not be dispatched: it is due again later, or parked after eight tries so that it can't
// hold up the rest and can't be overlooked either.
func Failed(ctx context.Context, tx pgx.Tx, e Event, cause error, wait time.Duration) error {
	var parked bool
	err := tx.QueryRow(ctx, `UPDATE outbox_events SET attempts = attempts + 1, last_error = $2,
		next_attempt_at = clock_timestamp() + $3::interval,
		parked_at = CASE WHEN attempts + 1 >= $4 THEN clock_timestamp() END WHERE id = $1 RETURNING parked_at IS NOT NULL`,
		e.ID, cause.Error(), wait, maxAttempts).Scan(&parked)
	if err != nil {
		return fmt.Errorf("mark event failed: %w", err)
	}
	if !parked {
		return nil
	}
	return journal.Append(trace.Resume(ctx, e.Trace), tx, journal.Entry{
		Kind: "outbox.parked", OutboxID: e.ID, OrderID: e.OrderID, Detail: map[string]any{"type": e.Type, "error": cause.Error()},
	})
}
