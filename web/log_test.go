package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/trace"
	"onefold/web"
)

// idLogger writes lines with the IDs of their context, as the product's logger does.
type idLogger struct{ slog.Handler }

func (h idLogger) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(trace.Attrs(ctx)...)
	return h.Handler.Handle(ctx, r)
}

func (l *log) withIDs(h *web.Handlers) {
	h.Logger = slog.New(idLogger{slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})})
}

// last is the newest line.
func (l *log) last(t *testing.T) (line map[string]any) {
	t.Helper()
	lines := bufio.NewReader(strings.NewReader(l.String()))
	for {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return line
		}
		line = nil
		require.NoError(t, json.Unmarshal(text, &line))
	}
}

func TestEveryRequestIsOneLineWithItsIDs(t *testing.T) {
	t.Parallel()
	var lines log
	s := newShop(t, lines.withIDs)
	token := s.shopper()
	expect := func(a answer, path string, ids ...string) {
		t.Helper()
		line := lines.last(t)
		require.Equal(t, []any{"request", path, float64(a.Status), a.Header.Get("Trace-Id")}, []any{line["msg"], line["path"], line["status"], line["trace_id"]})
		for i := 0; i < len(ids); i += 2 {
			require.Equal(t, ids[i+1], line[ids[i]], ids[i])
		}
	}
	placed := s.order(token, "key-1", pixel)
	id, operationID := placed.placed(t), placed.Header.Get("Operation-Id")
	expect(placed, "/api/orders", "idempotency_key", "key-1", "operation_id", operationID, "order_id", id)
	expect(s.order(token, "key-1", pixel), "/api/orders", "idempotency_key", "key-1", "operation_id", operationID, "order_id", id)
	expect(s.order(token, "key-1", "{"), "/api/orders", "idempotency_key", "key-1", "operation_id", operationID)
	expect(s.order(token, "key-1", basket(item("lumen-notes", 1))), "/api/orders", "idempotency_key", "key-1", "operation_id", operationID)
	expect(s.get("/api/orders/"+id, token), "/api/orders/"+id, "order_id", id)

	s.exec(`UPDATE payments SET status = 'FAILED'`)
	path := "/api/orders/" + id + "/payments"
	retry := s.command(path, token, "key-2", "")
	payment := strings.TrimPrefix(retry.Header.Get("Location"), "/api/payments/")
	expect(retry, path, "idempotency_key", "key-2", "operation_id", retry.Header.Get("Operation-Id"), "order_id", id, "payment_id", payment)
	expect(s.get("/api/payments/"+payment, token), "/api/payments/"+payment, "payment_id", payment)
	expect(s.get("/api/operations/"+operationID, token), "/api/operations/"+operationID, "operation_id", operationID)
	expect(s.webhook(paid), "/webhooks/sim", "provider_event_id", "evt_1")
	expect(s.get("/nowhere", ""), "/nowhere")
}

func TestRequestsLeaveNoSecretsInTheLog(t *testing.T) {
	t.Parallel()
	var lines log
	s := newShop(t, lines.withIDs)
	token := s.shopper()
	s.ada()
	address := `"delivery":{"method":"post","address":{"name":"Ann Secretname","line1":"12 Hidden Lane","city":"Nowhereville","postcode":"SEC 123","country":"DE"}}`
	body := strings.Replace(pixel, `"currency"`, address+`,"currency"`, 1)
	s.order(token, "k", body).placed(t)
	s.order(token, "k2", strings.Replace(body, `"quantity":1`, `"quantity":"1"`, 1))
	s.order(token, "k3", strings.TrimSuffix(body, "}"))
	s.order(token+"x", "k4", body)
	s.webhook(strings.Replace(paid, `"ref_1"`, `["ann@secret.example"]`, 1))
	b := s.browser()
	b.signIn("ada@example.com", "not "+password, "")
	b.signIn("ada@example.com", password, "")
	b.buy()
	b.get("/sign-in?return=%2F%3Femail%3Dada@example.com&password=hunter2", "")
	s.exec(`ALTER TABLE carts RENAME TO elsewhere`)
	require.Equal(t, http.StatusInternalServerError, b.get("/checkout/x", "").Status, "an error of the database is logged as well")
	text := lines.String()
	for _, secret := range []string{
		token, password, "ada@example.com", "guest@example.com", "ann@secret", "hunter2", "Secretname", "Hidden Lane", "SEC 123", "Nowhereville",
		b.cookie("onefold_session"), b.cookie("onefold_browser"), webhookSecret, "v1=",
	} {
		require.NotContains(t, text, secret)
	}
	require.Contains(t, text, `"path":"/sign-in"`)
}
