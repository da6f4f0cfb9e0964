//go:build e2e

package e2e

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

// openWired is a shop whose every process reaches Postgres through one line; the test itself looks past it.
func openWired(t *testing.T) (*shop, *line) {
	t.Helper()
	database := storetest.URL(t)
	l, address := wireTo(t, database)
	return openOn(t, database, 2, 2, "DATABASE_URL="+address), l
}

// RELIABILITY A0.1, DESIGN rule 14: a COMMIT whose answer is lost may have happened or not, wherever in a purchase it was.
func TestCommitLostBeforeOrAfterItReachesPostgres(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]func(commit int) loss{
		"before": func(n int) loss { return map[bool]loss{true: request}[n%4 == 0] },
		"after":  func(n int) loss { return map[bool]loss{true: reply}[n%4 == 0] },
		"both":   func(n int) loss { return []loss{nothing, request, nothing, reply, nothing}[n%5] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := openWired(t)
			keys := s.during(24, func() { l.set(func() { l.lose = every }) })
			s.payBehind()
			l.set(func() { l.lose = nil })
			s.resumes(keys)
			l.set(func() { t.Logf("%d commits, lost: %d before, %d after", l.commits, l.lost[request], l.lost[reply]) })
			require.Greater(t, l.lost[request]+l.lost[reply], 24)
			require.Equal(t, len(keys), s.count(`SELECT count(*) FROM orders`))
		})
	}
}

func TestConnectionsCutAndSlow(t *testing.T) {
	t.Parallel()
	s, l := openWired(t)
	l.set(func() { l.delay = 5 * time.Millisecond })
	keys := s.during(24, func() {
		for range 20 {
			l.cut()
			<-time.After(time.Duration(20+rand.IntN(150)) * time.Millisecond)
		}
		l.set(func() { l.delay = 0 })
	})
	s.resumes(keys)
}

// Nothing comes through any more and nobody is told: the worst kind of a dead network.
func TestNetworkSwallowsEverything(t *testing.T) {
	t.Parallel()
	s, l := openWired(t)
	before := s.pay(s.buy(one(license)))
	keys := s.during(8, func() {
		l.set(func() { l.quiet(true) })
		s.requireUnready()
		requireComeBack(t, s.place(s.ann, newKey(), one(license)))
		require.Equal(t, http.StatusServiceUnavailable, s.must("GET", s.api(0, "/orders/"+before.OrderID.String()), s.ann.token, "", nil).status)
		l.set(func() { l.quiet(false) })
		l.cut() // what was under way does not come back, either
	})
	s.resumes(keys)
	s.until(before, "FULFILLED")
}
