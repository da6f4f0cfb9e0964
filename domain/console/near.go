package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Near is something that begins as the text that was searched for.
type Near struct {
	Kind        string // as Hit.Kind
	Value       string // the whole ID; masked if it is somebody's
	OrderID     uuid.NullUUID
	OperationID uuid.NullUUID
}

// prober reads on from a place in an index: rows of (value, order_id, operation_id).
type prober struct {
	kind string
	sql  string
}

// leastPrefix is how much of an ID must be there: less would name half the shop.
const leastPrefix = 4

const nearOfKind = 5

// probers of UUIDs get the first and the last one with the prefix, those of texts where to begin; both use the index of the ID.
var (
	uuidProbers = []prober{ //nolint:gochecknoglobals // a table
		{"order", `SELECT id::text, id, NULL::uuid FROM orders WHERE id BETWEEN $1 AND $2 ORDER BY orders.id DESC LIMIT 5`},
		{"operation", `SELECT id::text, order_id, id FROM operations WHERE id BETWEEN $1 AND $2 ORDER BY operations.id LIMIT 5`},
		{"payment", `SELECT id::text, order_id, operation_id FROM payments WHERE id BETWEEN $1 AND $2 ORDER BY payments.id DESC LIMIT 5`},
	}
	textProbers = []prober{ //nolint:gochecknoglobals // a table
		{"key", `SELECT key, order_id, id FROM operations WHERE key >= $1 ORDER BY key, user_id LIMIT 5`},
		{"provider_payment", `SELECT provider_payment_id, order_id, operation_id FROM payments WHERE provider_payment_id >= $1 ORDER BY provider_payment_id LIMIT 5`},
		{"event", `SELECT event_id, order_id, NULL::uuid FROM incoming_events WHERE contradicts IS NULL AND event_id >= $1 ORDER BY event_id LIMIT 5`},
		{"trace", `SELECT trace_id, order_id, operation_id FROM journal WHERE trace_id >= $1 ORDER BY trace_id LIMIT 5`},
		{"user", `SELECT email, id, NULL::uuid FROM orders WHERE email IS NOT NULL AND email >= $1 ORDER BY email, id LIMIT 5`},
	}
)

// Nearest finds what begins as the text, or as the most of it: an ID that was cut off, or whose end was mistyped.
func Nearest(ctx context.Context, q store.Querier, text string) ([]Near, error) {
	found := candidates(text)
	if len(found) == 0 {
		return nil, nil
	}
	whole, _, _ := strings.Cut(found[0], "…")
	for _, prefix := range []string{whole, whole[:len(whole)*3/4]} {
		prefix = strings.ToValidUTF8(strings.TrimRight(prefix, "."), "")
		if len(prefix) < leastPrefix {
			continue
		}
		near, err := probe(ctx, q, prefix)
		if err != nil || len(near) > 0 {
			return near, err
		}
	}
	return nil, nil
}

func probe(ctx context.Context, q store.Querier, prefix string) (near []Near, err error) {
	b := &pgx.Batch{}
	seen := map[string]bool{}
	queue := func(p prober, args ...any) {
		b.Queue(p.sql, args...).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n Near, err error) {
				n.Kind = p.kind
				err = row.Scan(&n.Value, &n.OrderID, &n.OperationID)
				return n, reading("near hit", err)
			})
			for _, n := range found {
				if seen[n.Kind+n.Value] || !strings.HasPrefix(strings.ToLower(n.Value), strings.ToLower(prefix)) {
					continue // the index sorts as people do: what follows may begin otherwise
				}
				if seen[n.Kind+n.Value] = true; n.Kind == "user" {
					n.Value = maskEmail(n.Value)
				}
				near = append(near, n)
			}
			return reading("near hits", err)
		})
	}
	if first, last, ok := uuidsFrom(prefix); ok {
		for _, p := range uuidProbers {
			queue(p, first, last)
		}
	}
	for _, p := range textProbers {
		text := prefix
		if p.kind == "user" || p.kind == "trace" {
			text = strings.ToLower(prefix)
		}
		queue(p, text)
	}
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("look near %q: %w", prefix, err)
	}
	return near[:min(len(near), nearOfKind*2)], nil
}

// uuidsFrom makes the first and the last UUID that begin with some hex digits.
func uuidsFrom(prefix string) (first, last uuid.UUID, ok bool) {
	digits := strings.ReplaceAll(strings.ToLower(prefix), "-", "")
	if len(digits) < leastPrefix || len(digits) > 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return first, last, false
	}
	fill := strings.Repeat("0", 32-len(digits))
	first = uuid.MustParse(digits + fill)
	last = uuid.MustParse(digits + strings.ReplaceAll(fill, "0", "f"))
	return first, last, true
}
