//go:build e2e

package e2e

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CASES C03. A local operation is one transaction: a crash leaves nothing of it in progress. What can be in progress is a command
// that needs the outside, such as a cancellation.
func TestC03_InProgressIsNotForEver(t *testing.T) {
	t.Parallel()
	t.Run("a: killed after the claim", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.untilPayment(s.buy(one(license)), "PENDING")
		s.stopWorkers()
		s.env = append(s.env, "ONEFOLD_LEASE=6s") // long enough for two requests
		victim, key := s.startWorker("after-claim/CANCEL_ORDER"), newKey()
		requireInProgress(t, s.cancel(0, o, key))
		victim.crashed()
		s.startWorker("")
		requireInProgress(t, s.cancel(0, o, key)) // inside the lease
		var last answer
		eventually(t, "it runs after the lease", func() bool {
			last = s.cancel(0, o, key)
			return last.status == 200
		})
		s.canceledOnce(o, key, last)
	})
	t.Run("a: killed in a local operation", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
		key := newKey()
		w := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
		require.NoError(t, w.finish())
		eventually(t, "the order waits for our lock", s.waiting)
		s.web[0].kill()
		release()
		s.web = []*process{s.startWeb(0, "")}
		s.boughtOnce(key, false)
	})
	t.Run("b: killed after the commit", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.web[0].kill()
		victim, key := s.startWeb(0, "after-commit/CREATE_ORDER"), newKey()
		_, err := s.try("POST", s.api(0, "/orders"), s.ann.token, key, one(license))
		require.Error(t, err)
		victim.crashed()
		s.web = []*process{s.startWeb(0, "")}
		s.boughtOnce(key, true)
	})
	t.Run("b: killed between the answer and its record", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.untilPayment(s.buy(one(license)), "PENDING")
		s.stopWorkers()
		victim, key := s.startWorker("after-call/CANCEL_ORDER"), newKey()
		requireInProgress(t, s.cancel(0, o, key))
		victim.crashed()
		s.startWorker("")
		s.canceledOnce(o, key, s.untilCanceled(o, key))
	})
	t.Run("c: fails before the commit", func(t *testing.T) { // a panic: domain/operation/c03_test.go
		t.Parallel()
		s := open(t, 1, 1)
		s.exec(`CREATE SEQUENCE failures`)
		s.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF nextval('failures') = 1 THEN RAISE EXCEPTION 'on purpose'; END IF; RETURN NEW; END $$`)
		s.exec(`CREATE TRIGGER fail BEFORE INSERT ON payments FOR EACH ROW EXECUTE FUNCTION fail()`)
		key := newKey()
		failed := s.place(s.ann, key, one(license))
		require.Equal(t, 500, failed.status, "%s", failed)
		require.NotContains(t, string(failed.body), "on purpose")
		s.boughtOnce(key, false)
	})
}

func requireInProgress(t *testing.T, a answer) {
	t.Helper()
	require.Equal(t, 409, a.status, "%s", a)
	require.Equal(t, "OPERATION_IN_PROGRESS", a.code())
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Contains(t, a.header.Get("Location"), "/api/operations/")
}

// boughtOnce retries the key's request until the end of the purchase.
func (s *shop) boughtOnce(key string, replayed bool) {
	s.t.Helper()
	first := s.place(s.ann, key, one(license))
	require.Equal(s.t, 201, first.status, "%s", first)
	require.Equal(s.t, replayed, first.replayed())
	requireReplay(s.t, first, s.place(s.ann, key, one(license)))
	require.Equal(s.t, 1, s.count(`SELECT count(*) FROM orders`))
	s.pay(decode[order](s.t, first))
	s.until(decode[order](s.t, first), "FULFILLED")
	require.Len(s.t, s.sim.ledger().Payments, 1)
	s.assertClean(0)
}

func (s *shop) untilCanceled(o order, key string) (last answer) {
	s.t.Helper()
	eventually(s.t, "the order is canceled", func() bool {
		last = s.cancel(0, o, key)
		return last.status == 200
	})
	return last
}

// canceledOnce: one order, one charge, one cancellation under one provider key; last is the answer for ever.
func (s *shop) canceledOnce(o order, key string, last answer) {
	s.t.Helper()
	again := s.cancel(0, o, key)
	require.Equal(s.t, string(last.body), string(again.body))
	require.True(s.t, again.replayed(), "%s", again)
	require.Equal(s.t, "CANCELED", s.see(o).Status)
	calls := s.sim.callsOf("payments.cancel")
	require.Len(s.t, keysOf(calls), 1, "one provider key: %v", calls)
	booked := 0
	for _, c := range calls {
		if c.Booked {
			booked++
		}
	}
	require.Equal(s.t, 1, booked)
	require.Len(s.t, s.sim.charges(o.last().PaymentID), 1)
	require.Zero(s.t, s.count(`SELECT reserved FROM products WHERE id = $1`, license))
	s.assertClean(0)
}

// CASES C03 d: process 1 stands still around its call to the provider; the lease passes; process 2 gets the answer; process 1
// comes back and changes nothing.
func TestC03_TheFirstRunnerComesBackTooLate(t *testing.T) {
	t.Parallel()
	t.Run("d: with a stored answer", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		o := s.untilPayment(s.buy(one(license)), "PENDING")
		s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0}) // process 2 must ask for itself
		s.stopWorkers()
		late, key := s.startFreezing("after-call/CANCEL_ORDER"), newKey()
		requireInProgress(t, s.cancel(0, o, key))
		eventually(t, "process 1 stands still", late.frozen)
		s.startWorker("")
		stored := s.untilCanceled(o, key)
		row := s.text(`SELECT o::text FROM operations o WHERE type = 'CANCEL_ORDER'`)
		late.thaw()
		s.untilLate("CANCEL_ORDER")
		require.Equal(t, row, s.text(`SELECT o::text FROM operations o WHERE type = 'CANCEL_ORDER'`))
		s.canceledOnce(o, key, stored)
	})
	t.Run("d: with a charge", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 0)
		s.sim.breaks(fault{On: "payments.create", Do: "delay", Times: 1, DelayMs: 1500})
		s.sim.breaks(fault{On: "payments.get", Do: "not_found", Times: 1}) // process 2 must call with the key again
		heard := s.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 0})
		late := s.startWorker("")
		o := s.buy(one(license))
		eventually(t, "process 1 waits for its answer", func() bool { return len(s.sim.charges(o.last().PaymentID)) == 1 })
		late.freeze()
		s.startWorker("")
		o = s.untilPayment(o, "PENDING")
		late.thaw()
		s.untilLate("CREATE_PAYMENT")
		heard()
		calls := s.sim.calls("payments.create", o.last().PaymentID)
		require.GreaterOrEqual(t, len(calls), 2, "both called")
		require.Len(t, keysOf(calls), 1, "under one key")
		require.Len(t, s.sim.charges(o.last().PaymentID), 1)
		s.pay(o)
		s.until(o, "FULFILLED")
		s.assertClean(0)
	})
}

// untilLate waits until somebody found that an operation of this type isn't his any more.
func (s *shop) untilLate(operation string) {
	s.t.Helper()
	eventually(s.t, "the late owner finds out", func() bool {
		return s.count(`SELECT count(*) FROM journal j JOIN operations o ON o.id = j.operation_id
			WHERE j.kind = 'operation.late_owner' AND o.type = $1`, operation) == 1
	})
}

// CASES C04 d: refusals of the person, the session, the form or the pace bind nothing to the key. A basket's key is in its address.
func TestC04_RefusalsOfThePersonBindNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	operations := func(key string) int { return s.count(`SELECT count(*) FROM operations WHERE key = $1`, key) }
	t.Run("d: 403 without the form's token, 429, then the same key", func(t *testing.T) {
		v := s.surfer()
		place := v.fill()
		fields := v.form(place, place)
		fields.Set("email", "guest@example.com")
		fields.Set("name", "Guest")
		forged := maps.Clone(fields)
		forged.Set("csrf", "forged")
		require.Equal(t, 403, v.post(place, forged).status)
		limited := false
		for range 8 {
			limited = limited || v.signIn("/sign-in", buyer{email: "nobody@example.com", password: "wrong"}).status == 429
		}
		require.True(t, limited, "too many guesses are slowed down")
		require.Zero(t, operations(strings.TrimPrefix(place, "/checkout/")))
		a := v.post(place, fields)
		require.Equal(t, 303, a.status, "%s", a)
		b := v.post(place, fields)
		require.Equal(t, 303, b.status, "%s", b)
		require.Equal(t, a.header.Get("Location"), b.header.Get("Location"))
		require.Equal(t, 1, operations(strings.TrimPrefix(place, "/checkout/")))
	})
	t.Run("d: expired session, then the same key after sign-in", func(t *testing.T) {
		v := s.surfer()
		require.Equal(t, 303, v.signIn("/sign-in", s.bob).status)
		place := v.fill()
		fields := v.form(place, place)
		fields.Set("name", "Bob")
		s.exec(`UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = (SELECT id FROM users WHERE email = $1)`, s.bob.email)
		refused := v.post(place, fields)
		require.GreaterOrEqual(t, refused.status, 400, "%s", refused)
		require.Zero(t, operations(strings.TrimPrefix(place, "/checkout/")))
		require.Equal(t, 303, v.signIn("/sign-in", s.bob).status)
		require.Equal(t, place, v.must("GET", v.base+"/checkout", "", "", nil).header.Get("Location"), "the same key")
		fields.Set("csrf", v.form(place, place).Get("csrf"))
		a := v.post(place, fields)
		require.Equal(t, 303, a.status, "%s", a)
		require.Contains(t, a.header.Get("Location"), "/orders/")
	})
	t.Run("d: 403 of a role, then the same key with it", func(t *testing.T) {
		o := s.pay(s.buy(one(license)))
		s.until(o, "FULFILLED")
		person, key := s.crowd("shopper", 1)[0], newKey()
		require.Equal(t, 403, s.refund(person, o, key, "").status)
		require.Zero(t, operations(key))
		s.exec(`UPDATE users SET role = 'operator' WHERE email = $1`, person.email)
		eventually(t, "the role is noticed", func() bool { return s.refund(person, o, key, "").status == 202 }) // within five seconds
		s.until(o, "REFUNDED")
		require.Len(t, s.sim.outside().Refunds, 1)
	})
	require.Equal(t, 3, s.count(`SELECT count(*) FROM orders`))
	s.proven()
}

// CASES C04 e: something between us and the client answers 503 after the order was committed.
func TestC04_A503AfterTheCommitIsNotTheResult(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	behind := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: s.addrs[0]}) },
		ModifyResponse: func(r *http.Response) error {
			r.StatusCode, r.Body, r.ContentLength = 503, io.NopCloser(strings.NewReader("")), 0
			r.Header = http.Header{"Content-Length": {"0"}}
			return nil
		},
	})
	t.Cleanup(behind.Close)
	key := newKey()
	lost := s.must("POST", behind.URL+"/api/orders", s.ann.token, key, one(license))
	require.Equal(t, 503, lost.status, "%s", lost)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders`))
	s.boughtOnce(key, true)
}
