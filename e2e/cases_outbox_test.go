//go:build e2e

package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// CASES C26: a batch becomes one job per row, and each job takes its own lease just before its call: a slow receiver makes nobody
// else's row come twice.
func TestC26_ASlowReceiverDoublesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	s.env = append(s.env, "ONEFOLD_LEASE=3s", "ONEFOLD_WORKERS=4")
	const orders, slow = 24, 6
	all := make([]order, orders)
	for i := range all {
		all[i] = s.buy(one(license))
		if i%(orders/slow) == 0 { // longer than a try may take
			s.sim.breaks(fault{On: "payments.create", Do: "delay", Times: 0, DelayMs: 4000, Reference: all[i].last().PaymentID.String()})
		}
	}
	first := s.startWorker("")
	s.startWorker("")
	for i, o := range all {
		s.untilPayment(o, "PENDING")
		calls := s.sim.calls("payments.create", o.last().PaymentID)
		require.Len(t, keysOf(calls), 1, "always the same key")
		if i%(orders/slow) != 0 {
			require.Len(t, calls, 1, "a healthy receiver is called once")
		}
		require.Len(t, s.sim.charges(o.last().PaymentID), 1)
	}
	require.LessOrEqual(t, len(s.sim.callsOf("payments.create")), orders+slow*3, "at most once per try")

	// One worker stands still with what it has claimed, until all of it has been done by the other one.
	release := s.hold(`LOCK TABLE licenses IN EXCLUSIVE MODE`)
	for _, c := range s.sim.ledger().Payments {
		s.sim.decide(c.ID, "succeed")
	}
	eventually(t, "licences wait for our lock", s.waiting)
	first.freeze()
	release()
	for _, o := range all {
		s.until(o, "FULFILLED")
	}
	before := s.licenses()
	first.thaw()
	s.until(s.pay(s.buy(one(other))), "FULFILLED")
	require.Equal(t, before, s.licenses()[:orders], "what was issued stays as it is")
	s.assertClean(orders) // a mail may have been under way when its worker stood still
}

// CASES C26, the relay itself: one stands still with a claimed batch in its transaction; its rows are free again as soon as
// PostgreSQL ends it, and when it wakes up its COMMIT changes nothing.
func TestC26_AStoppedRelayHasClaimedNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	release := s.hold(`LOCK TABLE river_job IN EXCLUSIVE MODE`)
	const orders = 10
	for range orders {
		s.buy(one(license))
	}
	relay := s.work[0]
	eventually(t, "the relay has claimed a batch", func() bool {
		return s.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%river_job%'`) > 0
	})
	relay.freeze()
	release()
	s.startWorker("")
	s.payAll()
	before := s.licenses()
	relay.thaw()
	s.until(s.pay(s.buy(one(other))), "FULFILLED")
	require.Equal(t, before, s.licenses()[:orders], "what was issued stays as it is")
	require.Len(t, s.sim.callsOf("payments.create"), orders+1, "one call each")
	s.assertClean(1)
}

// CASES C27 a, d, e: an event that can't be dispatched (here: of a type nobody knows; an event has no other content) is parked
// after eight tries, its neighbours go on, and it stays where people look. c, the operator's button, comes with the console.
func TestC27_APoisonRowIsParkedInSight(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	poor := s.buy(one(license))
	s.exec(`UPDATE outbox_events SET event_type = 'NOBODY_KNOWS' WHERE order_id = $1`, poor.OrderID)
	others := []order{s.buy(one(license)), s.buy(one(other))}
	s.startWorker("")
	for _, o := range append([]order{poor}, others...) { // a: later rows go out meanwhile, also those of its own order
		s.until(s.pay(o), "FULFILLED")
	}
	require.Zero(t, s.count(`SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL`), "it isn't given up yet")
	parked := func() int {
		return s.count(`SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL AND attempts = 8`)
	}
	s.soon("it is parked", func() bool { return parked() == 1 })
	s.proven()

	s.stopWorkers() // e
	s.startWorker("")
	s.until(s.pay(s.buy(one(license))), "FULFILLED")
	require.Equal(t, 1, parked(), "a new relay leaves it alone")

	for table, column := range map[string]string{"outbox_events": "created_at", "operations": "created_at", "incoming_events": "received_at"} { // d: all is old
		s.exec(`UPDATE ` + table + ` SET ` + column + ` = ` + column + ` - interval '400 days'`)
	}
	row := s.text(`SELECT e::text FROM outbox_events e WHERE parked_at IS NOT NULL`)
	out := run(t, "", append(s.observer.env(), "ONEFOLD_OUTBOX_RETENTION=1h", "ONEFOLD_OPERATION_RETENTION=1h", "ONEFOLD_EVENT_RETENTION=1h"), "retention")
	require.Contains(t, out, "parked")
	require.Equal(t, row, s.text(`SELECT e::text FROM outbox_events e WHERE parked_at IS NOT NULL`))

	viewer := buyer{email: "viewer@example.com", password: "correct horse battery"}
	run(t, viewer.password+"\n", s.observer.env(), "user", "add", "--email", viewer.email, "--role", "viewer")
	v := s.surfer()
	require.Equal(t, 303, v.signIn("/console/sign-in", viewer).status)
	require.Contains(t, string(v.must("GET", v.base+"/console/outbox?state=PARKED", "", "", nil).body), "NOBODY_KNOWS")

	s.exec(`UPDATE outbox_events SET event_type = 'ORDER_PLACED', parked_at = NULL, next_attempt_at = now() WHERE parked_at IS NOT NULL`) // somebody mends it
	eventually(t, "it goes out", func() bool { return s.count(`SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL`) == 0 })
	require.Equal(t, "FULFILLED", s.see(poor).Status)
	s.proven()
}

// CASES C27 b: receivers that are down for long cost nobody a try: nothing is parked or failed, everything arrives afterwards.
func TestC27_BAnOutageParksNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.carried()
	orders := []order{s.buy(one(license)), s.buyCups(1), s.buy(one(other))}
	for i, o := range orders {
		orders[i] = s.untilPayment(o, "PENDING")
	}
	silent := s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
	for _, o := range orders {
		s.sim.decide(o.last().ProviderPaymentID, "succeed")
	}
	for _, on := range []string{"smtp.send", "shipments.create", "shipments.get"} {
		s.sim.breaks(fault{On: on, Do: "error_before", Times: 0})
	}
	silent()
	for _, o := range orders {
		s.sim.send(s.sim.event("", "payment.succeeded", s.sim.charges(o.last().PaymentID)[0]), 1)
		s.until(o, "PAID")
	}
	still := func(what string, looks int) {
		s.soon(what, func() bool {
			return s.count(`SELECT min(looks) FROM operations WHERE status = 'PROCESSING' AND type IN ('SEND_NOTIFICATION', 'SHIP_PARCEL')`) >= looks
		})
		require.Zero(t, s.count(`SELECT (SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL) + (SELECT count(*) FROM operations WHERE status = 'FAILED')`), what)
		require.Zero(t, s.count(`SELECT (SELECT count(*) FROM notifications WHERE sent_at IS NOT NULL) + (SELECT count(*) FROM shipments WHERE status = 'SUCCEEDED')`), what)
	}
	still("half an hour of refusals", 12) // 0.5 s, doubling: 12 looks are 34 minutes
	s.sim.process.kill()
	still("half an hour without an answer", 16)
	require.Equal(t, len(orders), s.count(`SELECT count(*) FROM operations WHERE status = 'PROCESSING' AND type = 'SEND_NOTIFICATION'`))
	s.sim = s.startSimulator() // faults live in its memory only
	s.soon("everything is delivered", func() bool { return s.count(`SELECT count(*) FROM orders WHERE status = 'FULFILLED'`) == len(orders) })
	require.Len(t, s.sim.ledger().Mails, len(orders))
	require.Len(t, s.sim.outside().Shipments, 1)
	ids := make([]string, 0, len(orders))
	for _, m := range s.sim.ledger().Mails {
		ids = append(ids, m.MessageID)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), len(orders), "each once")
	s.proven()
}
