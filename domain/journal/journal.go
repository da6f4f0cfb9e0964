// Package journal records what happened, for people: every state change, and everything that was absorbed (replays, refused
// steps, repeated deliveries). Rows are appended in the transaction of what they describe and never changed.
package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"onefold/domain/store"
	"onefold/domain/trace"
)

// Entry is one line. IDs that are not concerned stay uuid.Nil and are stored as NULL. The trace and the job come from the
// context. Detail must be JSON-encodable and free of secrets, addresses and payloads.
type Entry struct {
	Kind        string // "<entity>.<what>": "order.paid", "operation.replayed", "inbox.stale"
	OperationID uuid.UUID
	OrderID     uuid.UUID
	PaymentID   uuid.UUID
	EventID     uuid.UUID // incoming event
	OutboxID    uuid.UUID
	Detail      map[string]any
}

type jobKey struct{}

// WithJob makes every later entry of this context carry River's job ID.
func WithJob(ctx context.Context, id int64) context.Context {
	return context.WithValue(ctx, jobKey{}, id)
}

const insert = `INSERT INTO journal (kind, trace_id, operation_id, order_id, payment_id, incoming_event_id, outbox_event_id, job_id, detail)
SELECT k, $2, op, ord, pay, ev, ob, $8, d
FROM unnest($1::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $9::jsonb[]) AS t(k, op, ord, pay, ev, ob, d)`

// withoutNUL makes an encoded detail storable: jsonb refuses NUL, and one in somebody else's error text must not take the
// transaction down. Escaped backslashes are stepped over.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, `\ufffd`) //nolint:gochecknoglobals // a table

// Append writes entries in one statement.
func Append(ctx context.Context, q store.Querier, entries ...Entry) error {
	if _, err := q.Exec(ctx, insert, arguments(ctx, entries)...); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	return nil
}

// Queue adds the same statement to a batch; its result is a command tag.
func Queue(ctx context.Context, b *pgx.Batch, entries ...Entry) {
	b.Queue(insert, arguments(ctx, entries)...)
}

func arguments(ctx context.Context, entries []Entry) []any {
	kinds, details := make([]string, len(entries)), make([]string, len(entries))
	var ids [5][]pgtype.UUID
	for i, e := range entries {
		kinds[i], details[i] = e.Kind, "{}"
		if e.Detail != nil {
			if out, err := json.Marshal(e.Detail); err == nil {
				details[i] = withoutNUL.Replace(string(out))
			}
		}
		for n, id := range []uuid.UUID{e.OperationID, e.OrderID, e.PaymentID, e.EventID, e.OutboxID} {
			ids[n] = append(ids[n], pgtype.UUID{Bytes: id, Valid: id != uuid.Nil})
		}
	}
	var job *int64
	if id, ok := ctx.Value(jobKey{}).(int64); ok {
		job = &id
	}
	return []any{kinds, trace.ID(ctx), ids[0], ids[1], ids[2], ids[3], ids[4], job, details}
}
