//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Seed test 7 and CASES C29 c, C35 a: a worker dies at every point of a purchase, another one finishes it.
func TestPurchaseSurvivesAWorkerKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"after-publish:1", "after-publish:2", "after-publish:3", "after-publish:4", "after-claim/CREATE_PAYMENT", "after-call/CREATE_PAYMENT",
		"after-effect/ISSUE_LICENSES", "after-effect/ACCRUE_BONUS", "after-claim/SEND_NOTIFICATION", "after-call/SEND_NOTIFICATION",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 0)
			victim := s.startWorker(at)
			o := s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"})
			booked := func() bool { return len(s.sim.charges(o.last().PaymentID)) == 1 }
			eventually(t, "the provider has booked, or the worker is dead", func() bool { return booked() || !victim.running() })
			revived := !victim.running()
			if revived {
				victim.crashed()
				s.startWorker("")
				eventually(t, "the provider has booked", booked)
			}
			s.sim.decide(s.sim.charges(o.last().PaymentID)[0].ID, "succeed") // the payer doesn't care who is alive
			victim.crashed()
			keys := s.texts(`SELECT license_key FROM licenses ORDER BY order_item_id, unit`)
			if !revived {
				s.startWorker("")
			}
			done := s.until(o, "FULFILLED")
			require.Len(t, done.Items[0].Licenses, 3)
			if len(keys) > 0 {
				require.Equal(t, keys, done.Items[0].Licenses, "what was issued before the crash is unchanged")
			}
			s.assertClean(1)
			assertSameKeysInMail(t, s, done)
		})
	}
}

func assertSameKeysInMail(t *testing.T, s *shop, o order) {
	t.Helper()
	mails := s.sim.ledger().Mails
	require.NotEmpty(t, mails)
	for _, m := range mails {
		for _, key := range o.Items[0].Licenses {
			require.Contains(t, m.Body, key)
		}
	}
}

// Seed test 7, second half: the worker dies between PAID and the licence.
func TestWorkerKilledBetweenPaidAndLicence(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	release := s.hold(`LOCK TABLE licenses IN EXCLUSIVE MODE`)
	o := s.pay(s.buy(one(license)))
	s.until(o, "PAID")
	eventually(t, "the licence waits for our lock", s.waiting)
	s.work[0].kill()
	release()
	require.Zero(t, s.count(`SELECT count(*) FROM licenses`))
	s.startWorker("")
	s.until(o, "FULFILLED")
	s.assertClean(0)
}

// CASES C04 e and C35 a: web processes die right after COMMIT, before they can answer or wake anybody.
func TestC04eC35aWebKilledAfterCommitLosesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	s.web[0].kill()
	const rounds, perRound = 5, 10
	keys := make([]string, rounds*perRound)
	for round := range rounds {
		victim := s.startWeb(0, fmt.Sprintf("after-commit/CREATE_ORDER:%d", 2+rand.IntN(perRound-2)))
		together(perRound, func(i int) {
			n := round*perRound + i
			keys[n] = newKey()
			_, _ = s.try("POST", s.api(0, "/orders"), s.ann.token, keys[n], one(license)) // answered or not
		})
		victim.crashed()
	}
	committed := s.count(`SELECT count(*) FROM orders`)
	require.Positive(t, committed)
	s.web = append(s.web, s.startWeb(0, ""))
	replayed := 0
	for _, key := range keys {
		a := s.place(s.ann, key, one(license))
		require.Equal(t, 201, a.status, "%s", a)
		if a.replayed() {
			replayed++
		}
	}
	require.Equal(t, committed, replayed, "what was committed is replayed, the rest runs now")
	require.Equal(t, len(keys), s.count(`SELECT count(*) FROM orders`))
	s.startWorker("")
	s.payAll()
	s.assertClean(0)
	require.Equal(t, len(keys), s.count(`SELECT count(*) FROM orders WHERE status = 'FULFILLED'`))
}

// payAll pays every order at the provider and waits for the effects.
func (s *shop) payAll() {
	s.t.Helper()
	paid := map[string]bool{}
	eventually(s.t, "every order can be paid", func() bool {
		for _, id := range s.texts(`SELECT provider_payment_id FROM payments WHERE provider_payment_id IS NOT NULL`) {
			if !paid[id] {
				s.sim.decide(id, "succeed")
				paid[id] = true
			}
		}
		return len(paid) == s.count(`SELECT count(*) FROM orders`)
	})
	eventually(s.t, "every order is fulfilled", func() bool { return s.count(`SELECT count(*) FROM orders WHERE status <> 'FULFILLED'`) == 0 })
}

// CASES C18: whatever dies between the delivery and its effect, the event is neither lost nor applied twice.
func TestC18InboxRowOutlivesEveryProcess(t *testing.T) {
	t.Parallel()
	t.Run("a, d: web killed after the inbox insert, before its 200", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o, c := s.unpaid()
		s.stopWorkers()
		s.succeeded(c)
		event := s.sim.event("", "payment.succeeded", c)
		require.Equal(t, []int{200}, s.sim.send(event, 1))
		s.web[0].kill()
		s.web = append(s.web[:0:0], s.startWeb(0, ""))
		require.Equal(t, "AWAITING_PAYMENT", s.see(o).Status)
		s.startWorker("")
		s.until(o, "FULFILLED") // without any redelivery
		require.Equal(t, []int{200}, s.sim.send(event, 1))
		require.Equal(t, 2, s.count(`SELECT deliveries FROM incoming_events WHERE event_id = $1`, event["id"]))
		s.assertClean(0)
	})
	t.Run("b, c: worker killed while applying", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o, c := s.unpaid()
		release := s.hold(`SELECT 1 FROM orders WHERE id = $1 FOR UPDATE`, o.OrderID)
		s.sim.decide(c.ID, "succeed")
		eventually(t, "the worker is applying", s.waiting)
		s.work[0].kill()
		release()
		s.startWorker("")
		s.until(o, "FULFILLED")
		require.Equal(t, 1, s.count(`SELECT deliveries FROM incoming_events WHERE event_type = 'payment.succeeded'`))
		s.assertClean(0)
	})
	t.Run("the handler fails three times, then works", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o, _ := s.unpaid()
		s.exec(`CREATE SEQUENCE failures`) // counts on although the transaction is rolled back
		s.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF nextval('failures') <= 3 THEN RAISE EXCEPTION 'on purpose'; END IF; RETURN NEW; END $$`)
		s.exec(`CREATE TRIGGER fail BEFORE UPDATE ON orders FOR EACH ROW WHEN (NEW.status = 'PAID') EXECUTE FUNCTION fail()`)
		s.pay(o)
		s.until(o, "FULFILLED")
		require.Equal(t, 4, s.count(`SELECT last_value FROM failures`))
		s.assertClean(0)
	})
	t.Run("the database is away", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o, c := s.unpaid()
		s.away(func() {
			requireAll(t, 503, s.sim.send(s.sim.event("evt_lost", "payment.succeeded", c), 3))
			s.sim.decide(c.ID, "succeed") // the provider goes on trying
			eventually(t, "the provider was refused", func() bool {
				for _, call := range s.sim.ledger().Calls {
					if call.On == "webhooks.send" && call.Status == 503 && call.Key != "evt_lost" {
						return true
					}
				}
				return false
			})
		})
		s.until(o, "FULFILLED")
		require.Zero(t, s.count(`SELECT count(*) FROM incoming_events WHERE event_id = 'evt_lost'`))
		s.assertClean(0)
	})
}

// CASES C28: the relay dies at random right after its COMMIT; then dispatched rows are made due again.
func TestC28RelayKilledAtRandomAndEventsDispatchedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 0)
	const portions, perPortion, payments = 10, 20, 5
	for range portions {
		victim := s.startWorker(fmt.Sprintf("after-publish:%d", 1+rand.IntN(3))) // order placed, payment, the provider's first event
		together(4, func(i int) {
			for range perPortion / 4 {
				_, _ = s.try("POST", s.api(i%2, "/orders"), s.ann.token, newKey(), one(license))
			}
		})
		victim.crashed()
	}
	require.Equal(t, portions*perPortion, s.count(`SELECT count(*) FROM orders`))
	s.startWorker("")
	eventually(t, "every order can be paid", func() bool { return s.count(`SELECT count(*) FROM payments WHERE status <> 'PENDING'`) == 0 })
	s.stopWorkers()
	charges := s.sim.ledger().Payments
	require.Len(t, charges, portions*perPortion)
	for part := range slices.Chunk(charges, len(charges)/payments) {
		victim := s.startWorker(fmt.Sprintf("after-publish:%d", 1+rand.IntN(3))) // the provider's word, order paid, the effects
		for _, c := range part {
			s.sim.decide(c.ID, "succeed")
		}
		victim.crashed()
	}
	const kills = portions + payments
	s.startWorker("")
	s.payAll()
	s.assertClean(kills)

	licenses := s.texts(`SELECT license_key FROM licenses ORDER BY order_item_id, unit`)
	mails := len(s.sim.ledger().Mails)
	require.Len(t, licenses, portions*perPortion)
	s.exec(`UPDATE outbox_events SET dispatched_at = NULL, next_attempt_at = now() WHERE id IN (
		SELECT id FROM outbox_events WHERE event_type = 'ORDER_PAID' ORDER BY id LIMIT 100)`)
	s.exec(`UPDATE incoming_events SET status = 'RECEIVED', processed_at = NULL, next_attempt_at = now() WHERE id IN (
		SELECT id FROM incoming_events WHERE event_type = 'payment.succeeded' ORDER BY id LIMIT 100)`)
	s.settled()
	require.Equal(t, licenses, s.texts(`SELECT license_key FROM licenses ORDER BY order_item_id, unit`))
	require.Len(t, s.sim.ledger().Mails, mails)
	s.assertClean(kills)
}

// away makes the database unreachable while f runs.
func (s *shop) away(f func()) {
	s.t.Helper()
	name := s.text(`SELECT current_database()`)
	cfg, err := pgx.ParseConfig(s.url)
	require.NoError(s.t, err)
	cfg.Database = "postgres"
	conn, err := pgx.ConnectConfig(s.t.Context(), cfg)
	require.NoError(s.t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(s.t.Context())) }()
	admin := func(sql string) {
		_, err := conn.Exec(s.t.Context(), sql)
		require.NoError(s.t, err)
	}
	admin(fmt.Sprintf(`ALTER DATABASE %q ALLOW_CONNECTIONS false`, name))
	admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '` + name + `'`)
	defer func() { // also if f fails: the rest of the test ends by itself
		_, err := conn.Exec(context.WithoutCancel(s.t.Context()), fmt.Sprintf(`ALTER DATABASE %q ALLOW_CONNECTIONS true`, name))
		require.NoError(s.t, err)
		s.db.Reset()
	}()
	f()
}

// The provider forgets nothing: its ledger survives kill -9, and undelivered events are sent after it is back.
func TestSimulatorLedgerSurvivesKill(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	o, c := s.unpaid()
	s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0})
	s.sim.decide(c.ID, "succeed")
	s.sim.process.kill()
	s.sim = s.startSimulator()
	require.Equal(t, "succeeded", s.sim.charges(o.last().PaymentID)[0].Status)
	s.sim.control("POST", "/release", nil, 200)
	s.until(o, "FULFILLED")
	s.assertClean(0)
}

// Ordinary ends: SIGTERM lets running work finish; nothing is left half done.
func TestServeEndsCleanlyOnSIGTERM(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 2)
	o := s.pay(s.buy(one(license)))
	for _, p := range append(append([]*process{}, s.web...), s.work...) {
		require.Equal(t, 0, p.stop(syscall.SIGTERM), tail(p.log()))
	}
	s.web = []*process{s.startWeb(0, ""), s.startWeb(1, "")}
	s.startWorker("")
	s.until(o, "FULFILLED")
	s.assertClean(0)
}
