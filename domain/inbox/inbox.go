// Package inbox keeps what providers tell us, once, before anything is done about it.
//
//	POST /webhooks ─▶ RECEIVED ─▶ APPLIED      it moved something
//	                     │   ├──▶ NO_CHANGE    we knew it already
//	                     │   ├──▶ STALE        we know something later
//	                     │   ├──▶ IGNORED      nothing of ours depends on such events
//	                     │   └──▶ QUARANTINED  it contradicts what we know, or names nothing of ours for too long
//	                     └─ due again (its object isn't known yet)
//
// What the database decides: one_row_per_event counts repeated deliveries instead of storing them, and
// one_row_per_contradiction keeps another payload under a known ID apart, QUARANTINED from the start. The payload is stored
// as the verified bytes, so no content can harm its neighbours.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/crash"
	"onefold/domain/journal"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Status of an incoming event.
type Status string

// The states; see the package comment.
const (
	Received    Status = "RECEIVED"
	Applied     Status = "APPLIED"
	NoChange    Status = "NO_CHANGE"
	Stale       Status = "STALE"
	Ignored     Status = "IGNORED"
	Quarantined Status = "QUARANTINED"
)

// Event is an inbox row that waits to be applied.
type Event struct {
	ID       uuid.UUID
	Provider string
	EventID  string
	Type     string
	Payload  []byte
	Attempts int
	Trace    string
}

// Receipt says what became of a delivery.
type Receipt struct {
	ID         uuid.UUID
	Deliveries int  // including this one
	Conflict   bool // another payload came under a known event ID
}

// Receive stores an authentic, translated event. Repeats are counted; none of them is an error.
func Receive(ctx context.Context, db store.DB, providerName string, e provider.Event, payload []byte) (Receipt, error) {
	sum := sha256.Sum256(payload)
	hash := hex.EncodeToString(sum[:])
	var r Receipt
	var known string
	err := db.QueryRow(ctx, `WITH row AS (
			INSERT INTO incoming_events AS e (id, provider, event_id, event_type, object_id, payload, payload_hash, status, next_attempt_at, trace_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 'RECEIVED', now(), $8)
			ON CONFLICT (event_id, provider) WHERE contradicts IS NULL
			DO UPDATE SET deliveries = e.deliveries + (e.payload_hash = excluded.payload_hash)::int
			RETURNING id, deliveries, payload_hash
		), note AS (
			INSERT INTO journal (kind, trace_id, incoming_event_id, detail)
			SELECT CASE WHEN deliveries = 1 THEN 'inbox.received' ELSE 'inbox.repeated' END, $8, id,
				jsonb_build_object('delivery', deliveries, 'event_id', $3::text, 'type', $4::text)
			FROM row WHERE payload_hash = $7
		)
		SELECT id, deliveries, payload_hash FROM row`,
		uuid.Must(uuid.NewV7()), providerName, e.ID, e.Type, e.ObjectID, payload, hash, trace.ID(ctx)).
		Scan(&r.ID, &r.Deliveries, &known)
	if err != nil {
		return r, fmt.Errorf("store event: %w", err)
	}
	crash.Point(crash.AfterReceive, "")
	if known == hash {
		return r, nil
	}
	return contradiction(ctx, db, r.ID, providerName, e, payload, hash)
}

func contradiction(ctx context.Context, db store.DB, first uuid.UUID, providerName string, e provider.Event, payload []byte, hash string) (Receipt, error) {
	r := Receipt{Conflict: true}
	err := store.InTx(ctx, db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `INSERT INTO incoming_events AS e (id, provider, event_id, event_type, object_id, payload, payload_hash,
				contradicts, status, reason, processed_at, trace_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'QUARANTINED', 'other_payload_under_known_id', now(), $9)
			ON CONFLICT (event_id, provider, payload_hash) WHERE contradicts IS NOT NULL
			DO UPDATE SET deliveries = e.deliveries + 1 RETURNING id, deliveries`,
			uuid.Must(uuid.NewV7()), providerName, e.ID, e.Type, e.ObjectID, payload, hash, first, trace.ID(ctx)).
			Scan(&r.ID, &r.Deliveries)
		if err != nil {
			return fmt.Errorf("quarantine event: %w", err)
		}
		return journal.Append(ctx, tx, journal.Entry{
			Kind: "inbox.quarantined", EventID: r.ID,
			Detail: map[string]any{"reason": "other_payload_under_known_id", "event_id": e.ID, "delivery": r.Deliveries},
		})
	})
	return r, err
}

// Lock reads a RECEIVED event for applying; ok is false when somebody else has dealt with it.
func Lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (e Event, ok bool, err error) {
	err = tx.QueryRow(ctx, `SELECT id, provider, event_id, event_type, payload, attempts, trace_id FROM incoming_events
		WHERE id = $1 AND status = 'RECEIVED' FOR UPDATE`, id).
		Scan(&e.ID, &e.Provider, &e.EventID, &e.Type, &e.Payload, &e.Attempts, &e.Trace)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("lock event: %w", err)
	}
	return e, true, nil
}

// Verdict is what applying an event came to.
type Verdict struct {
	Status    Status
	Reason    string // for STALE, IGNORED, QUARANTINED
	PaymentID uuid.UUID
	OrderID   uuid.UUID
}

// Conclude closes an event with its verdict.
func Conclude(ctx context.Context, tx pgx.Tx, e Event, v Verdict) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE incoming_events SET status = $2, reason = nullif($3, ''), payment_id = $4, order_id = $5, attempts = attempts + 1,
		next_attempt_at = NULL, processed_at = now() WHERE id = $1`, e.ID, v.Status, v.Reason, nullable(v.PaymentID), nullable(v.OrderID))
	journal.Queue(ctx, b, journal.Entry{
		Kind: kinds[v.Status], EventID: e.ID, PaymentID: v.PaymentID, OrderID: v.OrderID,
		Detail: map[string]any{"event_id": e.EventID, "type": e.Type, "reason": v.Reason},
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("conclude event: %w", err)
	}
	return nil
}

var kinds = map[Status]string{ //nolint:gochecknoglobals // a table
	Received: "inbox.received", Applied: "inbox.applied", NoChange: "inbox.no_change", Stale: "inbox.stale", Ignored: "inbox.ignored",
	Quarantined: "inbox.quarantined",
}

func nullable(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: id != uuid.Nil} }

// Wait makes an event due again after pause: what it names isn't known here yet.
func Wait(ctx context.Context, tx pgx.Tx, e Event, pause time.Duration) error {
	if _, err := tx.Exec(ctx, `UPDATE incoming_events SET attempts = attempts + 1, reason = 'waiting_for_object',
		next_attempt_at = clock_timestamp() + $2::interval WHERE id = $1`, e.ID, pause); err != nil {
		return fmt.Errorf("make event wait: %w", err)
	}
	return nil
}

// Due is an event whose time has come.
type Due struct {
	ID    uuid.UUID
	Trace string
}

// TakeDue moves next_attempt_at of at most limit due events on by lease and returns them (see operation.TakeDue).
func TakeDue(ctx context.Context, tx pgx.Tx, lease time.Duration, limit int) ([]Due, error) {
	rows, err := tx.Query(ctx, `WITH due AS MATERIALIZED (
			SELECT id FROM incoming_events WHERE status = 'RECEIVED' AND next_attempt_at <= now()
			ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		UPDATE incoming_events e SET next_attempt_at = clock_timestamp() + $1::interval FROM due WHERE e.id = due.id
		RETURNING e.id, e.trace_id`, lease, limit)
	if err != nil {
		return nil, fmt.Errorf("take due events: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("read due events: %w", err)
	}
	return due, nil
}
