//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// statuses are the inbox's verdicts about an order's events, oldest first.
func (s *shop) verdicts(o order) []string {
	s.t.Helper()
	return s.texts(`SELECT event_type || ' ' || status FROM incoming_events WHERE payment_id = $1 ORDER BY received_at, id`, o.last().PaymentID)
}

// unpaid is an order whose payer will stay silent: the provider's own events are lost, the test sends them.
func (s *shop) unpaid() (order, charge) {
	s.t.Helper()
	mend := s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
	o := s.untilPayment(s.buy(one(license)), "PENDING")
	mend()
	return o, s.sim.charges(o.last().PaymentID)[0]
}

// succeeded makes the charge succeed at the provider, without a word to the shop.
func (s *shop) succeeded(c charge) {
	s.t.Helper()
	mend := s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1, Reference: c.Reference})
	s.sim.decide(c.ID, "succeed")
	mend()
}

func requireAll(t *testing.T, want int, got []int) {
	t.Helper()
	for _, status := range got {
		require.Equal(t, want, status, "%v", got)
	}
}

// Seed test 5 and CASES C09.
func TestC09OneWebhookTwentyAndFiftyTimesInParallelIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 2)
	for _, times := range []int{20, 50} {
		o, c := s.unpaid()
		s.succeeded(c)
		event := s.sim.event("", "payment.succeeded", c)
		requireAll(t, 200, s.sim.send(event, times))
		s.until(o, "FULFILLED")
		requireAll(t, 200, s.sim.send(event, 1))
		require.Equal(t, []string{"payment.succeeded APPLIED"}, s.verdicts(o))
		require.Equal(t, times+1, s.count(`SELECT deliveries FROM incoming_events WHERE event_id = $1`, event["id"]))
	}
	s.assertClean(0)
}

// Seed test 6.
func TestTwoEventIDsForOneFactAreOneFact(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	o := s.untilPayment(s.buy(one(license)), "PENDING")
	s.sim.breaks(fault{On: "webhooks.send", Do: "second_event", Times: 1, Reference: o.last().PaymentID.String()})
	s.sim.decide(o.last().ProviderPaymentID, "succeed")
	s.until(o, "FULFILLED")
	eventually(t, "both events are dealt with", func() bool {
		return s.count(`SELECT count(*) FROM incoming_events WHERE event_type = 'payment.succeeded' AND status <> 'RECEIVED'`) == 2
	})
	require.Equal(t, []string{"APPLIED", "NO_CHANGE"}, s.texts(`SELECT status FROM incoming_events WHERE event_type = 'payment.succeeded' ORDER BY status`))
	s.assertClean(0)
}

// Seed test 9: the provider's first event arrives last.
func TestOlderPendingAfterSucceededIsStale(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 1})
	o := s.pay(s.buy(one(license)))
	s.until(o, "FULFILLED")
	before := s.text(`SELECT p::text || o::text FROM payments p JOIN orders o ON o.id = p.order_id`)
	released := decode[struct{ Released int }](t, s.sim.control("POST", "/release", nil, 200))
	require.Equal(t, 1, released.Released)
	eventually(t, "the late event is dealt with", func() bool {
		return s.count(`SELECT count(*) FROM incoming_events WHERE event_type = 'payment.pending' AND status = 'STALE'`) == 1
	})
	require.Equal(t, before, s.text(`SELECT p::text || o::text FROM payments p JOIN orders o ON o.id = p.order_id`))
	s.assertClean(0)
}

// CASES C28, last part: the same fact, learned by looking and by being told, has its consequences once.
func TestLostWebhookIsFoundByLookingAndItsLateDeliveryChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	o := s.untilPayment(s.buy(one(license)), "PENDING")
	s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 1, Reference: o.last().PaymentID.String()})
	s.sim.decide(o.last().ProviderPaymentID, "succeed")
	s.exec(`UPDATE operations SET next_attempt_at = now() WHERE type = 'WATCH_PAYMENT'`) // half a minute passes
	s.until(o, "FULFILLED")
	require.Zero(t, s.count(`SELECT count(*) FROM incoming_events WHERE event_type = 'payment.succeeded'`))
	s.sim.control("POST", "/release", nil, 200)
	eventually(t, "the late event is dealt with", func() bool {
		return s.count(`SELECT count(*) FROM incoming_events WHERE event_type = 'payment.succeeded' AND status = 'NO_CHANGE'`) == 1
	})
	s.assertClean(0)
}

// Events that lie change nothing and stay visible.
func TestContradictingEventsAreQuarantined(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	o, c := s.unpaid()
	s.succeeded(c)
	richer, foreign := c, c
	richer.Amount.Amount = "1.00"
	foreign.Amount.Currency = "USD"
	for _, lie := range []charge{richer, foreign} {
		event := s.sim.event("", "payment.succeeded", lie)
		requireAll(t, 200, s.sim.send(event, 2))
		eventually(t, "the lie is quarantined", func() bool {
			return s.count(`SELECT count(*) FROM incoming_events WHERE event_id = $1 AND status = 'QUARANTINED'`, event["id"]) == 1
		})
	}
	require.Equal(t, "PENDING", s.see(o).last().Status)
	truth := s.sim.event("", "payment.succeeded", c)
	requireAll(t, 200, s.sim.send(truth, 1))
	s.until(o, "FULFILLED")
	forged := s.sim.event(truth["id"].(string), "payment.canceled", c) // another payload under a known ID
	requireAll(t, 200, s.sim.send(forged, 3))
	require.Equal(t, "QUARANTINED 3", s.text(`SELECT status || ' ' || deliveries FROM incoming_events WHERE contradicts IS NOT NULL`))
	require.Equal(t, "FULFILLED", s.see(o).Status)
	s.assertClean(0)
}

func TestWebhooksThatAreNotAuthenticLeaveNoRow(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	o, c := s.unpaid()
	for _, signature := range []string{"bad", "old", "none"} {
		event := s.sim.event("", "payment.succeeded", c)
		a := s.sim.control("POST", "/events", map[string]any{"event": event, "signature": signature}, 200)
		require.Equal(t, []int{401}, decode[struct{ Statuses []int }](t, a).Statuses, signature)
	}
	require.Equal(t, []int{400}, s.sim.send("not JSON", 1))
	require.Zero(t, s.count(`SELECT count(*) FROM incoming_events WHERE event_type = 'payment.succeeded'`))
	require.Equal(t, "PENDING", s.see(o).last().Status)
	s.assertClean(0)
}

// CASES C17 a, e: the shopper pays while our call to the provider still hangs; its answer comes after the fact.
func TestC17aWebhookBeforeTheProviderAnsweredUsIsApplied(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "payments.create", Do: "hang", Times: 1, DelayMs: 1500})
	o := s.buy(one(license))
	var c charge
	eventually(t, "the provider has booked", func() bool {
		all := s.sim.charges(o.last().PaymentID)
		if len(all) == 1 {
			c = all[0]
		}
		return len(all) == 1
	})
	s.sim.decide(c.ID, "succeed")
	s.until(o, "FULFILLED")
	for range 5 { // e
		requireAll(t, 200, s.sim.send(s.sim.event("evt_c17e", "payment.succeeded", c), 1))
	}
	eventually(t, "the hanging call is over", func() bool {
		return s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT' AND status = 'COMPLETED'`) == 1
	})
	require.Len(t, s.sim.charges(o.last().PaymentID), 1)
	s.assertClean(0)
}

// CASES C17 a: our own record of the answer is held back by a lock while the event arrives.
func TestC17aWebhookBeforeOurRecordIsAppliedWithoutAnotherDelivery(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	s.sim.breaks(fault{On: "payments.create", Do: "delay", Times: 1, DelayMs: 500})
	o := s.buy(one(license))
	eventually(t, "the provider has booked", func() bool { return len(s.sim.charges(o.last().PaymentID)) == 1 })
	release := s.hold(`SELECT 1 FROM payments WHERE id = $1 FOR UPDATE`, o.last().PaymentID)
	s.sim.decide(s.sim.charges(o.last().PaymentID)[0].ID, "succeed")
	eventually(t, "record and event wait for our lock", s.waiting)
	require.Equal(t, "AWAITING_PAYMENT", s.see(o).Status)
	release()
	s.until(o, "FULFILLED")
	require.Equal(t, 1, s.count(`SELECT deliveries FROM incoming_events WHERE event_type = 'payment.succeeded'`))
	s.assertClean(0)
}

// CASES C17 c.
func TestC17cEventForNothingOfOursWaitsThenIsParkedVisibly(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	_, c := s.unpaid()
	c.ID, c.Reference = "pay_of_nobody", uuid.NewString()
	event := s.sim.event("", "payment.succeeded", c)
	requireAll(t, 200, s.sim.send(event, 1))
	eventually(t, "it was looked at and waits", func() bool {
		return s.count(`SELECT count(*) FROM incoming_events WHERE event_id = $1 AND status = 'RECEIVED' AND attempts > 0`, event["id"]) == 1
	})
	eventually(t, "it is parked after the last try", func() bool {
		s.exec(`UPDATE incoming_events SET next_attempt_at = now() WHERE event_id = $1 AND status = 'RECEIVED' AND reason IS NOT NULL
			AND next_attempt_at > now() + interval '50 ms'`, event["id"]) // time passes quickly here
		return s.count(`SELECT count(*) FROM incoming_events WHERE event_id = $1 AND status = 'QUARANTINED'`, event["id"]) == 1
	})
	require.Equal(t, "unknown_object", s.text(`SELECT reason FROM incoming_events WHERE event_id = $1`, event["id"]))
	require.Greater(t, s.count(`SELECT attempts FROM incoming_events WHERE event_id = $1`, event["id"]), 5)
	s.assertClean(0)
}
