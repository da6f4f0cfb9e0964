package retention_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/inbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/retention"
)

// rows counts what an order still has of all that retention may remove.
func (s *shop) rows(t *testing.T, orderID uuid.UUID) map[string]int {
	t.Helper()
	return map[string]int{
		"operations":      s.count(t, `SELECT count(*) FROM operations WHERE order_id = $1`, orderID),
		"incoming_events": s.count(t, `SELECT count(*) FROM incoming_events WHERE order_id = $1`, orderID),
		"outbox_events":   s.count(t, `SELECT count(*) FROM outbox_events WHERE order_id = $1`, orderID),
		"journal":         s.count(t, `SELECT count(*) FROM journal WHERE order_id = $1`, orderID),
	}
}

// What waits for an outcome or a person keeps all its rows, however old; once it is settled they go (CASES C27 d).
func TestWhatWaitsStaysWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		why          string
		plant, solve string // SQL; $1 is the order
	}{
		"under review": {
			"order under review", `UPDATE orders SET needs_review = true, review_reason = 'second_payment' WHERE id = $1`,
			`UPDATE orders SET needs_review = false, review_reason = NULL WHERE id = $1`,
		},
		"parked event": {
			"order has a parked event", `UPDATE outbox_events SET parked_at = dispatched_at, dispatched_at = NULL WHERE order_id = $1 AND event_type = 'ORDER_PLACED'`,
			`UPDATE outbox_events SET dispatched_at = parked_at, parked_at = NULL WHERE order_id = $1 AND parked_at IS NOT NULL`,
		},
		"waiting event": {
			"order unfinished", `UPDATE outbox_events SET dispatched_at = NULL WHERE order_id = $1 AND event_type = 'ORDER_PLACED'`,
			`UPDATE outbox_events SET dispatched_at = created_at WHERE order_id = $1 AND dispatched_at IS NULL`,
		},
		"quarantined event": {
			"order has a quarantined event", `UPDATE incoming_events SET status = 'QUARANTINED' WHERE order_id = $1`,
			`UPDATE incoming_events SET status = 'APPLIED' WHERE order_id = $1`,
		},
		"unfinished operation": {
			"order unfinished", `UPDATE operations SET status = 'PROCESSING', completed_at = NULL, next_attempt_at = now() WHERE order_id = $1 AND type = 'WATCH_PAYMENT'`,
			`UPDATE operations SET status = 'COMPLETED', completed_at = created_at, next_attempt_at = NULL WHERE order_id = $1 AND type = 'WATCH_PAYMENT'`,
		},
		"unpaid": {
			"order unfinished", `UPDATE orders SET status = 'AWAITING_PAYMENT' WHERE id = $1`, `UPDATE orders SET status = 'FULFILLED' WHERE id = $1`,
		},
		"unfulfilled": {
			"order unfinished", `UPDATE orders SET status = 'PAID', fulfilled_at = NULL WHERE id = $1`,
			`UPDATE orders SET status = 'FULFILLED', fulfilled_at = paid_at WHERE id = $1`,
		},
		"partly refunded, unfulfilled": {
			"order unfinished", `UPDATE orders SET status = 'PARTIALLY_REFUNDED', fulfilled_at = NULL WHERE id = $1`,
			`UPDATE orders SET status = 'FULFILLED', fulfilled_at = paid_at WHERE id = $1`,
		},
		"money that has to go back": {
			"order unfinished", `UPDATE payments SET orphaned_at = created_at WHERE order_id = $1`, `UPDATE payments SET orphaned_at = NULL WHERE order_id = $1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			waiting := s.bought(t, "waiting")
			s.bought(t, "done")
			s.exec(t, c.plant, waiting)
			s.age(t, year)
			want := s.rows(t, waiting)
			plan := s.plan(t)
			for _, table := range []string{"operations", "incoming_events", "outbox_events", "journal"} {
				require.Positive(t, goes(plan)[table], table)
				require.NotEmpty(t, stays(plan, table), table)
			}
			require.Positive(t, stays(plan, "operations")[c.why], stays(plan, "operations"))
			require.Equal(t, goes(plan), goes(s.run(t)))
			s.run(t)
			require.Equal(t, want, s.rows(t, waiting))
			s.exec(t, c.solve, waiting)
			s.run(t)
			left := s.rows(t, waiting)
			require.Zero(t, left["operations"]+left["incoming_events"]+left["outbox_events"])
			require.Less(t, left["journal"], want["journal"])
			s.unbroken(t)
		})
	}
}

// A failure of the system's own work stays for ever; the rest of its order goes. A later attempt at the same parcel settles it.
func TestFailuresStay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.bought(t, "k")
	s.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'X' WHERE order_id = $1 AND type = 'CREATE_PAYMENT'`, id)
	s.exec(t, `INSERT INTO journal (kind, trace_id, operation_id, order_id) SELECT 'operation.failed', '', id, order_id FROM operations WHERE status = 'FAILED'`)
	s.exec(t, `INSERT INTO operations (id, user_id, type, key, request_hash, status, failure_code, order_id, trace_id, completed_at)
		SELECT gen_random_uuid(), user_id, 'SHIP_PARCEL', 'settled', 'v1:', 'FAILED', 'X', order_id, '', now() FROM operations WHERE status = 'FAILED'`)
	s.age(t, year)
	plan := s.plan(t)
	require.Equal(t, map[string]int64{"failed for good": 1}, stays(plan, "operations"))
	require.Equal(t, goes(plan), goes(s.run(t)))
	s.run(t)
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM operations`))
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT' AND status = 'FAILED'`))
	require.Equal(t, 2, s.count(t, `SELECT count(*) FROM journal WHERE split_part(kind, '.', 1) = 'operation'`), "what tells of it stays")
	s.unbroken(t)
}

// Rows that belong to no order wait just as well.
func TestEventsOfNobodyWaitToo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	receive := func(id string, status provider.Status) uuid.UUID {
		e, body := paymenttest.Webhook(id, provider.Payment{ID: "pay_x", Status: status})
		r, err := inbox.Receive(t.Context(), s.db, paymenttest.Name, e, body)
		require.NoError(t, err)
		return r.ID
	}
	waiting := receive("waiting", provider.Succeeded)
	first := receive("twice", provider.Succeeded)
	other := receive("twice", provider.Canceled)
	ignored := receive("ignored", provider.Succeeded)
	s.exec(t, `UPDATE incoming_events SET status = 'IGNORED', processed_at = now(), next_attempt_at = NULL WHERE id = ANY($1)`, []uuid.UUID{first, ignored})
	s.age(t, year)
	plan := s.plan(t)
	require.Equal(t, map[string]int64{"unfinished": 1, "quarantined": 1, "contradicted by a quarantined event": 1}, stays(plan, "incoming_events"))
	require.EqualValues(t, 1, goes(plan)["incoming_events"])
	require.Equal(t, goes(plan), goes(s.run(t)))
	require.ElementsMatch(t, []uuid.UUID{waiting, first, other}, s.ids(t, `SELECT id FROM incoming_events`))
	require.Zero(t, s.count(t, `SELECT count(*) FROM journal WHERE incoming_event_id = $1`, ignored))
	require.Positive(t, s.count(t, `SELECT count(*) FROM journal WHERE incoming_event_id = $1`, first))
}

// What a person has settled goes like everything else that has ended; so does a declined payment, which is a result.
func TestWhatIsSettledGoes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.bought(t, "k")
	s.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'PAYMENT_REJECTED' WHERE order_id = $1 AND type = 'CREATE_PAYMENT'`, id)
	s.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'MAIL_REFUSED' WHERE order_id = $1 AND type = 'SEND_NOTIFICATION'`, id)
	s.exec(t, `UPDATE incoming_events SET status = 'QUARANTINED' WHERE order_id = $1`, id)
	s.exec(t, `UPDATE outbox_events SET parked_at = dispatched_at, dispatched_at = NULL WHERE order_id = $1 AND event_type = 'ORDER_PLACED'`, id)
	s.age(t, year)
	plan := s.plan(t)
	require.Zero(t, goes(plan)["outbox_events"])
	none, at, err := retention.Foreseen(t.Context(), s.db)
	require.NoError(t, err)
	require.Empty(t, none)
	require.True(t, at.IsZero())
	for range 2 {
		require.NoError(t, retention.Foresee(t.Context(), s.db, retention.Config{}))
		kept, at, err := retention.Foreseen(t.Context(), s.db)
		require.NoError(t, err)
		require.Equal(t, plan, kept)
		require.False(t, at.IsZero())
	}
	for _, table := range []string{"operations", "incoming_events", "outbox_events"} {
		s.exec(t, `UPDATE `+table+` SET settled_at = now() - interval '400 days'`)
	}
	s.run(t)
	for _, table := range []string{"operations", "incoming_events", "outbox_events"} {
		require.Zero(t, s.count(t, `SELECT count(*) FROM `+table), table)
	}
}
