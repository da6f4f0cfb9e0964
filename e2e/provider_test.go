//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Seed test 8: whatever the lost answer looked like, the provider books once under the one key, and the shop finds out by itself.
func TestProviderBookedButAnswerLostIsOneCharge(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"socket closed after booking": {Do: "drop_after"},
		"500 after booking":           {Do: "error_after"},
		"unreadable answer":           {Do: "garbage"},
		"no answer in time":           {Do: "hang", DelayMs: 1500},
		"same error for ever, booked": {Do: "error_sticky", Booked: true},
		"refused before booking":      {Do: "error_before"},
		"still running":               {Do: "busy"},
		"too many requests":           {Do: "rate_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			f.On, f.Times = "payments.create", 1
			s.sim.breaks(f)
			o := s.pay(s.buy(one(license)))
			s.until(o, "FULFILLED")
			require.Len(t, s.sim.charges(o.last().PaymentID), 1)
			keys, booked := map[string]bool{}, 0
			for _, c := range s.sim.calls("payments.create", o.last().PaymentID) {
				keys[c.Key] = true
				if c.Booked {
					booked++
				}
			}
			require.Len(t, keys, 1, "one provider key")
			require.Equal(t, 1, booked)
			require.Equal(t, 1, s.see(o).last().Attempt)
			s.assertClean(0)
		})
	}
}

// While nobody knows, the shop says so, asks for no second payment, and refuses one.
func TestUnknownPaymentStaysUnknownUntilTheProviderIsHeard(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
	hear := s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
	silent := s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0})
	o := s.untilPayment(s.buy(one(license)), "UNKNOWN")
	again := s.must("POST", s.api(0, "/orders/"+o.OrderID.String()+"/payments"), s.ann.token, newKey(), nil)
	require.Equal(t, 409, again.status, "%s", again)
	require.Equal(t, "PAYMENT_UNRESOLVED", again.code())
	s.exec(`UPDATE payments SET created_at = created_at - interval '25 hours'`) // age is no proof
	eventually(t, "it is looked for again and again", func() bool { return len(s.sim.calls("payments.get", o.last().PaymentID)) >= 3 })
	require.Equal(t, "UNKNOWN", s.see(o).last().Status)
	hear()
	silent()
	s.pay(o)
	s.until(o, "FULFILLED")
	require.Len(t, s.sim.charges(o.last().PaymentID), 1)
	s.assertClean(0)
}

// CASES C04 f: a decline replays and charges nothing; another card is another attempt with another key.
func TestC04fDeclineReplaysAndAnotherCardIsAnotherAttempt(t *testing.T) {
	t.Parallel()
	for name, decline := range map[string]func(s *shop) order{
		"the provider refuses the call": func(s *shop) order {
			s.sim.breaks(fault{On: "payments.create", Do: "reject", Times: 1})
			return s.untilPayment(s.buy(one(license)), "FAILED")
		},
		"the payer declines": func(s *shop) order {
			o := s.untilPayment(s.buy(one(license)), "PENDING")
			s.sim.decide(o.last().ProviderPaymentID, "cancel")
			return s.untilPayment(o, "CANCELED")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			o := decline(s)
			charges := len(s.sim.ledger().Payments)
			path, key := s.api(0, "/orders/"+o.OrderID.String()+"/payments"), newKey()
			first := s.must("POST", path, s.ann.token, key, nil)
			require.Equal(t, 202, first.status, "%s", first)
			requireReplay(t, first, s.must("POST", path, s.ann.token, key, nil))
			other := s.must("POST", path, s.ann.token, newKey(), nil)
			require.Equal(t, 409, other.status, "%s", other)
			require.Equal(t, "PAYMENT_IN_PROGRESS", other.code())
			now := s.pay(o)
			require.Equal(t, 2, now.last().Attempt)
			s.until(o, "FULFILLED")
			require.Len(t, s.sim.ledger().Payments, charges+1)
			require.Equal(t, 2, s.count(`SELECT count(DISTINCT provider_key) FROM payments`))
			s.assertClean(0)
		})
	}
}
