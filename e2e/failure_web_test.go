//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A web process stands still around its COMMIT. The client asks the other one with the same key; what both say in the end is
// the same one order.
func TestStoppedWebAndItsClientElsewhere(t *testing.T) {
	t.Parallel()
	for at, others := range map[string][]string{
		"before-commit/CREATE_ORDER": {"OPERATION_IN_PROGRESS", "TEMPORARILY_UNAVAILABLE"}, // until the server ends the idle session
		"after-commit/CREATE_ORDER":  nil,
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 2, 1)
			require.Zero(t, s.web[1].stop(term), tail(s.web[1].log()))
			victim := s.startWeb(1, at+":stop")
			t.Cleanup(victim.goOn)
			key, late := newKey(), make(chan answer, 1)
			go func() {
				a, _ := s.try("POST", s.api(1, "/orders"), s.ann.token, key, one(license))
				late <- a
			}()
			eventually(t, "it stands still", victim.stopped)
			var first answer
			eventually(t, "the other one has an answer", func() bool {
				first = s.place(s.ann, key, one(license))
				if first.status != 201 {
					require.Contains(t, others, first.code(), "%s", first)
				}
				return first.status == 201
			})
			require.Equal(t, len(others) == 0, first.replayed())
			victim.goOn()
			if a := <-late; a.status == 503 { // its ten seconds were over
				requireComeBack(t, a)
			} else {
				requireSameOrder(t, first, a)
			}
			requireSameOrder(t, first, s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(license)))
			s.until(s.pay(decode[order](t, first)), "FULFILLED")
			s.web[1] = victim
			s.assertClean(0)
			require.Equal(t, 1, s.count(`SELECT count(*) FROM orders`))
		})
	}
}

func requireSameOrder(t *testing.T, first, late answer) {
	t.Helper()
	require.Equal(t, 201, late.status, "%s", late)
	require.Equal(t, decode[order](t, first).OrderID, decode[order](t, late).OrderID)
}

// SIGTERM while a request or a webhook is being dealt with: its sender gets the answer, and the exit is clean.
func TestWebToldToEndAnywhere(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before-commit/CREATE_ORDER", "after-commit/CREATE_ORDER"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			require.Zero(t, s.web[0].stop(term))
			victim := s.startWeb(0, at+":term")
			key := newKey()
			first := s.place(s.ann, key, one(license))
			require.Equal(t, 201, first.status, "%s", first)
			require.Zero(t, victim.ended("after SIGTERM"), tail(victim.log()))
			s.web[0] = s.startWeb(0, "")
			again := s.place(s.ann, key, one(license))
			requireSameOrder(t, first, again)
			require.True(t, again.replayed())
			s.until(s.pay(decode[order](t, first)), "FULFILLED")
			s.assertClean(0)
		})
	}
	t.Run("after-receive", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o, c := s.unpaid()
		require.Zero(t, s.web[0].stop(term))
		victim := s.startWeb(0, "after-receive:term")
		s.sim.decide(c.ID, "succeed")
		require.Zero(t, victim.ended("after SIGTERM"), tail(victim.log()))
		s.web[0] = s.startWeb(0, "")
		s.until(o, "FULFILLED")
		require.Equal(t, 1, s.count(`SELECT deliveries FROM incoming_events WHERE event_type = 'payment.succeeded'`), "it was answered")
		s.assertClean(0)
	})
}

// A webhook's receiver dies or stands still after it has stored the event, before its 200: the provider's repeat is counted.
func TestWebLostAfterStoringAnEvent(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"after-receive:stop", "after-receive"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			o, c := s.unpaid()
			require.Zero(t, s.web[0].stop(term))
			victim := s.startWeb(0, how)
			t.Cleanup(victim.goOn)
			s.sim.decide(c.ID, "succeed")
			eventually(t, "it stands still or is dead", func() bool { return !victim.running() || victim.stopped() })
			eventually(t, "the event is applied meanwhile", func() bool {
				return s.count(`SELECT count(*) FROM orders WHERE id = $1 AND status = 'FULFILLED'`, o.OrderID) == 1
			})
			if victim.running() {
				victim.goOn()
				s.web[0] = victim
			} else {
				s.web[0] = s.startWeb(0, "")
			}
			s.until(o, "FULFILLED")
			s.assertClean(0)
		})
	}
}

// A request whose end never arrives is told so, not that something is wrong with it: the same request may come again.
func TestRequestThatStopsArriving(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	key := newKey()
	w := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
	a, err := w.answer()
	require.NoError(t, err)
	require.Equal(t, 408, a.status, "%s", a)
	require.Zero(t, s.count(`SELECT count(*) FROM orders`))
	again := s.place(s.ann, key, one(license))
	require.Equal(t, 201, again.status, "%s", again)
	require.False(t, again.replayed())
}
