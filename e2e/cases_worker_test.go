//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bounce moves every order's state back to PAID and forth again by hand, with all of its work due once more, n times: nothing
// of ours does that, so if an effect hung on "entering PAID" it would show here.
func (s *shop) bounce(n int) {
	s.t.Helper()
	for range n {
		s.exec(`UPDATE orders SET status = 'PAID', fulfilled_at = NULL WHERE status = 'FULFILLED'`)
		s.exec(`UPDATE operations SET status = 'PROCESSING', completed_at = NULL, resource_type = NULL, resource_id = NULL, expires_at = NULL, next_attempt_at = now()
			WHERE type IN ('ISSUE_LICENSES', 'ACCRUE_BONUS', 'SHIP_PARCEL')`)
		s.again()
		require.Zero(s.t, s.count(`SELECT count(*) FROM orders WHERE status <> 'FULFILLED'`))
	}
}

// CASES C29 b: the state bounces; the licences, their mail and the page stay the same.
func TestC29_ABouncingStateIssuesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	o := s.pay(s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"}))
	done := s.until(o, "FULFILLED")
	s.settled()
	before := s.effects()
	s.bounce(3)
	require.Equal(t, before, s.effects())
	require.Equal(t, done.Items, s.see(o).Items)
	require.Len(t, s.sim.ledger().Mails, 1)
	assertSameKeysInMail(t, s, done)
	s.assertClean(0)
}

// CASES C29 c: the worker dies after unit 2 of 3. Units are issued in one transaction, so either none of them is there or all
// are; what somebody else issued before stays.
func TestC29_KilledBetweenUnits(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]int{"c: none is there yet": 0, "c: two are there": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			s.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$`)
			s.exec(`CREATE TRIGGER gate BEFORE INSERT ON licenses FOR EACH ROW WHEN (NEW.unit = 3) EXECUTE FUNCTION gate()`)
			release := s.hold(`SELECT pg_advisory_lock(42)`)
			o := s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"})
			s.exec(`INSERT INTO licenses (order_item_id, unit, order_id, license_key)
				SELECT id, u, order_id, 'GIVEN-' || u FROM order_items, generate_series(1, $1) u`, given)
			s.pay(o)
			eventually(t, "two units are written, the third waits", s.waiting)
			s.work[0].kill()
			release()
			require.Equal(t, given, s.count(`SELECT count(*) FROM licenses`), "the dead one's units are not there")
			s.startWorker("")
			done := s.until(o, "FULFILLED")
			require.Len(t, done.Items[0].Licenses, 3)
			for u := range given {
				require.Equal(t, fmt.Sprintf("GIVEN-%d", u+1), done.Items[0].Licenses[u], "units 1 and 2 are unchanged")
			}
			assertSameKeysInMail(t, s, done)
			require.Len(t, s.sim.ledger().Mails, 1)
			s.assertClean(0)
		})
	}
}

// labelled demands one label per parcel, each with the carrier's own number.
func (s *shop) labelled(parcels int) {
	s.t.Helper()
	labels := s.sim.outside().Shipments
	require.Len(s.t, labels, parcels)
	for _, l := range labels {
		require.Equal(s.t, 1, s.count(`SELECT count(*) FROM shipments WHERE id = $1 AND provider_shipment_id = $2 AND tracking = $3 AND status = 'SUCCEEDED'`,
			l.Reference, l.ID, l.Tracking), "%+v", l)
	}
	require.Equal(s.t, parcels, s.count(`SELECT count(*) FROM shipments`))
	s.proven()
}

// CASES C31 with real processes: killed around the call (d), the answer lost (a), the lookup down (e), two parcels (f). The
// operator's correction (b, c): domain/fulfilment/shipment_test.go.
func TestC31_OneLabelPerParcel(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"after-claim/SHIP_PARCEL", "after-call/SHIP_PARCEL"} {
		t.Run("d, f: killed "+at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 0)
			s.carried()
			victim := s.startWorker(at)
			o := s.buyCups(15)
			eventually(t, "the provider has booked", func() bool { return len(s.sim.charges(o.last().PaymentID)) == 1 })
			s.sim.decide(s.sim.charges(o.last().PaymentID)[0].ID, "succeed")
			victim.crashed()
			s.startWorker("")
			s.until(o, "FULFILLED")
			s.labelled(2)
		})
	}
	t.Run("a, e: the answer is lost and the lookup is down", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 2)
		s.carried()
		s.sim.breaks(fault{On: "shipments.create", Do: "drop_after", Times: 1})
		mend := s.sim.breaks(fault{On: "shipments.get", Do: "error_before", Times: 0})
		o := s.pay(s.buyCups(1))
		s.soon("it is looked for in vain", func() bool {
			return s.count(`SELECT count(*) FROM operations WHERE type = 'SHIP_PARCEL' AND looks >= 4`) == 1
		})
		require.Equal(t, "UNKNOWN", s.text(`SELECT status FROM shipments`))
		require.Len(t, s.sim.callsOf("shipments.create"), 1, "no new label")
		require.Equal(t, "PAID", s.see(o).Status)
		mend()
		s.soon("it is found", func() bool { return s.see(o).Status == "FULFILLED" })
		s.labelled(1)
	})
}

// CASES C32 a: five bounces and five deliveries of "paid" are one accrual.
func TestC32_OneAccrual(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	o := s.pay(s.buy(one(license)))
	s.until(o, "FULFILLED")
	c := s.sim.charges(o.last().PaymentID)[0]
	for i := range 5 {
		requireAll(t, 200, s.sim.send(s.sim.event("", "payment.succeeded", c), 1+i%2))
		s.bounce(1)
	}
	require.Equal(t, "ACCRUAL 2490", s.text(`SELECT string_agg(kind || ' ' || points, ',') FROM bonus_entries`))
	s.assertClean(0)
}

// CASES C32 b, c with real processes: cancel, expiry and refund of one order, the refund while the accrual still waits.
func TestC32_OneReversal(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	release := s.hold(`LOCK TABLE bonus_entries IN EXCLUSIVE MODE`)
	o := s.pay(s.buy(one(license)))
	s.until(o, "PAID")
	operator, key := s.operator(), newKey()
	require.Equal(t, 202, s.refund(operator, o, key, "").status)
	for range 3 {
		require.Equal(t, 409, s.cancel(0, o, newKey()).status)
		s.refund(operator, o, key, "")
	}
	s.exec(`UPDATE orders SET created_at = created_at - interval '25 hours'`)
	release()
	s.until(o, "REFUNDED")
	s.exec(`UPDATE operations SET next_attempt_at = now() WHERE status = 'PROCESSING' AND type = 'SEND_NOTIFICATION' AND lease_expires_at IS NULL`) // half a minute passes
	s.proven()
	require.Zero(t, s.count(`SELECT coalesce(sum(points), 0) FROM bonus_entries`), "back at the start, not below")
	require.LessOrEqual(t, s.count(`SELECT count(*) FROM bonus_entries WHERE kind = 'REVERSAL'`), 1)
	require.Zero(t, s.count(`SELECT count(*) FROM licenses WHERE revoked_at IS NULL`))
	require.Len(t, s.sim.outside().Refunds, 1)
	require.Equal(t, 202, s.refund(operator, o, key, "").status)
	require.Equal(t, 422, s.refund(operator, o, newKey(), "").status, "nothing is left")
}

// CASES C32 d, e: a mail is an operation of its own: what fails for one recipient repeats nobody else's.
func TestC32_OneMailEach(t *testing.T) {
	t.Parallel()
	const orders = 10
	setup := func(t *testing.T) (*shop, []order) {
		t.Helper()
		s := open(t, 1, 2)
		all := make([]order, orders)
		for i := range all {
			all[i] = s.untilPayment(s.buy(one(license)), "PENDING")
		}
		return s, all
	}
	send := func(s *shop, all []order) (copies map[string]int, seventh string) {
		for _, o := range all {
			s.sim.decide(o.last().ProviderPaymentID, "succeed")
		}
		for _, o := range all {
			s.until(o, "FULFILLED")
		}
		copies = map[string]int{}
		for _, m := range s.sim.ledger().Mails {
			copies[strings.Trim(m.MessageID, "<>")]++
		}
		require.Len(s.t, copies, orders)
		require.Equal(s.t, orders, s.count(`SELECT count(*) FROM bonus_entries`), "one accrual each")
		return copies, s.message(all[6])
	}
	t.Run("d: refused for now, three times", func(t *testing.T) {
		t.Parallel()
		s, all := setup(t)
		s.sim.breaks(fault{On: "smtp.send", Do: "error_before", Times: 3, Reference: "<" + s.message(all[6]) + ">"})
		copies, _ := send(s, all)
		for id, n := range copies {
			require.Equal(t, 1, n, id)
		}
		require.Equal(t, orders, s.count(`SELECT sum(sends) FROM notifications`))
		require.Len(t, s.sim.callsOf("smtp.send"), orders+3)
		s.assertClean(0)
	})
	t.Run("e: accepted, and the connection drops before the 250", func(t *testing.T) {
		t.Parallel()
		s, all := setup(t)
		s.sim.breaks(fault{On: "smtp.send", Do: "drop_after", Times: 1, Reference: "<" + s.message(all[6]) + ">"})
		copies, seventh := send(s, all)
		for id, n := range copies {
			require.Equal(t, id == seventh, n == 2, "%s %d", id, n)
		}
		require.Equal(t, 2, s.count(`SELECT sends FROM notifications WHERE order_id = $1`, all[6].OrderID), "the send log shows it")
		s.assertClean(1)
	})
}

// message is the Message-ID that an order's receipt will have.
func (s *shop) message(o order) string {
	return "mail.order-paid.order." + o.OrderID.String() + "@127.0.0.1"
}
