//go:build e2e

package e2e

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// CASES C10 a: the provider is slow and its word of success comes while our call still waits for the answer.
func TestC10_NoLockIsHeldAcrossTheCall(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	s.env = append(s.env, "ONEFOLD_LEASE=10s") // the calls get their answers
	s.startWorker("")
	s.startWorker("")
	rounds := scaled(16)
	s.sim.breaks(fault{On: "payments.create", Do: "delay", Times: 0, DelayMs: 3000})
	orders := make([]order, rounds)
	for i := range orders {
		orders[i] = s.buy(one(license))
	}
	told := map[string]bool{}
	eventually(t, "every shopper has paid while the call waits", func() bool {
		for _, c := range s.sim.ledger().Payments {
			if !told[c.ID] {
				told[c.ID] = true
				s.sim.decide(c.ID, "succeed")
			}
		}
		return len(told) == rounds
	})
	for _, o := range orders {
		s.until(o, "FULFILLED")
	}
	eventually(t, "the answers come, after the events", func() bool {
		return s.count(`SELECT count(DISTINCT operation_id) FROM journal WHERE kind = 'operation.already_settled'`) == rounds
	})
	require.Zero(t, s.count(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
	require.Len(t, s.sim.ledger().Payments, rounds)
	s.assertClean(0)
}

// CASES C10 b: somebody holds the promo code's row for ten seconds while sixty shoppers want it.
func TestC10_AHotRowDelaysOnlyThoseWhoWantIt(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	s.web[0].kill()
	s.env = append(s.env, "ONEFOLD_MAX_CONNS=10")
	s.web[0] = s.startWeb(0, "")
	s.startWorker("")
	s.exec(`INSERT INTO promo_codes VALUES ('HOT', 10, 1000)`)
	release := s.hold(`SELECT 1 FROM promo_codes WHERE code = 'HOT' FOR UPDATE`)
	time.AfterFunc(10*time.Second, release)
	const shoppers = 60
	w, keys, answers := wish{Items: []item{{license, 1}}, Currency: "RUB", PromoCode: "HOT"}, make([]string, shoppers), make([]answer, shoppers)
	var slowest time.Duration
	var reading, buying sync.WaitGroup
	stop := make(chan struct{})
	eventuallyWaiting := make(chan struct{})
	reading.Go(func() {
		<-eventuallyWaiting
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				begun := time.Now()
				a, err := s.try("GET", s.api(0, "/products"), s.ann.token, "", nil)
				if err != nil || a.status != 200 {
					t.Errorf("GET: %v %s", err, a)
				}
				slowest = max(slowest, time.Since(begun))
			}
		}
	})
	buying.Go(func() {
		together(shoppers, func(i int) {
			keys[i] = newKey()
			answers[i], _ = s.try("POST", s.api(0, "/orders"), s.ann.token, keys[i], w)
		})
	})
	eventually(t, "shoppers wait for the row", s.waiting)
	close(eventuallyWaiting)
	buying.Wait()
	close(stop)
	reading.Wait()
	require.Less(t, slowest, time.Second, "what has nothing to do with the code stays quick")
	made := 0
	for i, a := range answers {
		require.Contains(t, []int{201, 409, 503}, a.status, "%s", a)
		if a.status == 201 {
			made++
			continue
		}
		require.NotEmpty(t, a.header.Get("Retry-After"), "%s", a)
		require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE key = $1`, keys[i]), "refused before anything was made")
	}
	require.Equal(t, made, s.count(`SELECT count(*) FROM orders`))
	t.Logf("%d of %d at once; slowest read %s", made, shoppers, slowest.Round(time.Millisecond))
	for i, key := range keys { // when in doubt, send the same request again
		a := s.place(s.ann, key, w)
		require.Equal(t, 201, a.status, "%s", a)
		require.Equal(t, answers[i].status == 201, a.replayed())
	}
	require.Equal(t, shoppers, s.count(`SELECT uses FROM promo_codes WHERE code = 'HOT'`))
	s.settled()
	require.Len(t, s.sim.ledger().Payments, shoppers)
	s.assertClean(0)
}

// CASES C10 c: a serialization failure at COMMIT is our business, not the client's, and so is whatever else only says "again".
func TestC10_ASerializationFailureIsRetriedInside(t *testing.T) {
	t.Parallel()
	for code, message := range map[string]string{
		"40001": "could not serialize access", "40P01": "deadlock detected", "XX000": "new multixact has more than one updating member: 0 2[1 (keysh), 2 (nokeyupd)]",
	} {
		t.Run("c: "+code, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 1)
			s.exec(`CREATE SEQUENCE failures`)
			s.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN IF nextval('failures') = 1 THEN RAISE EXCEPTION '` + message + `' USING ERRCODE = '` + code + `'; END IF; RETURN NULL; END $$`)
			s.exec(`CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`)
			o := s.buy(one(license))
			require.Equal(t, 2, s.count(`SELECT last_value FROM failures`), "it ran twice inside")
			s.pay(o)
			s.until(o, "FULFILLED")
			s.assertClean(0)
		})
	}
}

// CASES C11: the last unit and the last use of a code.
func TestC11_TheLastOne(t *testing.T) {
	t.Parallel()
	last := func(t *testing.T) (*shop, wish) {
		t.Helper()
		s := open(t, 2, 1)
		s.product("last", "last", 10000)
		s.exec(`UPDATE products SET on_hand = 1 WHERE id = 'last'`)
		s.exec(`INSERT INTO promo_codes VALUES ('ONLY', 50, 1)`)
		return s, wish{Items: []item{{"last", 1}}, Currency: "RUB", PromoCode: "ONLY"}
	}
	race := func(s *shop, users []buyer, w func(i int) wish) (winner int, answers []answer, keys []string) {
		keys, answers = make([]string, len(users)), make([]answer, len(users))
		together(len(users), func(i int) {
			keys[i] = newKey()
			answers[i], _ = s.try("POST", s.api(i%2, "/orders"), users[i].token, keys[i], w(i))
		})
		winner = -1
		for i, a := range answers {
			if a.status == 201 {
				require.Equal(s.t, -1, winner, "a second winner")
				winner = i
				continue
			}
			require.Equal(s.t, 409, a.status, "%s", a)
			require.Contains(s.t, []string{"OUT_OF_STOCK", "PROMO_USED"}, a.code(), "%s", a)
		}
		require.NotEqual(s.t, -1, winner, "no winner")
		return winner, answers, keys
	}
	taken := func(s *shop) string {
		return s.text(`SELECT reserved || ' ' || uses FROM products, promo_codes WHERE id = 'last' AND code = 'ONLY'`)
	}
	t.Run("a, c, d", func(t *testing.T) {
		t.Parallel()
		s, w := last(t)
		users := s.crowd("shopper", 30)
		won, answers, keys := race(s, users, func(int) wish { return w })
		require.Equal(t, "1 1", taken(s))
		for i := range 10 { // c: the winner is told the same, whatever is left
			requireReplay(t, answers[won], s.must("POST", s.api(i%2, "/orders"), users[won].token, keys[won], w))
		}
		require.Equal(t, "1 1", taken(s))
		s.settled()
		require.Len(t, s.sim.ledger().Payments, 1, "nobody else was charged")

		// d: a decline alone frees nothing (another card may come); the shopper gives up, with many presses at once.
		o := decode[order](t, answers[won])
		s.ann = users[won]
		s.sim.decide(s.untilPayment(o, "PENDING").last().ProviderPaymentID, "cancel")
		s.untilPayment(o, "CANCELED")
		require.Equal(t, "1 1", taken(s))
		refused := s.must("POST", s.api(0, "/orders"), users[(won+1)%30].token, newKey(), w)
		require.Equal(t, 409, refused.status, "%s", refused)
		together(10, func(i int) {
			_, _ = s.try("POST", s.api(i%2, "/orders/"+o.OrderID.String()+"/cancel"), users[won].token, newKey(), nil)
		})
		require.Equal(t, "CANCELED", s.see(o).Status)
		require.Equal(t, "0 0", taken(s), "given back exactly once")
		s.sim.send(s.sim.event("", "payment.canceled", s.sim.charges(o.last().PaymentID)[0]), 3)
		s.settled()
		require.Equal(t, "0 0", taken(s))
		s.ann = users[(won+2)%30]
		s.until(s.pay(s.buy(w)), "FULFILLED")
		require.Equal(t, "1 1", taken(s))
		require.Len(t, s.sim.ledger().Payments, 2)
		s.assertClean(0)
	})
	t.Run("b: one limit under two spellings", func(t *testing.T) { // a promotion has one code here; its spellings share the limit
		t.Parallel()
		s, w := last(t)
		s.exec(`UPDATE products SET on_hand = 100 WHERE id = 'last'`)
		users := s.crowd("shopper", 12)
		spellings := []string{"ONLY", "only", " Only "}
		_, answers, _ := race(s, users, func(i int) wish {
			w := w
			w.PromoCode = spellings[i%3]
			return w
		})
		for _, a := range answers {
			require.NotEqual(t, "OUT_OF_STOCK", a.code())
		}
		require.Equal(t, "1 1", taken(s))
		require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE discount_minor > 0`))
		s.settled()
		require.Len(t, s.sim.ledger().Payments, 1, "nobody pays a full price that he didn't agree to")
		s.assertClean(0)
	})
}

// history are the states an order's or a payment's journal went through, oldest first.
func (s *shop) history(o order, entity string) []string {
	s.t.Helper()
	return s.texts(`SELECT detail->>'to' FROM journal WHERE order_id = $1 AND kind LIKE $2 || '.%' AND detail ? 'to' ORDER BY id`, o.OrderID, entity)
}

// CASES C12 a: the page that a shopper returns to only reads; what could be stale is the worker that waits for the answer of the
// call. It stands still with "pending" in its hand while the success is applied.
func TestC12_AStaleWriterChangesNothing(t *testing.T) {
	t.Parallel()
	t.Run("a: an older answer after the success", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 0)
		late := s.startFreezing("after-call/CREATE_PAYMENT")
		o := s.buy(one(license))
		eventually(t, "the answer is there, its record isn't", late.frozen)
		s.startWorker("")
		c := s.sim.charges(o.last().PaymentID)[0]
		s.sim.decide(c.ID, "succeed")
		together(10, func(int) { // the shopper returns, many times
			a, err := s.try("GET", "http://"+s.addrs[0]+"/pay/return?order="+o.OrderID.String(), "", "", nil)
			if err != nil || a.status != http.StatusSeeOther {
				t.Errorf("return: %v %s", err, a)
			}
		})
		s.until(o, "FULFILLED")
		before := s.effects()
		late.thaw()
		eventually(t, "the stale writer finds out", func() bool {
			return s.count(`SELECT count(*) FROM journal j JOIN operations o ON o.id = j.operation_id
				WHERE j.kind IN ('operation.late_owner', 'operation.already_settled') AND o.type = 'CREATE_PAYMENT'`) == 1
		})
		require.Equal(t, before, s.effects())
		require.Equal(t, "SUCCEEDED", s.see(o).last().Status)
		require.Equal(t, []string{"AWAITING_PAYMENT", "PAID", "FULFILLED"}, s.history(o, "order"))
		require.Len(t, s.sim.ledger().Mails, 1)
		s.assertClean(0)
	})
	t.Run("b: the dashboard's refund stands still while an operator refunds", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.pay(s.buy(one(license)))
		s.until(o, "FULFILLED")
		s.settled()
		s.stopWorkers()
		operator, key := s.operator(), newKey()
		s.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$`)
		s.exec(`CREATE TRIGGER gate BEFORE INSERT ON refunds FOR EACH ROW WHEN (NEW.external) EXECUTE FUNCTION gate()`)
		release := s.hold(`SELECT pg_advisory_lock(42)`)
		reader := s.startWorker("")
		s.refundOutside(o, "200.00")
		eventually(t, "the event is read, not applied", s.waiting)
		reader.freeze()
		release()
		answered := make(chan answer)
		go func() {
			a, _ := s.try("POST", s.api(0, "/orders/"+o.OrderID.String()+"/refunds"), operator.token, key,
				map[string]any{"reason": "x", "amount": map[string]string{"amount": "300.00", "currency": "RUB"}})
			answered <- a
		}()
		eventually(t, "the operator's refund waits for the one that read first", s.waiting)
		reader.thaw()
		a := <-answered
		require.Equal(t, 202, a.status, "%s", a)
		s.until(o, "PARTIALLY_REFUNDED")
		eventually(t, "both are booked", func() bool { return s.count(`SELECT refunded_minor FROM payments`) == 50000 })
		require.Equal(t, 1, s.count(`SELECT count(*) FROM refunds WHERE external AND amount_minor = 20000 AND status = 'SUCCEEDED'`))
		require.Equal(t, 1, s.count(`SELECT count(*) FROM refunds WHERE NOT external AND amount_minor = 30000 AND status = 'SUCCEEDED'`))
		require.Len(t, s.sim.outside().Refunds, 2)
		require.Equal(t, []string{"AWAITING_PAYMENT", "PAID", "FULFILLED", "PARTIALLY_REFUNDED"}, s.history(o, "order"))
		s.proven()
	})
}

// refundOutside sends money back in the provider's own dashboard.
func (s *shop) refundOutside(o order, amount string) {
	s.t.Helper()
	a := s.must("POST", s.sim.base+"/v1/refunds", "", "", map[string]any{
		"paymentId": o.last().ProviderPaymentID, "amount": map[string]string{"amount": amount, "currency": "RUB"}, "reference": "dashboard-" + uuid.NewString(),
	})
	require.Equal(s.t, 200, a.status, "%s", a)
}
