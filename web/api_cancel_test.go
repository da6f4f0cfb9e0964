package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/web"
)

// canceler carries cancellations on as the workers do, whenever it is woken.
type canceler struct {
	s    *shop
	idle bool
}

func (w *canceler) option(h *web.Handlers) { h.Wake = w.wake }

func (w *canceler) wake() {
	if w.idle || w.s == nil {
		return
	}
	w.work()
}

func (w *canceler) work() {
	executor := &operation.Executor{DB: w.s.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		checkout.CancelOrder: checkout.Closer{Provider: &paymenttest.Provider{}, To: order.Canceled, Keep: time.Hour}.Handler(),
	}}
	ctx := context.Background()
	var id uuid.UUID
	if w.s.db.QueryRow(ctx, `SELECT id FROM operations WHERE type = 'CANCEL_ORDER' AND status = 'PROCESSING'`).Scan(&id) == nil {
		_ = executor.Execute(ctx, id) // what comes of it is read over HTTP
	}
}

func TestCancelingOnce(t *testing.T) {
	t.Parallel()
	var worker canceler
	s := newShop(t, worker.option)
	worker.s = s
	token := s.shopper()
	id := s.order(token, "k", pixel).placed(t)
	s.exec(`UPDATE payments SET status = 'FAILED', failure_code = 'declined'`)
	path := "/api/orders/" + id + "/cancel"
	first := s.command(path, token, "c", "")
	require.Equal(t, http.StatusOK, first.Status, first.Body)
	require.Contains(t, first.Body, `"status":"CANCELED"`)
	require.NotEmpty(t, first.Header.Get("Operation-Id"))
	for range 2 {
		s.command(path, token, "c", "").replays(t, first)
	}
	again := s.command(path, token, "another", "")
	require.Equal(t, http.StatusOK, again.Status, "a repeated step is a success that does nothing")
	require.Zero(t, s.count(`SELECT reserved FROM products WHERE id = 'pixel-orchard'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM journal WHERE kind = 'order.canceled'`))
	s.command("/api/orders/"+id+"/payments", token, "r", "").refused(t, http.StatusConflict, "ORDER_STATE")
	s.command(path, s.shopper(), "c", "").refused(t, http.StatusNotFound, "NOT_FOUND")
	s.command("/api/orders/x/cancel", token, "c", "").refused(t, http.StatusNotFound, "NOT_FOUND")
	s.command(path, token, "", "").refused(t, http.StatusBadRequest, "IDEMPOTENCY_KEY_MISSING")
}

func TestACancellationThatTakesItsTime(t *testing.T) {
	t.Parallel()
	worker := canceler{idle: true}
	s := newShop(t, worker.option, func(h *web.Handlers) { h.Desk.Operations.Wait = 50 * time.Millisecond })
	worker.s = s
	token := s.shopper()
	path := "/api/orders/" + s.order(token, "k", pixel).placed(t) + "/cancel"
	s.exec(`UPDATE payments SET status = 'CANCELED'`)
	for range 2 {
		a := s.command(path, token, "c", "")
		p := a.refused(t, http.StatusConflict, "OPERATION_IN_PROGRESS")
		require.Equal(t, "/api/operations/"+p.OperationID, a.Header.Get("Location"))
		require.Equal(t, "1", a.Header.Get("Retry-After"))
		require.Contains(t, s.get(a.Header.Get("Location"), token).Body, `"status":"PROCESSING"`)
	}
	worker.work()
	done := s.command(path, token, "c", "")
	require.Equal(t, http.StatusOK, done.Status, done.Body)
	s.command(path, token, "c", "").replays(t, done)
}

func TestWhatCannotBeCanceled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	path := "/api/orders/" + s.order(token, "k", pixel).placed(t) + "/cancel"
	for _, c := range []struct{ sql, code string }{
		{`UPDATE payments SET status = 'UNKNOWN'`, "PAYMENT_UNRESOLVED"},
		{`WITH p AS (UPDATE payments SET status = 'SUCCEEDED', provider_payment_id = 'p1') UPDATE orders SET status = 'PAID', paid_at = now()`, "ORDER_STATE"},
		{`UPDATE orders SET status = 'EXPIRED', paid_at = NULL`, "ORDER_STATE"},
	} {
		s.exec(c.sql)
		for range 2 {
			a := s.command(path, token, "c", "")
			a.refused(t, http.StatusConflict, c.code, c.sql)
			require.Empty(t, a.Header.Get("Idempotent-Replayed"))
			require.NotEmpty(t, a.Header.Get("Operation-Id"))
		}
	}
	require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE type = 'CANCEL_ORDER'`))
}

func TestAnEnquiryOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	lead := func(key, body string) answer { return s.command("/api/leads", token, key, body) }
	const body = `{"name":"Ada","email":"ada@example.com","message":"Do you ship?"}`
	first := lead("k", body)
	require.Equal(t, http.StatusCreated, first.Status, first.Body)
	require.Empty(t, first.Header.Get("Location"))
	for _, same := range []string{body, `{"message":" Do  you ship? ","email":"ADA@example.com ","name":" Ada","x":1}`} {
		lead("k", same).replays(t, first)
	}
	lead("k", strings.Replace(body, "ship", "sell", 1)).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	require.Equal(t, http.StatusCreated, lead("k2", body).Status, "meant once more")
	for _, wrong := range []string{
		`{}`, `{"name":"Ada","email":"nobody","message":"x"}`, `{"name":"A\u0000","email":"a@example.com","message":"x"}`,
		`{"name":"Ada","email":"a@example.com","message":"` + strings.Repeat("x", 5001) + `"}`,
	} {
		p := lead("k3", wrong).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
		require.NotEmpty(t, p.Errors)
	}
	lead("", body).refused(t, http.StatusBadRequest, "IDEMPOTENCY_KEY_MISSING")
	lead("k3", `{"name":1}`).refused(t, http.StatusBadRequest, "MALFORMED_BODY")
	require.Equal(t, http.StatusCreated, lead("k3", body).Status, "nothing was bound to the key")
	require.Equal(t, 3, s.count(`SELECT count(*) FROM leads`))
}
