//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One web and one worker whose clock is ten minutes off, next to right ones: leases and schedules go by the database's clock, so
// nothing happens early, late or twice. Webhooks are refused by the wrong clock, and nobody misses them.
func TestOneClockTenMinutesOff(t *testing.T) {
	t.Parallel()
	for _, off := range []string{"+10m", "-10m"} {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			s := open(t, 2, 0)
			require.Zero(t, s.web[0].stop(term))
			s.web[0] = s.serveOff(off, "web0", "--web", "--addr", s.addrs[0])
			eventually(t, "it is ready", func() bool {
				a, err := s.try("GET", "http://"+s.addrs[0]+"/readyz", "", "", nil)
				return err == nil && a.status == 200
			})
			wrong := s.serveOff(off, "work", "--work")
			s.work = append(s.work, wrong)
			lost := s.paidUnheard("with the wrong worker alone")

			victim := s.startWorker("after-call/CREATE_PAYMENT") // the wrong one takes its lease over, in time by the database's clock
			s.sim.breaks(fault{On: "payments.create", Do: "delay", DelayMs: 700, Times: 0})
			for victim.running() {
				s.untilPayment(s.buy(one(license)), "PENDING")
			}
			victim.crashed()
			s.startWorker("")
			s.untilPayment(s.buy(one(license)), "PENDING")
			s.takenOver(1)

			s.until(lost, "FULFILLED") // the watch has looked
			require.Positive(t, s.count(`SELECT count(*) FROM orders WHERE status = 'AWAITING_PAYMENT'`))
			s.assertClean(0)
		})
	}
}

func (s *shop) serveOff(by, name string, args ...string) *process {
	s.t.Helper()
	return launch(s.t, name+"-off", crashing, append([]string{"ONEFOLD_CLOCK=" + by}, s.env...), append([]string{"serve"}, args...)...)
}

// paidUnheard is an order whose payment succeeded while the provider's word about it is refused, as too old or from the future.
func (s *shop) paidUnheard(how string) order {
	s.t.Helper()
	o := s.pay(s.buy(one(license)))
	eventually(s.t, "the webhook is refused "+how, func() bool {
		for _, c := range s.sim.calls("webhooks.send", o.last().PaymentID) {
			if c.Status == 401 {
				return true
			}
		}
		return false
	})
	require.Zero(s.t, s.count(`SELECT count(*) FROM incoming_events`))
	return o
}

// takenOver: this many leases were taken over, each after it had ended; every other call was made once.
func (s *shop) takenOver(leases int) {
	s.t.Helper()
	payments := s.count(`SELECT count(*) FROM payments`)
	require.Len(s.t, s.sim.ledger().Payments, payments)
	require.Equal(s.t, leases, s.count(`SELECT sum(attempt - 1) FROM operations WHERE type = 'CREATE_PAYMENT'`))
}
