package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Hit is an intent that carries what was searched for. If OrderID is set the intent is that order, else OperationID; an event
// that belongs to nothing of ours has EventID alone.
type Hit struct {
	Kind        string // what carried it: see Kinds
	Label       string // an order's number, an operation's or event's type
	Entity      string // whose state State is: order, operation, inbox
	State       string
	OrderID     uuid.NullUUID
	OperationID uuid.NullUUID
	EventID     uuid.NullUUID
}

// MaxHits of one kind are shown.
const MaxHits = 20

// Resolve finds the intents that a pasted text belongs to: an order's ID or number, an operation, an idempotency or business
// key, a payment or the provider's ID of one, a refund, a shipment or its tracking number, an event's ID (ours or the provider's), a
// trace, a job, an enquiry, a basket, a licence key or a customer's mail address. White space, quotes, a label or a URL around it
// don't matter, and it may be somewhere in a line of a log. One intent is one hit, however many ways lead to it; nothing found is
// no error.
func Resolve(ctx context.Context, q store.Querier, text string) ([]Hit, error) {
	for _, candidate := range candidates(text) {
		hits, err := resolve(ctx, q, candidate)
		if err != nil || len(hits) > 0 {
			return hits, err
		}
	}
	return nil, nil
}

func resolve(ctx context.Context, q store.Querier, text string) ([]Hit, error) {
	hits, err := search(ctx, q, text)
	if err != nil {
		return nil, err
	}
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		byJob, err := searchJob(ctx, q, id)
		if err != nil {
			return nil, err
		}
		hits = append(hits, byJob...)
	}
	return distinct(hits), nil
}

// hitSQL gives each source row its label and state: the order's if it has one.
const hitSQL = `SELECT coalesce(o.number::text, op.type, e.event_type, ''),
	CASE WHEN o.id IS NOT NULL THEN 'order' WHEN op.id IS NOT NULL THEN 'operation' WHEN e.id IS NOT NULL THEN 'inbox' ELSE '' END,
	coalesce(o.status, op.status, e.status, ''), s.order_id, s.operation_id, s.event_id
	FROM (%s) AS s(order_id, operation_id, event_id) LEFT JOIN orders o ON o.id = s.order_id
	LEFT JOIN operations op ON op.id = s.operation_id LEFT JOIN incoming_events e ON e.id = s.event_id
	ORDER BY coalesce(o.created_at, op.created_at, e.received_at) DESC LIMIT %d`

func search(ctx context.Context, q store.Querier, text string) ([]Hit, error) {
	b := &pgx.Batch{}
	var hits []Hit
	for _, f := range finders {
		arg, ok := f.takes(text)
		if !ok {
			continue
		}
		b.Queue(fmt.Sprintf(hitSQL, f.sql, MaxHits*5), arg).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Hit, error) {
				h := Hit{Kind: f.kind}
				err := row.Scan(&h.Label, &h.Entity, &h.State, &h.OrderID, &h.OperationID, &h.EventID)
				return h, reading("hit", err)
			})
			hits = append(hits, found...)
			return reading("hits", err)
		})
	}
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("search %q: %w", text, err)
	}
	return hits, nil
}

// searchJob asks River's own table, if it is there: a job that hasn't worked yet has no journal row.
func searchJob(ctx context.Context, q store.Querier, id int64) ([]Hit, error) {
	var there bool
	if err := q.QueryRow(ctx, `SELECT to_regclass('river_job') IS NOT NULL`).Scan(&there); err != nil || !there {
		return nil, reading("catalogue", err)
	}
	var raw []byte
	err := q.QueryRow(ctx, `SELECT args FROM river_job WHERE id = $1`, id).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	var args struct {
		Operation string `json:"operation_id"`
		Event     string `json:"incoming_event_id"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, nil //nolint:nilerr // a job of another kind points at nothing of ours
	}
	for _, row := range []string{args.Operation, args.Event} {
		if _, ok := isUUID(row); !ok {
			continue
		}
		hits, err := search(ctx, q, row)
		for i := range hits {
			hits[i].Kind = "job"
		}
		return hits, err
	}
	return nil, nil
}

// distinct keeps the first hit of each intent, and of each kind no more than MaxHits.
func distinct(hits []Hit) []Hit {
	seen, kinds := map[uuid.UUID]bool{}, map[string]int{}
	var out []Hit
	for _, h := range hits {
		id := h.intent()
		if seen[id] || kinds[h.Kind] == MaxHits {
			continue
		}
		seen[id] = true
		kinds[h.Kind]++
		out = append(out, h)
	}
	return out
}

func (h Hit) intent() uuid.UUID {
	switch {
	case h.OrderID.Valid:
		return h.OrderID.UUID
	case h.OperationID.Valid:
		return h.OperationID.UUID
	}
	return h.EventID.UUID
}
