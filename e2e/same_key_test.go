//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Seed test 1.
func TestSameKeyTwiceGivesOneOrderAndTheSameAnswer(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	key := newKey()
	first := s.place(s.ann, key, one(license))
	require.Equal(t, 201, first.status, "%s", first)
	second := s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(license))
	requireReplay(t, first, second)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders`))
	s.pay(decode[order](t, first))
	s.until(decode[order](t, first), "FULFILLED")
	requireReplay(t, first, s.place(s.ann, key, one(license))) // the first result, not the present state
	s.assertClean(0)
}

func requireReplay(t *testing.T, first, again answer) {
	t.Helper()
	require.Equal(t, first.status, again.status, "%s", again)
	require.Equal(t, string(first.body), string(again.body))
	require.True(t, again.replayed(), "%s", again)
	for _, name := range []string{"Location", "Content-Type", "Operation-Id"} {
		require.NotEmpty(t, first.header.Get(name), name)
		require.Equal(t, first.header.Get(name), again.header.Get(name), name)
	}
}

// Seed test 2 and CASES C09: the losers of the race get the winner's answer, and nobody an aborted transaction.
func TestC09FiftyParallelTwinsGiveOneOrder(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	const rounds, twins = 20, 50
	for round := range rounds {
		key := newKey()
		answers, errs := make([]answer, twins), make([]error, twins)
		wires := make([]*wire, twins)
		for i := range wires {
			wires[i] = postOrder(t, s.addrs[i%2], one(license), bearer(s.ann), keyed(key))
		}
		together(twins, func(i int) {
			if errs[i] = wires[i].finish(); errs[i] == nil {
				answers[i], errs[i] = wires[i].answer()
			}
		})
		firsts, ids := 0, map[uuid.UUID]bool{}
		for i, a := range answers {
			require.NoError(t, errs[i])
			if a.status == 409 { // waited in vain for the winner
				require.Equal(t, "OPERATION_IN_PROGRESS", a.code(), "%s", a)
				require.NotEmpty(t, a.header.Get("Retry-After"))
				a = s.must("POST", s.api(i%2, "/orders"), s.ann.token, key, one(license))
			}
			require.Equal(t, 201, a.status, "%s", a)
			ids[decode[order](t, a).OrderID] = true
			if !a.replayed() {
				firsts++
			}
		}
		require.Len(t, ids, 1)
		require.Equal(t, 1, firsts, "round %d: only the winner is not a replay", round)
		require.Equal(t, round+1, s.count(`SELECT count(*) FROM orders`))
	}
	require.Equal(t, rounds, s.count(`SELECT reserved FROM products WHERE id = $1`, license))
	s.settled()
	require.Len(t, s.sim.ledger().Payments, rounds)
	s.assertClean(0)
}

// Seed test 3: the client closes its socket right after sending; COMMIT comes later.
func TestAnswerLostAfterCommitIsReplayed(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	for round := range 5 {
		key := newKey()
		release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
		w := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
		require.NoError(t, w.finish())
		eventually(t, "the order waits for our lock", s.waiting)
		w.hangUp()
		release()
		eventually(t, "the order is committed", func() bool { return s.count(`SELECT count(*) FROM orders`) == round+1 })
		again := s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(license))
		require.Equal(t, 201, again.status, "%s", again)
		require.True(t, again.replayed())
		require.Equal(t, round+1, s.count(`SELECT count(*) FROM orders`))
	}
	s.assertClean(0)
}

// Seed test 4.
func TestOtherPayloadUnderOneKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	key := newKey()
	release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
	first := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
	require.NoError(t, first.finish())
	eventually(t, "the first runs", s.waiting)
	within(t, time.Second, func() { // at once, while the first still runs
		a := s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(other))
		require.Equal(t, 409, a.status, "%s", a)
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", a.code())
	})
	release()
	a, err := first.answer()
	require.NoError(t, err)
	require.Equal(t, 201, a.status, "%s", a)

	for name, w := range map[string]wish{
		"another product": one(other), "another quantity": {Items: []item{{license, 2}}, Currency: "RUB"},
		"another currency": {Items: []item{{license, 1}}, Currency: "USD"}, "one item more": {Items: []item{{license, 1}, {other, 1}}, Currency: "RUB"},
	} {
		refused := s.place(s.ann, key, w)
		require.Equal(t, 409, refused.status, "%s: %s", name, refused)
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", refused.code(), name)
	}
	same := []byte(`{"currency" : "rub", "unknown": 1, "items":[{"quantity":1.0,"productId":" ` + license + ` "}]}`)
	requireReplay(t, a, s.must("POST", s.api(1, "/orders"), s.ann.token, key, same)) // another spelling of the same
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders`))
	require.Equal(t, 5, s.count(`SELECT count(*) FROM journal WHERE kind = 'operation.key_reused'`))
	s.assertClean(0)
}

// A twin of a slow request waits a bounded time and is then told where to look.
func TestTwinOfARunningRequestWaitsThenIsToldWhereToLook(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	key := newKey()
	// The first holds its claim for longer than a twin waits: two locks in a row, each within the lock timeout.
	s.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3.5); RETURN NEW; END $$`)
	s.exec(`CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slow()`)
	first := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(key))
	require.NoError(t, first.finish())
	eventually(t, "the first runs", func() bool { return s.count(`SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`) > 0 })
	twin := s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(license))
	require.Equal(t, 409, twin.status, "%s", twin)
	require.Equal(t, "OPERATION_IN_PROGRESS", twin.code())
	require.NotEmpty(t, twin.header.Get("Retry-After"))
	require.Contains(t, twin.header.Get("Location"), "/api/operations/")
	a, err := first.answer()
	require.NoError(t, err)
	require.Equal(t, 201, a.status, "%s", a)
	requireReplay(t, a, s.must("POST", s.api(1, "/orders"), s.ann.token, key, one(license)))
	s.assertClean(0)
}

// Seed test 10.
func TestDeliberateSecondPurchaseIsASecondOrder(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	first, second := s.buy(one(license)), s.buy(one(license))
	require.NotEqual(t, first.OrderID, second.OrderID)
	for _, o := range []order{first, second} {
		s.pay(o)
		s.until(o, "FULFILLED")
	}
	require.Equal(t, 2, s.count(`SELECT count(*) FROM licenses`))
	s.assertClean(0)
}
