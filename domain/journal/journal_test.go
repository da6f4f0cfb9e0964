package journal_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/journal"
	"onefold/domain/store/storetest"
	"onefold/domain/trace"
)

func TestMain(m *testing.M) { storetest.Main(m) }

type line struct {
	Kind, Trace                      string
	Operation, Order, Payment, Event uuid.NullUUID
	Outbox                           uuid.NullUUID
	Job                              *int64
	Detail                           string
}

func lines(t *testing.T, tx pgx.Tx, traceID string) []line {
	t.Helper()
	rows, err := tx.Query(t.Context(), `SELECT kind, trace_id, operation_id, order_id, payment_id, incoming_event_id, outbox_event_id, job_id, detail::text
		FROM journal WHERE trace_id = $1 ORDER BY id`, traceID)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[line])
	require.NoError(t, err)
	return out
}

func TestAppendAndQueueWriteTheSame(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ctx := trace.Start(journal.WithJob(t.Context(), 17), "")
	full := journal.Entry{
		Kind: "a.full", OperationID: uuid.New(), OrderID: uuid.New(), PaymentID: uuid.New(), EventID: uuid.New(), OutboxID: uuid.New(),
		Detail: map[string]any{"n": 1},
	}
	require.NoError(t, journal.Append(ctx, tx, full, journal.Entry{Kind: "a.bare"}))
	b := &pgx.Batch{}
	journal.Queue(ctx, b, full, journal.Entry{Kind: "a.bare"})
	require.NoError(t, tx.SendBatch(ctx, b).Close())

	got, job := lines(t, tx, trace.ID(ctx)), int64(17)
	there := func(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: true} }
	want := []line{
		{"a.full", trace.ID(ctx), there(full.OperationID), there(full.OrderID), there(full.PaymentID), there(full.EventID), there(full.OutboxID), &job, `{"n": 1}`},
		{Kind: "a.bare", Trace: trace.ID(ctx), Job: &job, Detail: "{}"},
	}
	require.Equal(t, append(want, want...), got, "append only: twice is twice")
}

func TestWithoutJobAndEntries(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ctx := trace.Start(t.Context(), "")
	require.NoError(t, journal.Append(ctx, tx))
	require.NoError(t, journal.Append(ctx, tx, journal.Entry{Kind: "a.b", Detail: map[string]any{"bad": func() {}}}))
	got := lines(t, tx, trace.ID(ctx))
	require.Len(t, got, 1, "a detail that can't be written doesn't stop the line")
	require.Nil(t, got[0].Job)
	require.Equal(t, "{}", got[0].Detail)
}

// A provider's text can hold NUL, which jsonb refuses: the line must not take its transaction down.
func TestDetailWithNUL(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ctx := trace.Start(t.Context(), "")
	require.NoError(t, journal.Append(ctx, tx, journal.Entry{Kind: "a.b", Detail: map[string]any{"error": "bad \x00 byte \xff"}}))
	require.NoError(t, journal.Append(ctx, tx, journal.Entry{Kind: "a.b", Detail: map[string]any{"text": `\u0000 is no NUL, \\u0000 neither`}}))
	got := lines(t, tx, trace.ID(ctx))
	require.JSONEq(t, `{"error": "bad � byte �"}`, got[0].Detail)
	require.JSONEq(t, `{"text": "\\u0000 is no NUL, \\\\u0000 neither"}`, got[1].Detail)
}
