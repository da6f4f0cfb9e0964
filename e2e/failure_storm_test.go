//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storm kills processes under a load of purchases, at every boundary of a step and at random, and starts them again.
type storm struct {
	*shop
	tickets chan int   // one for every order
	all     []*process // that ever ran
	kills   int
	hit     map[string]int // how often a place was where a process died
}

// TestKillStorm: orders come in while processes die all the time; every client repeats with its key. With the last process up
// again everything ends by itself: paid and fulfilled, or honestly unpaid. ONEFOLD_STORM=n plays n orders instead of 80.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	orders, _ := strconv.Atoi(os.Getenv("ONEFOLD_STORM"))
	if orders == 0 {
		orders = 80
	}
	s := &storm{shop: open(t, 2, 2), tickets: make(chan int, orders), hit: map[string]int{}}
	s.all = append(append(s.all, s.web...), s.work...)
	var clients, payer sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := range s.tickets {
				s.insist(i, newKey())
			}
		})
	}
	sold := sync.OnceFunc(func() { close(s.tickets) })
	defer sold()
	over := make(chan struct{})
	payer.Go(func() { s.pays(over) })
	defer func() { close(over); payer.Wait() }()
	s.rage(orders)
	sold()
	clients.Wait()
	for i, p := range append(append([]*process{}, s.web...), s.work...) {
		p.said("serving")
		require.True(t, i >= len(s.web) || s.probe(i, "/readyz") == 200)
	}
	begun := time.Now()
	s.calmed(orders)
	t.Logf("%d kills, at %d places: %v; the last order ended %s after the last one was placed", s.kills, len(s.hit), s.hit, time.Since(begun).Round(time.Millisecond))
	s.provesClean(s.kills, s.all)
}

// rage spends the tickets on rounds of kills: one at a place, or one at random.
func (s *storm) rage(orders int) {
	s.t.Helper()
	var rounds []string
	for range max(1, orders/80) {
		rounds = append(append(rounds, "web:before-commit/CREATE_ORDER", "web:after-commit/CREATE_ORDER", "web:after-receive"), workSteps...)
		rounds = append(rounds, make([]string, 20)...) // at random
	}
	rand.Shuffle(len(rounds), func(i, k int) { rounds[i], rounds[k] = rounds[k], rounds[i] })
	for i, at := range rounds {
		s.strike(at, func() {
			for n := i * orders / len(rounds); n < (i+1)*orders/len(rounds); n++ {
				s.tickets <- n
			}
		})
	}
}

// strike kills one process at random, or lets its successor die at a place (or, if it doesn't get there, after a while).
func (s *storm) strike(at string, buy func()) {
	s.t.Helper()
	i, isWeb := rand.IntN(2), rand.IntN(2) == 0
	if at == "" {
		buy()
		<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond) // the moment is what is random
	} else {
		at, isWeb = strings.CutPrefix(at, "web:")
		if at == "after-receive" {
			i = 0 // where the provider's events go
		}
		s.replace(i, isWeb, at)
		victim := *s.slot(i, isWeb)
		lasts(victim, func() bool { return !strings.Contains(victim.log(), `"serving"`) })
		buy()
		lasts(victim, func() bool { return true })
		if !victim.running() {
			s.hit[at]++
		}
	}
	s.replace(i, isWeb, "")
}

// lasts waits, but not for long, while the process runs and this is so.
func lasts(p *process, so func() bool) {
	for until := time.Now().Add(2 * time.Second); p.running() && so() && time.Now().Before(until); {
		<-time.After(10 * time.Millisecond)
	}
}

func (s *storm) slot(i int, isWeb bool) **process {
	if isWeb {
		return &s.web[i]
	}
	return &s.work[i]
}

func (s *storm) replace(i int, isWeb bool, crash string) {
	s.t.Helper()
	p := s.slot(i, isWeb)
	(*p).kill()
	s.kills++
	if isWeb {
		*p = s.serve(fmt.Sprintf("web%d", i), crash, "--web", "--addr", s.addrs[i])
	} else {
		*p = s.serve("work", crash, "--work")
	}
	s.all = append(s.all, *p)
}

// pays plays the payers: what becomes of a payment is in its last digit. 0 and 1 never come back, 2 and 3 decline.
func (s *storm) pays(over <-chan struct{}) {
	decided := map[string]bool{}
	for {
		for _, c := range s.sim.ledger().Payments {
			if decided[c.ID] {
				continue
			}
			decided[c.ID] = true
			switch c.Reference[len(c.Reference)-1] {
			case '0', '1':
			case '2', '3':
				s.sim.decide(c.ID, "cancel")
			default:
				s.sim.decide(c.ID, "succeed")
			}
		}
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// calmed waits until every order is what its payer made of it.
func (s *storm) calmed(orders int) {
	s.t.Helper()
	require.Equal(s.t, orders, s.count(`SELECT count(*) FROM orders`), "one order per key")
	require.Equal(s.t, orders, s.count(`SELECT count(*) FROM payments`), "one attempt per order")
	var left []string
	defer func() { s.t.Log("left:", left) }()
	still, moved := "", time.Now() // a busy machine may take long, but not stand still
	soon(s.t, 10*time.Minute, "every order is ended", func() bool {
		left = s.texts(`SELECT concat_ws(' ', o.id, o.status, p.status, w.ops) FROM payments p JOIN orders o ON o.id = p.order_id,
			LATERAL (SELECT string_agg(concat_ws(' ', type, status, attempt, failure_code), ', ') AS ops FROM operations op
				WHERE op.order_id = o.id AND status <> 'COMPLETED' AND (type, status) NOT IN (('EXPIRE_ORDER', 'PROCESSING'), ('WATCH_PAYMENT', 'PROCESSING'))) w
			WHERE concat_ws(' ', o.status, p.status, w.ops) NOT LIKE CASE
				WHEN right(p.id::text, 1) IN ('0', '1') THEN 'AWAITING_PAYMENT PENDING'
				WHEN right(p.id::text, 1) IN ('2', '3') THEN 'AWAITING_PAYMENT CANCELED'
				WHEN w.ops LIKE 'SEND_NOTIFICATION FAILED % MAIL_UNCONFIRMED' THEN 'FULFILLED SUCCEEDED %' -- cut off twice: a third try might be a third mail
				ELSE 'FULFILLED SUCCEEDED' END`)
		if now := fmt.Sprint(left); now != still {
			still, moved = now, time.Now()
		}
		require.Less(s.t, time.Since(moved), patience, "nothing moves any more")
		return len(left) == 0
	})
}
