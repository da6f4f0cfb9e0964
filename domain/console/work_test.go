package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/provider"
)

// busy is a world in which every queue holds something.
func busy(t *testing.T) (w *world, me uuid.UUID) {
	t.Helper()
	w, me = newWorld(t), uuid.New()
	for i := range 6 {
		out := w.place(t, uuid.New(), "sold")
		w.work(t)
		w.deliver(t, fmt.Sprint("evt-", i), w.said(t, out.Result.OrderID, provider.Succeeded))
	}
	w.work(t)
	for i := range 6 {
		w.place(t, uuid.New(), fmt.Sprint("open-", i))
	}
	_, err := w.db.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, 'olga@example.com', 'operator')`, me)
	require.NoError(t, err)
	w.exec(t, `UPDATE payments SET status = 'UNKNOWN', updated_at = now() - interval '10 minutes' WHERE status = 'CREATED'`)
	w.exec(t, `UPDATE operations SET last_error = 'provider: unknown: no answer to ' || id, looks = 3 WHERE type = 'CREATE_PAYMENT' AND status = 'PROCESSING'`)
	w.exec(t, `UPDATE operations SET created_at = now() - interval '10 minutes', next_attempt_at = now() - interval '10 minutes' WHERE status = 'PROCESSING'`)
	w.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'BROKEN', last_error = 'row 17 of ' || id || ' for anna@example.com' || E'\nstack' WHERE type = 'ACCRUE_BONUS'`)
	w.exec(t, `WITH n AS (SELECT id, row_number() OVER () AS n FROM incoming_events)
		UPDATE incoming_events e SET status = 'QUARANTINED', reason = 'WRONG_AMOUNT' FROM n WHERE n.id = e.id AND n <= 3`)
	w.exec(t, `UPDATE incoming_events SET status = 'RECEIVED', processed_at = NULL, next_attempt_at = now(), attempts = 2, reason = 'payment unknown' WHERE status <> 'QUARANTINED'`)
	w.exec(t, `UPDATE outbox_events SET dispatched_at = NULL, parked_at = now(), last_error = 'no' WHERE event_type = 'ORDER_PAID'`)
	w.exec(t, `UPDATE orders SET needs_review = true, review_reason = 'PAID_AFTER_CANCEL' WHERE status = 'FULFILLED'`)
	w.exec(t, `UPDATE payments SET orphaned_at = now() WHERE status = 'SUCCEEDED'`)
	w.exec(t, `INSERT INTO possible_duplicates (order_id, earlier_id) SELECT id, (SELECT min(id::text)::uuid FROM orders) FROM orders WHERE status = 'FULFILLED'`)
	w.exec(t, `INSERT INTO river_job (args, kind, max_attempts, queue, state, finalized_at, errors) SELECT jsonb_build_object('n', n), 'apply_event', 3, 'q', 'discarded', now(),
		ARRAY['{"error":"first"}', '{"error":"boom 7"}']::jsonb[] FROM generate_series(1, 4) n`)
	w.exec(t, `INSERT INTO river_job (args, kind, max_attempts, queue, state) VALUES ('{"n": 1}', 'apply_event', 3, 'q', 'available')`)
	w.exec(t, `INSERT INTO approvals (id, action, object_id, order_id, input, reason, requested_by) SELECT gen_random_uuid(), 'refund', id, id,
		'{"amount":{"amount":"4.00","currency":"RUB"}}', 'broken', (SELECT id FROM users WHERE role = 'operator') FROM orders WHERE status = 'FULFILLED'`)
	return w, me
}

func all(t *testing.T, w *world, name string, query console.WorkQuery) []console.WorkItem {
	t.Helper()
	items, err := console.WorkSet(t.Context(), w.db, name, query)
	require.NoError(t, err)
	return items
}

func TestEveryQueueListsWhatItCounts(t *testing.T) {
	t.Parallel()
	w, _ := busy(t)
	queues, err := console.Queues(t.Context(), w.db)
	require.NoError(t, err)
	require.Len(t, queues, len(console.QueueNames()))
	for _, q := range queues {
		require.GreaterOrEqual(t, q.Count, 3, q.Name)
		items := all(t, w, q.Name, console.WorkQuery{})
		require.Len(t, items, q.Count, q.Name)
		longest := slices.MinFunc(items, func(a, b console.WorkItem) int { return a.Since.Compare(b.Since) })
		require.True(t, longest.Since.Equal(*q.Oldest), "%s: who waits longest in it", q.Name)
		for i, item := range items[1:] {
			require.False(t, item.At.Before(items[i].At), q.Name)
		}
		groups, err := console.WorkGroups(t.Context(), w.db, q.Name, console.WorkQuery{})
		require.NoError(t, err)
		sum := 0
		for _, g := range groups {
			sum += g.Count
			require.Len(t, all(t, w, q.Name, console.WorkQuery{Type: g.Label, Error: g.Error}), g.Count, "%s: %+v", q.Name, g)
		}
		require.Equal(t, q.Count, sum, q.Name)
	}
	require.Len(t, all(t, w, "failed_jobs", console.WorkQuery{}), 3, "one has a newer twin")
	failures, err := console.WorkGroups(t.Context(), w.db, "failed_effects", console.WorkQuery{})
	require.NoError(t, err)
	require.Len(t, failures, 1)
	require.Equal(t, "BROKEN: row # of # for #", failures[0].Error)
	require.Equal(t, 6, failures[0].Count)
	require.Contains(t, all(t, w, "failed_effects", console.WorkQuery{})[0].Said, "for a•••@example.com")
	require.Equal(t, "boom 7", all(t, w, "failed_jobs", console.WorkQuery{})[0].Said)
	require.Equal(t, 3, all(t, w, "unknown_payments", console.WorkQuery{})[0].Attempts)
}

func TestSnoozedThingsLeaveCountAndList(t *testing.T) {
	t.Parallel()
	w, me := busy(t)
	orders := w.ids(t, `SELECT DISTINCT order_id FROM payments WHERE status = 'UNKNOWN'`)
	w.exec(t, `INSERT INTO cases (object_id, snoozed_until, tags, assignee) VALUES ($1, now() + interval '1 hour', '{}', NULL), ($2, now() - interval '1 hour', '{vip}', $3)`,
		orders[0], orders[1], me)
	queues, err := console.Queues(t.Context(), w.db)
	require.NoError(t, err)
	items := all(t, w, "unknown_payments", console.WorkQuery{})
	require.Len(t, items, queues[0].Count)
	require.Len(t, items, 5)
	mine := all(t, w, "unknown_payments", console.WorkQuery{Assignee: "me", Me: me})
	require.Len(t, mine, 1)
	require.Equal(t, orders[1], mine[0].OrderID.UUID)
	require.Equal(t, "olga@example.com", mine[0].Assignee)
	require.Equal(t, mine, all(t, w, "unknown_payments", console.WorkQuery{Tag: "vip"}))
	require.Empty(t, all(t, w, "unknown_payments", console.WorkQuery{Tag: "other"}))
	require.Empty(t, all(t, w, "unknown_payments", console.WorkQuery{Assignee: "me", Me: uuid.New()}))
}

// A case that is put off comes back when the failure recurs, for that failure only.
func TestWhatComesAfterPuttingOffIsShown(t *testing.T) {
	t.Parallel()
	w, _ := busy(t)
	parked := func() (n int) { return len(all(t, w, "parked_events", console.WorkQuery{})) }
	unknown := len(all(t, w, "unknown_payments", console.WorkQuery{}))
	require.NotZero(t, parked())
	orders := w.ids(t, `SELECT DISTINCT order_id FROM outbox_events WHERE parked_at IS NOT NULL`)
	for _, id := range orders {
		w.exec(t, `INSERT INTO cases (object_id, snoozed_until, snoozed_at) VALUES ($1, now() + interval '1 hour', clock_timestamp())`, id)
	}
	require.Zero(t, parked())
	w.exec(t, `UPDATE outbox_events SET parked_at = clock_timestamp() + interval '1 minute' WHERE id = (SELECT id FROM outbox_events WHERE order_id = $1 AND parked_at IS NOT NULL LIMIT 1)`,
		orders[0])
	require.Equal(t, 1, parked())
	queues, err := console.Queues(t.Context(), w.db)
	require.NoError(t, err)
	for _, q := range queues {
		if q.Name == "parked_events" {
			require.Equal(t, 1, q.Count)
		}
	}
	require.Len(t, all(t, w, "unknown_payments", console.WorkQuery{}), unknown, "others' cases")
	require.Empty(t, all(t, w, "orphan_payments", console.WorkQuery{}), "the same orders' other trouble")
}

func TestQueuesArePagedFromTheOldest(t *testing.T) {
	t.Parallel()
	w, _ := busy(t)
	w.exec(t, `INSERT INTO approvals (id, action, object_id, input, reason, requested_by, requested_at) SELECT gen_random_uuid(), 'refund', gen_random_uuid(), '{}', 'r',
		(SELECT id FROM users WHERE role = 'operator'), now() - interval '1 day' FROM generate_series(1, 60)`)
	for _, name := range []string{"approvals", "failed_jobs", "unknown_payments"} {
		want := all(t, w, name, console.WorkQuery{})
		var seen []console.WorkItem
		query := console.WorkQuery{Limit: "25"}
		var pages []console.Page[console.WorkItem]
		for {
			p, err := console.Work(t.Context(), w.db, name, query)
			require.NoError(t, err)
			seen, pages = append(seen, p.Rows...), append(pages, p)
			if p.Newer == "" {
				break
			}
			query.Cursor = p.Newer
		}
		require.Equal(t, want, seen, name)
		for i := len(pages) - 1; i > 0; i-- {
			back, err := console.Work(t.Context(), w.db, name, console.WorkQuery{Limit: "25", Cursor: pages[i].Older})
			require.NoError(t, err)
			require.Equal(t, pages[i-1].Rows, back.Rows, name)
		}
	}
}

func TestAQueueRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for field, query := range map[string]console.WorkQuery{
		"state": {State: "PAID"}, "assignee": {Assignee: "her"}, "limit": {Limit: "7"}, "cursor": {Cursor: "x"}, "type": {Type: "a\x00"}, "tag": {Tag: "\xff"},
	} {
		_, err := console.Work(t.Context(), w.db, "unknown_payments", query)
		e, ok := fault.Of(err)
		require.True(t, ok)
		require.Equal(t, field, e.Fields[0].Field)
	}
	_, err := console.Work(t.Context(), w.db, "nothing", console.WorkQuery{})
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	items, err := console.Work(t.Context(), w.db, "unknown_payments", console.WorkQuery{Type: strings.Repeat("x", 10)})
	require.NoError(t, err)
	require.Empty(t, items.Rows)
}
