//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

// Every connection that commands may use waits for a row that somebody else holds. Who only reads doesn't notice.
func TestCommandsExhaustTheirPool(t *testing.T) {
	t.Parallel()
	s := openOn(t, storetest.URL(t), 1, 1, "ONEFOLD_MAX_CONNS=2")
	before := s.until(s.pay(s.buy(one(license))), "FULFILLED")
	release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
	keys := s.during(12, func() {
		eventually(t, "the commands wait", s.waiting)
		for range 20 {
			s.answersReads(before)
		}
		requireComeBack(t, s.place(s.ann, newKey(), one(license))) // it waited in vain
		s.answersReads(before)
		release()
	})
	s.resumes(keys)
}

// answersReads: everything that needs no row of those held answers as if nothing were wrong.
func (s *shop) answersReads(o order) {
	s.t.Helper()
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/api/products", "/api/orders/" + o.OrderID.String()} {
		within(s.t, 2*time.Second, func() {
			a := s.must("GET", "http://"+s.addrs[0]+path, s.ann.token, "", nil)
			require.Equal(s.t, 200, a.status, "%s: %s", path, a)
		})
	}
}

// The workers' connections wait for one order's row: other orders are carried on between the lock timeouts.
func TestWorkersExhaustTheirPool(t *testing.T) {
	t.Parallel()
	s := openOn(t, storetest.URL(t), 1, 1, "ONEFOLD_MAX_CONNS=3")
	stuck, free := s.untilPayment(s.buy(one(license)), "PENDING"), s.untilPayment(s.buy(one(other)), "PENDING")
	release := s.hold(`SELECT 1 FROM orders WHERE id = $1 FOR UPDATE`, stuck.OrderID)
	s.pay(stuck)
	eventually(t, "a worker waits for the order", s.waiting)
	s.until(s.pay(free), "FULFILLED")
	require.Equal(t, "AWAITING_PAYMENT", s.see(stuck).Status)
	s.answersReads(free)
	release()
	s.until(stuck, "FULFILLED")
	s.assertClean(0)
}
