//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// TestSoak lets many people buy while a fifth of all exchanges with the provider, the carrier and the mail server go wrong, in every
// way that the simulator knows, and while the clients themselves lose answers, double their requests, change their minds and cancel.
// Two web processes, two workers, one database. At the end nothing is lost and nothing is double.
//
// `make soak N=10000` plays more than CI does and prints a table. ONEFOLD_SOAK is the number of purchases, ONEFOLD_SOAK_SEED
// repeats the same shoppers and the same dice of the faults (not the same interleaving: these are real processes).
func TestSoak(t *testing.T) { //nolint:paralleltest // it wants the machine for itself
	s := openSoak(t)
	t.Logf("soak: %d purchases, ONEFOLD_SOAK_SEED=%d", s.n, s.seed)
	s.arm()
	start := time.Now()
	s.everybodyBuys()
	faults := s.disarm()
	s.quiet()
	took := time.Since(start)
	report := s.judge(faults)
	fmt.Print(s.table(report, faults, took))
	report.require(t)
	out, errs, status := outcome(t, "", s.observer.env(), "check", "--json")
	require.Equal(t, 0, status, "onefold check: %s%s", out, errs)
	for _, p := range append(append([]*process{}, s.web...), s.work...) {
		assertHealthyLog(s.observer, p)
	}
}

const (
	mug          = "mug" // carried in parcels of ten
	faultPercent = 20.0
	// shoppers at a time, and their requests at a time.
	soakCrowd, soakSockets = 400, 24
	// soakPatience is how long one shopper waits for one thing, and the test for the end of everything. Shoppers who give up leave an
	// order behind whose outcome is honestly unknown; it becomes known when the faults stop.
	soakPatience = 10 * time.Minute
	// soakSmall is the largest soak that doesn't let real minutes pass (see hurry).
	soakSmall = 1000
)

// soak is a shop with a crowd in front of it.
type soak struct {
	*shop
	n                                               int
	seed                                            uint64
	crowd                                           *http.Client
	operator                                        string // token
	requests, replays, doubled, cut, reused, gaveUp atomic.Int64
	orders                                          []uuid.UUID // acknowledged, by purchase
	complaints                                      atomic.Int64
}

func openSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{n: number(t, "ONEFOLD_SOAK", 300), seed: uint64(number(t, "ONEFOLD_SOAK_SEED", int(rand.Int64N(1e9))))}
	s.shop = open(t, 2, 0)
	s.orders = make([]uuid.UUID, s.n)
	s.exec(`INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand) VALUES ($1, 'physical', $1, $1, '', '', 10000000)`, mug)
	s.exec(`INSERT INTO product_prices VALUES ($1, 'RUB', 69000)`, mug)
	run(t, "correct horse "+newKey()+"\n", s.observer.env(), "user", "add", "--email", "ops@example.com", "--role", "operator")
	s.operator = strings.TrimSpace(run(t, "", s.observer.env(), "token", "create", "--email", "ops@example.com"))
	s.env = append(s.env, "ONEFOLD_LEASE=10s", "ONEFOLD_LOG_LEVEL=warn")
	for i := range s.web {
		s.web[i].stop(syscall.SIGTERM)
		s.web[i] = s.startWeb(i, "")
	}
	for range 2 {
		s.work = append(s.work, s.serve("work", "", "--work"))
	}
	s.crowd = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakSockets, MaxConnsPerHost: soakSockets}}
	t.Cleanup(s.crowd.CloseIdleConnections)
	return s
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// arm gives every kind of exchange every fault it can have, each as often as the others.
func (s *soak) arm() {
	s.t.Helper()
	api := []string{"drop_after", "error_after", "error_before", "error_sticky", "hang", "delay", "busy", "reject", "rate_limit", "not_found", "garbage"}
	for on, kinds := range map[string][]string{
		"payments.create": api, "payments.get": api, "payments.cancel": api, "refunds.create": api, "refunds.get": api,
		"shipments.create": api, "shipments.get": api,
		"webhooks.send": {
			"duplicate", "second_event", "reorder", "hold", "lose", "forge", "wrong_amount", "wrong_currency", "unknown_object", "before_response",
			"delay", "garbage", "error_before", "error_after", "drop_after",
		},
		"smtp.send": {"drop_after", "error_after", "error_before", "hang", "delay", "reject"},
	} {
		each := faultPercent / float64(len(kinds))
		for i, do := range kinds {
			s.sim.control("POST", "/faults", map[string]any{
				"on": on, "do": do, "times": 0, "delayMs": 700, "booked": len(on)%2 == 0, "seed": s.seed + uint64(crc32.ChecksumIEEE([]byte(on+do))),
				"percent": 100 * each / (100 - float64(i)*each), // of what the faults before it let through
			}, 201)
		}
	}
}

// disarm ends the faults, lets late webhooks go, and says how often each fault struck.
func (s *soak) disarm() map[string]int {
	s.t.Helper()
	struck := map[string]int{}
	list := decode[struct {
		Items []struct {
			On, Do string
			Used   int
		}
	}](s.t, s.sim.control("GET", "/faults", nil, 200))
	for _, f := range list.Items {
		struck[f.On+" "+f.Do] += f.Used
	}
	s.sim.control("DELETE", "/faults", nil, 204)
	s.sim.control("POST", "/release", nil, 200)
	return struck
}

func (s *soak) everybodyBuys() {
	s.t.Helper()
	if s.n <= soakSmall {
		defer s.hurry()()
	}
	var crowd errgroup.Group
	crowd.SetLimit(soakCrowd)
	for i := range s.n {
		crowd.Go(func() error {
			p := &purchase{soak: s, i: i, dice: rand.New(rand.NewPCG(s.seed, uint64(i))), buyer: s.ann}
			if i%2 == 1 {
				p.buyer = s.bob
			}
			switch err := p.live(); {
			case errors.Is(err, errGaveUp):
				s.gaveUp.Add(1)
			case err != nil && s.complaints.Add(1) <= 20:
				s.t.Errorf("purchase %d, order %s: %v", i, s.orders[i], err)
			}
			return nil
		})
	}
	require.NoError(s.t, crowd.Wait())
}

// hurry lets minutes pass: what nobody works on becomes due and its last call old. A small soak can't wait for real ones, and a large
// one not for the pauses of an hour that many failures led to; to look now is what an operator would press when a provider is back.
func (s *soak) hurry() (stop func()) {
	done := make(chan struct{})
	go func() {
		for tick := time.NewTicker(2 * time.Second); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
			for _, sql := range []string{
				`UPDATE operations SET next_attempt_at = now(), sent_at = sent_at - interval '2 minutes'
					WHERE status = 'PROCESSING' AND lease_expires_at IS NULL AND next_attempt_at > now() + interval '2 seconds'`,
				`UPDATE incoming_events SET next_attempt_at = now() WHERE status = 'RECEIVED' AND next_attempt_at > now() + interval '1 second'`,
			} {
				_, _ = s.db.Exec(s.t.Context(), sql)
			}
		}
	}()
	return func() { close(done) }
}

// quiet waits until nothing is due: only payments that nobody pays are still looked at.
func (s *soak) quiet() {
	s.t.Helper()
	defer s.hurry()()
	open := `SELECT (SELECT count(*) FROM operations op WHERE status = 'PROCESSING' AND type <> 'WATCH_PAYMENT') +
		(SELECT count(*) FROM operations op JOIN payments p ON p.order_id = op.order_id AND op.key LIKE '%:' || p.attempt WHERE op.status = 'PROCESSING'
			AND op.type = 'WATCH_PAYMENT' AND p.status <> 'PENDING') +
		(SELECT count(*) FROM payments WHERE status IN ('CREATED', 'SUBMITTING', 'UNKNOWN')) +
		(SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED') +
		(SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL AND parked_at IS NULL)`
	for deadline := time.Now().Add(soakPatience); s.count(open) > 0; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("still open: %v", s.texts(`SELECT format('%s %s: %s', type, id, last_error) FROM operations WHERE status = 'PROCESSING' LIMIT 5`))
		}
	}
}
