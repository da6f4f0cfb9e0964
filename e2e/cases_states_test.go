//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// CASES C22: whatever the provider says late about a finished order, by a known event or a new one, is recorded and harmless.
func TestC22_LateNewsMovesNothingBack(t *testing.T) {
	t.Parallel()
	// late delivers success and cancellation again, under known IDs and new ones, several times each.
	late := func(t *testing.T, s *shop, o order, verdict string) {
		t.Helper()
		s.proven()
		c := s.sim.charges(o.last().PaymentID)[0]
		before, mails := s.effects(), len(s.sim.ledger().Mails)
		orders, payments := s.history(o, "order"), s.history(o, "payment")
		known := s.sim.event("evt_known", "payment.succeeded", c)
		events := []map[string]any{known, known, s.sim.event("", "payment.succeeded", c), s.sim.event("", "payment.pending", c), s.sim.event("", "payment.canceled", c)}
		for _, event := range events {
			requireAll(t, 200, s.sim.send(event, 3))
		}
		s.proven()
		require.Equal(t, before, s.effects())
		require.Len(t, s.sim.ledger().Mails, mails)
		require.Equal(t, [][]string{orders, payments}, [][]string{s.history(o, "order"), s.history(o, "payment")}, "no step back in the history")
		require.Equal(t, verdict, s.text(`SELECT status || coalesce(' ' || reason, '') FROM incoming_events WHERE event_id = 'evt_known'`))
		require.Positive(t, s.count(`SELECT count(*) FROM journal WHERE kind = 'inbox.stale' AND order_id = $1`, o.OrderID), "the refused step is in the history")
	}
	t.Run("FULFILLED", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.pay(s.buy(one(license)))
		s.until(o, "FULFILLED")
		late(t, s, o, "NO_CHANGE")
	})
	t.Run("REFUNDED", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.pay(s.buy(one(license)))
		s.until(o, "FULFILLED")
		require.Equal(t, 202, s.refund(s.operator(), o, newKey(), "").status)
		s.until(o, "REFUNDED")
		late(t, s, o, "STALE payment_is_REFUNDED")
	})
	// The exception: the first success ever for a closed order is money without an order. It goes back, and a person is told.
	for state, end := range map[string]func(s *shop, o order){
		"CANCELED": func(s *shop, o order) { s.untilCanceled(o, "giving-up") },
		"EXPIRED": func(s *shop, o order) {
			s.exec(`UPDATE orders SET created_at = created_at - interval '25 hours'`)
			s.until(o, "EXPIRED")
		},
	} {
		t.Run(state+", then the first success", func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			// The attempt is booked, yet the provider denies it until we give up; only then a payer pays it.
			quiet := s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
			mend := s.sim.breaks(fault{On: "payments.create", Do: "error_sticky", Times: 0, Booked: true})
			denied := s.sim.breaks(fault{On: "payments.get", Do: "not_found", Times: 0})
			o := s.untilPayment(s.buy(one(license)), "UNKNOWN")
			s.soon("the attempt is given up", func() bool {
				s.overdue("CREATE_PAYMENT")
				return s.see(o).last().Status == "FAILED"
			})
			end(s, o)
			require.Zero(t, s.count(`SELECT reserved FROM products WHERE id = $1`, license), "the stock is free")
			quiet()
			mend()
			denied()
			s.sim.decide(s.sim.charges(o.last().PaymentID)[0].ID, "succeed")
			s.soon("the money goes back", func() bool { return len(s.sim.outside().Refunds) == 1 })
			require.Equal(t, state, s.see(o).Status)
			require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE needs_review AND review_reason IS NOT NULL`), "never silent")
			require.Zero(t, s.count(`SELECT (SELECT count(*) FROM licenses) + (SELECT count(*) FROM bonus_entries) + (SELECT count(*) FROM notifications)`))
			require.Zero(t, s.count(`SELECT reserved FROM products WHERE id = $1`, license))
			s.sim.send(s.sim.event("", "payment.succeeded", s.sim.charges(o.last().PaymentID)[0]), 5)
			s.proven()
			require.Len(t, s.sim.outside().Refunds, 1)
			require.Equal(t, 1, s.count(`SELECT count(*) FROM refunds WHERE status = 'SUCCEEDED' AND amount_minor = 249000`))
		})
	}
}

// CASES C23 through HTTP and two processes: part after part, the dashboard's own refund, and never more than was paid. Every step
// in every order: domain/refund/ledger_test.go.
func TestC23_PartsAddUp(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 2)
	s.product("ten", "ten", 1000)
	o := s.pay(s.buy(one("ten")))
	s.until(o, "FULFILLED")
	operator := s.operator()
	part := func(amount string, status int) {
		t.Helper()
		key, answers := newKey(), make([]answer, 6)
		together(len(answers), func(i int) {
			answers[i], _ = s.try("POST", s.api(i%2, "/orders/"+o.OrderID.String()+"/refunds"), operator.token, key,
				map[string]any{"reason": "x", "amount": map[string]string{"amount": amount, "currency": "RUB"}})
		})
		for _, a := range answers {
			require.Equal(t, status, a.status, "%s", a)
		}
	}
	sum := func(minor int) {
		t.Helper()
		eventually(t, "the sum is right", func() bool { return s.count(`SELECT refunded_minor FROM payments`) == minor })
	}
	duplicate := s.sim.breaks(fault{On: "webhooks.send", Do: "duplicate", Times: 0})
	part("2.00", 202) // 1, 2
	sum(200)
	part("3.00", 202) // 3, 4
	sum(500)
	part("3.00", 202) // 5
	sum(800)
	part("3.00", 422) // 6
	duplicate()
	s.refundOutside(o, "2.00") // 7
	s.until(o, "REFUNDED")
	s.proven()
	require.Len(t, s.sim.outside().Refunds, 4)
	require.Equal(t, "f200 f300 f300 t200", s.text(`SELECT string_agg(left(external::text, 1) || amount_minor, ' ' ORDER BY external, amount_minor) FROM refunds WHERE status = 'SUCCEEDED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM bonus_entries WHERE kind = 'REVERSAL'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM licenses WHERE revoked_at IS NOT NULL`))
}
