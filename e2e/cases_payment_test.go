//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// overdue ages what was sent last: "nothing there" is proof only when the call is too old to be still on its way.
func (s *shop) overdue(operation string) {
	s.t.Helper()
	s.exec(`UPDATE operations SET sent_at = sent_at - interval '2 minutes' WHERE type = $1 AND status = 'PROCESSING' AND lease_expires_at IS NULL`, operation)
}

// CASES C14 a–e: however the answer is lost, the attempt's one key is used, its answer is read rightly, and only another attempt
// has another key.
func TestC14_OneAttemptOneKey(t *testing.T) {
	t.Parallel()
	paidOnce := func(s *shop, o order) {
		s.until(s.pay(o), "FULFILLED")
		require.Len(s.t, s.sim.charges(o.last().PaymentID), 1)
		require.Len(s.t, keysOf(s.sim.calls("payments.create", o.last().PaymentID)), 1)
		require.Equal(s.t, 1, s.see(o).last().Attempt)
		s.assertClean(0)
	}
	sure := func(s *shop, o order) { // while it isn't known nobody is asked to pay again
		s.untilPayment(o, "UNKNOWN")
		a := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, newKey(), nil)
		require.Equal(s.t, 409, a.status, "%s", a)
		require.Equal(s.t, "PAYMENT_UNRESOLVED", a.code())
	}
	t.Run("a: booked, the answer lost; the lookup is behind", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1})
		s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
		s.sim.breaks(fault{On: "payments.get", Do: "not_found", Times: 1}) // so the key is sent again
		o := s.buy(one(license))
		sure(s, o)
		paidOnce(s, o)
		require.Len(t, s.sim.calls("payments.create", o.last().PaymentID), 2, "the same key again")
	})
	t.Run("b: the key is busy on the second call", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1})
		s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
		s.sim.breaks(fault{On: "payments.create", Do: "busy", Times: 1})
		s.sim.breaks(fault{On: "payments.get", Do: "not_found", Times: 2})
		o := s.buy(one(license))
		sure(s, o)
		paidOnce(s, o)
		require.Len(t, s.sim.calls("payments.create", o.last().PaymentID), 3)
	})
	t.Run("c: the same error for ever, booked", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1})
		s.sim.breaks(fault{On: "payments.create", Do: "error_sticky", Times: 0, Booked: true})
		o := s.buy(one(license))
		sure(s, o)
		paidOnce(s, o)
	})
	t.Run("d: the same error for ever, nothing booked", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		mend := s.sim.breaks(fault{On: "payments.create", Do: "error_sticky", Times: 0})
		o := s.buy(one(license))
		sure(s, o)
		s.soon("several lookups found nothing", func() bool { return s.count(`SELECT max(absences) FROM operations`) >= 4 })
		require.Equal(t, "UNKNOWN", s.see(o).last().Status, "young: nothing there is no proof")
		s.soon("the attempt ends once the last call is old", func() bool {
			s.overdue("CREATE_PAYMENT")
			return s.see(o).last().Status == "FAILED"
		})
		mend()
		a := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, newKey(), nil)
		require.Equal(t, 202, a.status, "%s", a)
		now := s.pay(o)
		require.Equal(t, 2, now.last().Attempt)
		s.until(o, "FULFILLED")
		require.Len(t, s.sim.ledger().Payments, 1)
		require.Len(t, keysOf(s.sim.callsOf("payments.create")), 2, "another attempt, another key")
		s.assertClean(0)
	})
	t.Run("e: refused, then another card", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.sim.breaks(fault{On: "payments.create", Do: "reject", Times: 1})
		o := s.untilPayment(s.buy(one(license)), "FAILED")
		a := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, newKey(), nil)
		require.Equal(t, 202, a.status, "%s", a)
		now := s.pay(o)
		s.until(o, "FULFILLED")
		require.Equal(t, []string{"FAILED", "SUCCEEDED"}, []string{now.Payments[0].Status, s.see(o).last().Status})
		require.Len(t, s.sim.ledger().Payments, 1)
		require.Len(t, keysOf(s.sim.callsOf("payments.create")), 2)
		s.assertClean(0)
	})
}

// CASES C14 f: the same for refunds, through the API.
func TestC14_OneRefundOneKey(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"f, a: booked, the answer lost":       {{Do: "drop_after"}},
		"f, b: the key is busy":               {{Do: "drop_after"}, {Do: "busy"}},
		"f, c: the same error, booked":        {{Do: "error_sticky", Booked: true}},
		"f, d: the same error, not booked":    {{Do: "error_sticky"}},
		"f: answered 500 after it was booked": {{Do: "error_after"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			o := s.pay(s.buy(one(license)))
			s.until(o, "FULFILLED")
			s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1, Reference: o.last().PaymentID.String()})
			s.sim.breaks(fault{On: "refunds.get", Do: "not_found", Times: len(faults)})
			for _, f := range faults {
				f.On, f.Times = "refunds.create", 1
				s.sim.breaks(f)
			}
			operator, key := s.operator(), newKey()
			first := s.refund(operator, o, key, "")
			require.Equal(t, 202, first.status, "%s", first)
			requireSame(t, first, s.refund(operator, o, key, ""))
			want := 1
			if name == "f, d: the same error, not booked" {
				s.soon("the refund fails once the last call is old", func() bool {
					s.overdue("CREATE_REFUND")
					return s.count(`SELECT count(*) FROM refunds WHERE status = 'FAILED'`) == 1
				})
				require.Empty(t, s.sim.outside().Refunds)
				require.Equal(t, 202, s.refund(operator, o, newKey(), "").status, "the money may be sent again")
				want = 2
			}
			s.soon("the money is back", func() bool { return s.see(o).Status == "REFUNDED" })
			require.Len(t, s.sim.outside().Refunds, 1)
			require.Len(t, keysOf(s.sim.callsOf("refunds.create")), want, "one key per refund")
			s.proven()
			require.Equal(t, 1, s.count(`SELECT count(*) FROM licenses WHERE revoked_at IS NOT NULL`))
			require.Zero(t, s.count(`SELECT sum(points) FROM bonus_entries`))
		})
	}
}

func requireSame(t *testing.T, first, again answer) {
	t.Helper()
	require.Equal(t, first.status, again.status)
	require.Equal(t, string(first.body), string(again.body))
	require.True(t, again.replayed(), "%s", again)
}

// CASES C15: neither "not found" nor an outage nor age ends an attempt. Two reconcilers look, one is killed with the answer in its
// hand; the charge is found once.
func TestC15_TheReconcilerNeverGivesUp(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
	s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1}) // 1
	down := s.sim.breaks(fault{On: "payments.create", Do: "error_before", Times: 0})
	s.sim.breaks(fault{On: "payments.get", Do: "not_found", Times: 3}) // 2
	silent := s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
	o := s.untilPayment(s.buy(one(license)), "UNKNOWN")
	still := func(what string, ok func() bool) {
		s.soon(what, ok)
		now := s.see(o)
		require.Equal(t, []string{"AWAITING_PAYMENT", "UNKNOWN"}, []string{now.Status, now.last().Status}, what)
		require.Equal(t, 1, s.count(`SELECT reserved FROM products WHERE id = $1`, license), what)
		a := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, newKey(), nil)
		require.Equal(t, 409, a.status, "%s: %s", what, a)
	}
	looks := func() int { return s.count(`SELECT looks FROM operations WHERE type = 'CREATE_PAYMENT'`) }
	still("2: three lookups found nothing", func() bool { return looks() >= 4 })
	still("3: two hours of outage", func() bool { return looks() >= 15 })
	s.exec(`UPDATE orders SET created_at = created_at - interval '25 hours'`) // 4: old enough to expire, if it could
	s.exec(`UPDATE payments SET created_at = created_at - interval '25 hours', updated_at = updated_at - interval '25 hours'`)
	s.exec(`UPDATE operations SET created_at = created_at - interval '25 hours'`)
	still("4: the order's time is over", func() bool {
		return s.count(`SELECT count(*) FROM operations WHERE type = 'EXPIRE_ORDER' AND looks > 2`) == 1
	})
	require.Equal(t, 409, s.cancel(0, o, newKey()).status)

	s.stopWorkers()
	c := s.sim.charges(o.last().PaymentID)[0]
	s.sim.decide(c.ID, "succeed")
	victim := s.startWorker("after-call/CREATE_PAYMENT") // 6
	silent()
	s.soon("it is killed with the answer", func() bool { return !victim.running() })
	victim.crashed()
	down()
	s.startWorker("") // 5
	s.startWorker("")
	s.copyJobs("create_payment", 10)
	s.soon("the order is fulfilled", func() bool { return s.see(o).Status == "FULFILLED" })
	require.Len(t, s.sim.charges(o.last().PaymentID), 1)
	require.Len(t, keysOf(s.sim.callsOf("payments.create")), 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM licenses`))
	s.assertClean(0)
}

// CASES C17 b: the order's transaction is rolled back. Nothing was asked of the provider, because nothing calls from a request.
func TestC17_BChargesFollowCommittedOrdersOnly(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
	key := newKey()
	w := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
	require.NoError(t, w.finish())
	eventually(t, "the order waits before its COMMIT", s.waiting)
	s.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE 'onefold%'`)
	a, err := w.answer()
	require.NoError(t, err)
	require.Equal(t, 503, a.status, "%s", a)
	release()
	require.Zero(t, s.count(`SELECT count(*) FROM orders`))
	require.Empty(t, s.sim.ledger().Calls)
	s.boughtOnce(key, false)
}

// CASES C17 b, d: money at the provider that no order of ours explains, made under our account or by another environment of ours.
// With the other environment's secret it isn't authentic; with ours it waits, then lies where people look.
func TestC17_DMoneyOfNobody(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	test := &simulator{t: t, http: s.http}
	p := launch(t, "sim-test", shipped, []string{
		"ONEFOLD_SIM_ADDR=127.0.0.1:0", "ONEFOLD_SMTP_ADDR=127.0.0.1:0", "ONEFOLD_DATA=" + t.TempDir(), "ONEFOLD_WEBHOOK_SECRET=of-the-test-environment-0123456789",
		"ONEFOLD_SIM_WEBHOOK_URL=http://" + s.addrs[0] + "/webhooks/sim",
	}, "sim")
	test.process, test.base = p, "http://"+p.said("simulating")["addr"].(string)
	book := func(m *simulator) charge {
		a := s.must("POST", m.base+"/v1/payments", "", newKey(), map[string]any{
			"amount": map[string]string{"amount": "10.00", "currency": "RUB"}, "reference": uuid.NewString(), "returnUrl": "http://" + s.addrs[0] + "/", "description": "x",
		})
		require.Equal(t, 200, a.status, "%s", a)
		c := decode[charge](t, a)
		m.decide(c.ID, "succeed")
		return c
	}
	foreign := book(test)
	require.Equal(t, []int{401}, test.send(test.event("", "payment.succeeded", foreign), 1), "d")
	require.Equal(t, 404, s.must("POST", "http://"+s.addrs[0]+"/webhooks/elsewhere", "", "", map[string]string{}).status)
	require.Zero(t, s.count(`SELECT count(*) FROM incoming_events`))

	orphan := book(s.sim)
	s.soon("b: it is set aside", func() bool {
		return s.count(`SELECT count(*) FROM incoming_events WHERE object_id = $1 AND event_type = 'payment.succeeded' AND status = 'QUARANTINED' AND reason = 'unknown_object'`, orphan.ID) == 1
	})
	s.soon("nothing else waits", func() bool { return s.count(`SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED'`) == 0 })
	s.proven()
	require.Zero(t, s.count(`SELECT count(*) FROM orders`))
}
