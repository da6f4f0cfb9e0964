package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/web"
)

func TestNobodyWithoutAToken(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	for _, path := range []string{"/api/products", "/api/orders/" + uuid.NewString(), "/api/payments/x", "/api/operations/x", "/api/nothing"} {
		for name, value := range map[string]string{
			"none": "", "another scheme": "Basic " + token, "no scheme": token, "unknown": "Bearer of_" + strings.Repeat("x", 43),
			"empty": "Bearer ", "cut off": "Bearer " + token[:len(token)-1], "case changed": "Bearer " + strings.ToUpper(token),
		} {
			a := s.do(http.MethodGet, path, "", "Authorization", value)
			a.refused(t, http.StatusUnauthorized, "UNAUTHENTICATED", name)
			require.Equal(t, "Bearer", a.Header.Get("WWW-Authenticate"))
		}
	}
	s.do(http.MethodPost, "/api/orders", pixel, "Idempotency-Key", "k").refused(t, http.StatusUnauthorized, "UNAUTHENTICATED")
	require.Zero(t, s.count(`SELECT count(*) FROM operations`))
	require.Equal(t, http.StatusOK, s.do(http.MethodGet, "/api/products", "", "Authorization", "bearer  "+token).Status, "schemes have no case")
}

func TestOtherPeoplesThingsDoNotExist(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ada, ben := s.shopper(), s.shopper()
	placed := s.order(ada, "k", pixel)
	id := placed.placed(t)
	var o struct {
		OperationID string
		Payments    []struct{ PaymentID string }
	}
	placed.into(t, &o)
	var external string
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT operation_id FROM payments`).Scan(&external))
	paths := []string{"/api/orders/" + id, "/api/payments/" + o.Payments[0].PaymentID, "/api/operations/" + o.OperationID, "/api/operations/" + external}
	for _, path := range paths {
		require.Equal(t, http.StatusOK, s.get(path, ada).Status, path)
		theirs := s.get(path, ben).refused(t, http.StatusNotFound, "NOT_FOUND", path)
		for _, wrong := range []string{uuid.NewString(), "0", "x", "%00", "%ff", "' OR 1=1 --", strings.Repeat("9", 3000), "..%2f..%2fetc"} {
			never := s.get(path[:strings.LastIndex(path, "/")+1]+strings.ReplaceAll(wrong, " ", "%20"), ada).refused(t, http.StatusNotFound, "NOT_FOUND", wrong)
			require.Equal(t, theirs.Detail, never.Detail, "somebody else's and nobody's are not told apart")
		}
	}
	s.exec(`UPDATE payments SET status = 'FAILED'`)
	for _, target := range []string{id, uuid.NewString(), "x"} {
		s.command("/api/orders/"+target+"/payments", ben, "k", "").refused(t, http.StatusNotFound, "NOT_FOUND")
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM payments`))
	require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE type = 'RETRY_PAYMENT'`))
}

func TestCallsThatDoNotExist(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	for _, call := range [][2]string{
		{"GET", "/api/nothing"}, {"POST", "/api/nothing"}, {"DELETE", "/api/orders"}, {"PUT", "/api/orders/x"}, {"GET", "/api/orders/"}, {"GET", "/api/Products"},
	} {
		a := s.do(call[0], call[1], "", "Authorization", "Bearer "+token)
		a.refused(t, http.StatusNotFound, "NOT_FOUND", call)
		require.Empty(t, a.Header.Values("Set-Cookie"), "machines get no cookies")
	}
	for _, call := range [][2]string{{"GET", "/webhooks/sim"}, {"POST", "/webhooks/sim/more"}, {"POST", "/webhooks/"}} {
		a := s.do(call[0], call[1], "")
		a.refused(t, http.StatusNotFound, "NOT_FOUND", call)
		require.Empty(t, a.Header.Values("Set-Cookie"))
	}
}

func TestAnotherPaymentOnlyAfterACertainFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	id := s.order(token, "k", pixel).placed(t)
	path := "/api/orders/" + id + "/payments"
	for _, c := range []struct{ sql, code string }{
		{`UPDATE payments SET status = 'CREATED'`, "PAYMENT_IN_PROGRESS"},
		{`UPDATE payments SET status = 'SUBMITTING'`, "PAYMENT_IN_PROGRESS"},
		{`UPDATE payments SET status = 'PENDING', provider_payment_id = 'p1'`, "PAYMENT_IN_PROGRESS"},
		{`UPDATE payments SET status = 'UNKNOWN'`, "PAYMENT_UNRESOLVED"},
		{`WITH p AS (UPDATE payments SET status = 'FAILED', provider_payment_id = NULL) UPDATE orders SET needs_review = true, review_reason = 'x'`, "PAYMENT_UNRESOLVED"},
		{`WITH p AS (UPDATE payments SET status = 'SUCCEEDED', provider_payment_id = 'p1') UPDATE orders
			SET status = 'PAID', needs_review = false, review_reason = NULL, paid_at = now()`, "ORDER_STATE"},
		{`WITH p AS (UPDATE payments SET status = 'CANCELED') UPDATE orders SET status = 'CANCELED', paid_at = NULL`, "ORDER_STATE"},
	} {
		s.exec(c.sql)
		for range 2 {
			a := s.command(path, token, "retry", "")
			a.refused(t, http.StatusConflict, c.code, c.sql)
			require.Empty(t, a.Header.Get("Idempotent-Replayed"), "it says how things are now")
		}
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM payments`))

	s.exec(`UPDATE orders SET status = 'AWAITING_PAYMENT'`)
	first := s.command(path, token, "retry", "")
	require.Equal(t, http.StatusAccepted, first.Status, first.Body)
	var p struct {
		PaymentID, OrderID, Status string
		Attempt                    int
	}
	first.into(t, &p)
	require.Equal(t, "/api/payments/"+p.PaymentID, first.Header.Get("Location"))
	require.Equal(t, []any{id, "CREATED", 2}, []any{p.OrderID, p.Status, p.Attempt})
	s.command(path, token, "retry", "").replays(t, first)
	s.command(path, token, "other", "").refused(t, http.StatusConflict, "PAYMENT_IN_PROGRESS")
	s.exec(`UPDATE payments SET status = 'FAILED'`)
	s.command(path, token, "retry", `{"anything":1}`).replays(t, first)
	require.Equal(t, 2, s.count(`SELECT count(*) FROM payments`))
	require.Equal(t, 2, s.count(`SELECT count(DISTINCT provider_key) FROM payments`))
}

func TestAnOperationTellsItsStory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	placed := s.order(token, "k", pixel)
	var op struct {
		Type, Status string
		Resource     struct{ Type, ID string }
		Response     struct{ Code int }
		Failure      string
		ExpiresAt    *time.Time
	}
	s.get("/api/operations/"+placed.Header.Get("Operation-Id"), token).into(t, &op)
	require.Equal(t, []any{"CREATE_ORDER", "COMPLETED", "order", placed.placed(t), 201}, []any{op.Type, op.Status, op.Resource.Type, op.Resource.ID, op.Response.Code})
	require.NotNil(t, op.ExpiresAt)

	refused := s.order(token, "none", basket(item("aurora-synth", 1)))
	s.get("/api/operations/"+refused.Header.Get("Operation-Id"), token).into(t, &op)
	require.Equal(t, []any{"FAILED", "OUT_OF_STOCK", 409}, []any{op.Status, op.Failure, op.Response.Code})

	var external string
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT operation_id FROM payments`).Scan(&external))
	running := s.get("/api/operations/"+external, token)
	require.Contains(t, running.Body, `"status":"PROCESSING","resource":null`)
	require.Contains(t, running.Body, `"expiresAt":null`)
}

// hold locks rows in a transaction of its own, as a slow neighbour does, until the test or the returned function ends it.
func (s *shop) hold(sql string) (release func()) {
	s.t.Helper()
	tx, err := s.db.Begin(s.t.Context())
	require.NoError(s.t, err)
	_, err = tx.Exec(s.t.Context(), sql)
	require.NoError(s.t, err)
	return func() { require.NoError(s.t, tx.Rollback(s.t.Context())) }
}

// untilWaiting returns when n statements of this database wait for a lock.
func (s *shop) untilWaiting(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var waiting int
		err := s.db.QueryRow(s.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting >= n
	}, 5*time.Second, 5*time.Millisecond)
}

const lockPixel = `SELECT FROM products WHERE id = 'pixel-orchard' FOR UPDATE`

func TestWhileTheFirstStillRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(h *web.Handlers) { h.Desk.Operations.Wait = 50 * time.Millisecond })
	token := s.shopper()
	release := s.hold(lockPixel)
	first := make(chan answer, 1)
	go func() {
		a, _ := s.try(http.MethodPost, "/api/orders", pixel, "Authorization", "Bearer "+token, "Idempotency-Key", "k")
		first <- a
	}()
	s.untilWaiting(1)

	a := s.order(token, "k", pixel)
	p := a.refused(t, http.StatusConflict, "OPERATION_IN_PROGRESS")
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, "/api/operations/"+p.OperationID, a.Header.Get("Location"))
	require.Equal(t, p.OperationID, a.Header.Get("Operation-Id"))
	s.order(token, "k", basket(item("lumen-notes", 1))).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	require.Equal(t, http.StatusOK, s.get("/api/products", token).Status, "nobody else waits")

	release()
	done := <-first
	done.placed(t)
	require.Equal(t, p.OperationID, done.Header.Get("Operation-Id"))
	s.order(token, "k", pixel).replays(t, done)
	require.Equal(t, 1, s.orders())
}

func TestATwinWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	release := s.hold(lockPixel)
	answers := make(chan answer, 2)
	for range 2 {
		go func() {
			a, _ := s.try(http.MethodPost, "/api/orders", pixel, "Authorization", "Bearer "+token, "Idempotency-Key", "k")
			answers <- a
		}()
	}
	s.untilWaiting(2)
	release()
	first, twin := <-answers, <-answers
	if first.Header.Get("Idempotent-Replayed") != "" {
		first, twin = twin, first
	}
	first.placed(t)
	twin.replays(t, first)
}

// A neighbour's lock is an outage, not an answer: the same request succeeds later.
func TestALockThatIsNotGivenUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	release := s.hold(lockPixel)
	a := s.order(token, "k", pixel)
	a.refused(t, http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE")
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	release()
	s.order(token, "k", pixel).placed(t)
}
