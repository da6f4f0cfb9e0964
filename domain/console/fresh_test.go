package console_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/console"
	"onefold/domain/fault"
)

// What came into a queue after a moment is new, however old the thing itself is.
func TestWhatIsNewInAQueue(t *testing.T) {
	t.Parallel()
	w, me := busy(t)
	w.exec(t, `UPDATE orders SET created_at = now() - interval '1 day'`)
	now, err := console.Now(t.Context(), w.db)
	require.NoError(t, err)
	since := func(name string, ago time.Duration, query console.WorkQuery) int {
		n, err := console.WorkSince(t.Context(), w.db, name, query, now.Add(-ago))
		require.NoError(t, err)
		return n
	}
	queues, err := console.Queues(t.Context(), w.db)
	require.NoError(t, err)
	for _, q := range queues {
		require.Equal(t, q.Count, since(q.Name, 48*time.Hour, console.WorkQuery{Limit: "25"}), q.Name)
		require.Zero(t, since(q.Name, 0, console.WorkQuery{}), q.Name)
	}
	// Begun ten minutes ago, stuck for five.
	require.Positive(t, since("stuck_operations", 6*time.Minute, console.WorkQuery{}))
	require.Zero(t, since("stuck_operations", 4*time.Minute, console.WorkQuery{}))

	w.exec(t, `INSERT INTO journal (kind, trace_id, order_id) SELECT 'order.flagged', 'a', id FROM orders WHERE needs_review LIMIT 1`)
	require.Equal(t, 1, since("orders_in_review", 0, console.WorkQuery{}), "an old order")
	w.exec(t, `UPDATE outbox_events SET parked_at = now() WHERE id = (SELECT id FROM outbox_events WHERE parked_at IS NOT NULL LIMIT 1)`)
	require.Equal(t, 1, since("parked_events", 0, console.WorkQuery{Type: "ORDER_PAID"}))
	require.Zero(t, since("parked_events", 0, console.WorkQuery{Type: "other"}), "by the page's filter")
	w.exec(t, `INSERT INTO cases (object_id, snoozed_until, assignee) SELECT order_id, clock_timestamp(), $1 FROM payments WHERE status = 'UNKNOWN' LIMIT 1`, me)
	require.Equal(t, 1, since("unknown_payments", 0, console.WorkQuery{Assignee: "me", Me: me}), "put off until now")
	require.Zero(t, since("unknown_payments", 0, console.WorkQuery{Assignee: "me", Me: uuid.New()}))
	_, err = console.WorkSince(t.Context(), w.db, "nothing", console.WorkQuery{}, now)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}
