package console_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/console"
	"onefold/domain/fault"
)

func TestOperationsPageByKeyset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(t, `INSERT INTO operations (id, user_id, type, key, request_hash, status, trace_id, created_at, completed_at, failure_code, resource_type, resource_id, next_attempt_at)
		SELECT md5('op' || n)::uuid, gen_random_uuid(), 'CREATE_ORDER', 'k' || n, 'v1:', s, repeat('a', 32), timestamptz '2026-01-01' + n / 7 * interval '1 second',
			CASE WHEN s <> 'PROCESSING' THEN now() END, CASE s WHEN 'FAILED' THEN 'OUT_OF_STOCK' END, 'order', 'o',
			CASE WHEN s = 'PROCESSING' THEN now() END
		FROM generate_series(0, 129) n, LATERAL (SELECT (ARRAY['PROCESSING', 'COMPLETED', 'FAILED'])[1 + n % 3]) AS state(s)`)
	page := func(q console.Query) console.Page[console.Operation] {
		p, err := console.Operations(t.Context(), w.db, q)
		require.NoError(t, err)
		return p
	}
	var seen []uuid.UUID
	var pages []console.Page[console.Operation]
	for q := (console.Query{}); ; {
		p := page(q)
		pages = append(pages, p)
		for _, r := range p.Rows {
			seen = append(seen, r.ID)
		}
		if p.Older == "" {
			break
		}
		q.Cursor = p.Older
	}
	require.Len(t, pages, 3)
	require.Len(t, pages[2].Rows, 30)
	require.Empty(t, pages[0].Newer)
	require.Len(t, seen, 130)
	require.Equal(t, w.ids(t, `SELECT id FROM operations ORDER BY created_at DESC, id DESC`), seen)

	require.Equal(t, pages[1], page(console.Query{Cursor: pages[2].Newer}), "the way back shows the same rows")
	require.Equal(t, pages[0], page(console.Query{Cursor: pages[1].Newer}), "the first page is whole")

	failed := page(console.Query{State: "FAILED", Limit: "25"})
	require.Len(t, failed.Rows, 25)
	require.False(t, slices.ContainsFunc(failed.Rows, func(o console.Operation) bool { return o.FailureCode != "OUT_OF_STOCK" }))
	require.Len(t, page(console.Query{State: "FAILED", Limit: "25", Cursor: failed.Older}).Rows, 18)
	require.Empty(t, page(console.Query{Type: "ACCRUE_BONUS"}).Rows)
	require.Len(t, page(console.Query{Type: "CREATE_ORDER", Limit: "200"}).Rows, 130)
}

func TestUnknownFilterValuesAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for parameter, q := range map[string]console.Query{
		"state": {State: "GONE"}, "type": {Type: "NOTHING"}, "provider": {Provider: "elsewhere"}, "limit": {Limit: "7"}, "cursor": {Cursor: "bm90"},
	} {
		var errs []error
		_, err := console.Operations(t.Context(), w.db, q)
		errs = append(errs, err)
		if parameter != "type" {
			_, err = console.Payments(t.Context(), w.db, q)
			errs = append(errs, err)
			_, err = console.IncomingEvents(t.Context(), w.db, q)
			errs = append(errs, err)
		}
		_, err = console.OutboxEvents(t.Context(), w.db, q)
		for _, err := range append(errs, err) {
			e, ok := fault.Of(err)
			require.True(t, ok, parameter)
			require.Equal(t, fault.Invalid, e.Kind)
			require.Len(t, e.Fields, 1)
			require.Equal(t, parameter, e.Fields[0].Field)
		}
	}
	_, err := console.Operations(t.Context(), w.db, console.Query{State: "x", Type: "y", Limit: "-1"})
	e, _ := fault.Of(err)
	require.Len(t, e.Fields, 3)
	for _, cursor := range []string{"!", "eHx5", "b3wtMXww", "b3w5OTk5OTk5OTk5OTk5OTk5OTl8MA", "\x00"} {
		_, err := console.Payments(t.Context(), w.db, console.Query{Cursor: cursor})
		require.Equal(t, fault.Invalid, fault.KindOf(err), cursor)
	}
	_, err = console.IncomingEvents(t.Context(), w.db, console.Query{Type: "no\x00good"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestEachStateFilterMatchesItsRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bought(t, uuid.New())
	w.place(t, uuid.New(), "key-2")
	w.exec(t, `UPDATE payments SET provider = 'sim' WHERE status = 'CREATED'`)
	w.exec(t, `UPDATE outbox_events SET parked_at = now(), last_error = 'mail to anna@example.com' WHERE dispatched_at IS NULL`)
	total := map[string]int{}
	for _, s := range console.PaymentStates() {
		p, err := console.Payments(t.Context(), w.db, console.Query{State: s})
		require.NoError(t, err)
		for _, r := range p.Rows {
			require.EqualValues(t, s, r.Status)
			require.NotZero(t, r.OrderNumber)
			require.Equal(t, "RUB", r.Amount.Currency)
			total["payments"]++
		}
	}
	for _, s := range console.EventStates() {
		p, err := console.IncomingEvents(t.Context(), w.db, console.Query{State: s, Type: "payment.succeeded"})
		require.NoError(t, err)
		for _, r := range p.Rows {
			require.EqualValues(t, s, r.Status)
			total["events"]++
		}
	}
	for _, s := range console.OutboxStates() {
		p, err := console.OutboxEvents(t.Context(), w.db, console.Query{State: s})
		require.NoError(t, err)
		for _, r := range p.Rows {
			require.Equal(t, s, r.State)
			require.NotContains(t, r.LastError, "anna")
			total["outbox"]++
		}
	}
	for _, s := range console.OperationStates() {
		p, err := console.Operations(t.Context(), w.db, console.Query{State: s})
		require.NoError(t, err)
		for _, r := range p.Rows {
			require.EqualValues(t, s, r.Status)
			require.Equal(t, r.Type != "CREATE_ORDER", r.System())
			total["operations"]++
		}
	}
	require.Equal(t, map[string]int{"payments": 2, "events": 1, "outbox": 3, "operations": len(w.ids(t, `SELECT id FROM operations`))}, total)
	p, err := console.Payments(t.Context(), w.db, console.Query{Provider: "sim"})
	require.NoError(t, err)
	require.Len(t, p.Rows, 1)
	require.NotNil(t, p.Rows[0].NextLookAt)
}

func TestQueuesCountWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counts := func() map[string]int {
		queues, err := console.Queues(t.Context(), w.db)
		require.NoError(t, err)
		out := map[string]int{}
		for _, q := range queues {
			out[q.Name] = q.Count
			require.Equal(t, q.Count > 0, q.Oldest != nil, q.Name)
			require.Equal(t, q.Count > 0, q.Age > 9*time.Minute, q.Name)
		}
		for _, name := range []string{"waiting_events", "orphan_payments", "possible_duplicates", "failed_jobs", "approvals"} { // see work_test.go
			require.Zero(t, out[name])
			delete(out, name)
		}
		require.Len(t, out, 6)
		return out
	}
	w.bought(t, uuid.New())
	w.place(t, uuid.New(), "key-2")
	for name, n := range counts() {
		require.Zero(t, n, name)
	}
	w.exec(t, `UPDATE payments SET status = 'UNKNOWN', updated_at = now() - interval '10 minutes' WHERE status = 'CREATED'`)
	w.exec(t, `UPDATE operations SET created_at = now() - interval '20 minutes'`)
	w.exec(t, `UPDATE operations SET next_attempt_at = now() - interval '20 minutes' WHERE status = 'PROCESSING'`)
	w.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'X', completed_at = now() - interval '10 minutes' WHERE type = 'ACCRUE_BONUS'`)
	w.exec(t, `UPDATE incoming_events SET status = 'QUARANTINED', received_at = now() - interval '10 minutes', processed_at = now() - interval '10 minutes'`)
	w.exec(t, `UPDATE outbox_events SET dispatched_at = NULL, parked_at = now() - interval '10 minutes', created_at = now() - interval '10 minutes' WHERE event_type = 'ORDER_PAID'`)
	w.exec(t, `UPDATE orders SET needs_review = true, review_reason = 'x', created_at = now() - interval '10 minutes' WHERE status = 'FULFILLED'`)
	for name, n := range counts() {
		require.Equal(t, 1, n, name)
		if view := console.ViewOfQueue(name); view != "" {
			p, err := console.Operations(t.Context(), w.db, console.Query{State: view})
			require.NoError(t, err)
			require.Len(t, p.Rows, n, "the list of %s shows what its queue counts", name)
		}
	}
}
