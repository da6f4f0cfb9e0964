package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/static"
	"onefold/web"
)

// secured asserts the headers that every answer carries (UX A.4).
func secured(t *testing.T, a answer) {
	t.Helper()
	csp := a.Header.Get("Content-Security-Policy")
	require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "+
		"form-action 'self' https://pay.test; base-uri 'none'; frame-ancestors 'none'", csp)
	require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "same-origin", a.Header.Get("Referrer-Policy"))
	require.Equal(t, "same-origin", a.Header.Get("Cross-Origin-Opener-Policy"))
	require.Regexp(t, "^[0-9a-f]{32}$", a.Header.Get("Trace-Id"))
	require.NotEmpty(t, a.Header.Get("Cache-Control"))
}

func TestTheTraceOfTheCallerIsContinued(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, path := range []string{"/api/products", "/api/orders/x", "/healthz", "/", "/nowhere"} {
		a := s.do(http.MethodGet, path, "", "Authorization", "Bearer "+token, "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		require.Equal(t, trace, a.Header.Get("Trace-Id"), path)
	}
	refused := s.order(token, "k", "{", "Traceparent", "00-"+trace+"-00f067aa0ba902b7-00")
	require.Equal(t, trace, refused.problem(t).TraceID)
	s.order(token, "k", pixel, "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01").placed(t)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_ORDER' AND trace_id = $1`, trace))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM outbox_events WHERE trace_id = $1`, trace))
}

func TestAMalformedTraceIsReplaced(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	seen := map[string]bool{}
	for _, parent := range []string{
		"", "x", "00-4bf92f3577b34da6a3ce929d0e0e4736", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01", "00-4bf92f3577b34da6a3ce929d0e0e47zz-00f067aa0ba902b7-01",
		`00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"><script>`,
	} {
		id := s.do(http.MethodGet, "/api/products", "", "Traceparent", parent).Header.Get("Trace-Id")
		require.Regexp(t, "^[0-9a-f]{32}$", id)
		require.NotEqual(t, "4bf92f3577b34da6a3ce929d0e0e4736", id, parent)
		require.False(t, seen[id], "every request has its own")
		seen[id] = true
	}
}

func TestEveryKindOfAnswerIsSecured(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	asset := static.Path("app.css")
	addr := s.listen()
	for name, c := range map[string]struct {
		a      answer
		status int
	}{
		"JSON":            {s.get("/api/products", token), 200},
		"first result":    {s.order(token, "k", pixel), 201},
		"replay":          {s.order(token, "k", pixel), 201},
		"key":             {s.order(token, "", pixel), 400},
		"no token":        {s.get("/api/products", ""), 401},
		"not found":       {s.get("/api/orders/x", token), 404},
		"no such call":    {s.get("/api/x", token), 404},
		"reused":          {s.order(token, "k", basket(item("lumen-notes", 1))), 409},
		"too large":       {s.order(token, "k", padded(257<<10)), 413},
		"invalid":         {s.order(token, "k2", "{}"), 422},
		"description":     {s.get("/api/openapi.yaml", ""), 200},
		"webhook":         {s.webhook(paid), 200},
		"forged webhook":  {s.do(http.MethodPost, "/webhooks/sim", paid), 401},
		"health":          {s.get("/healthz", ""), 200},
		"metrics":         {s.get("/metrics", ""), 200},
		"page":            {s.get("/", ""), 200},
		"sign-in page":    {s.get("/sign-in", ""), 200},
		"no such page":    {s.get("/nowhere", ""), 404},
		"no such product": {s.get("/products/nothing", ""), 404},
		"redirect":        {s.get("/checkout", ""), 303},
		"foreign form":    {s.do(http.MethodPost, "/sign-out", ""), 403},
		"asset":           {s.get(asset, ""), 200},
		"no such asset":   {s.get("/assets/x", ""), 404},
		"method":          {s.do(http.MethodDelete, "/", ""), 403},
		"header too long": {s.raw(addr, "GET", "/", "X: "+strings.Repeat("x", 20<<10)+"\r\n", ""), 400},
		"odd method":      {s.raw(addr, "BREW", "/", "", ""), 400},
		"odd method, API": {s.raw(addr, "BREW", "/api/orders", "", ""), 400},
		"no HTTP":         {s.raw(addr, "GET", "/", "no header\r\n", ""), 400},
	} {
		require.Equal(t, c.status, c.a.Status, name)
		secured(t, c.a)
		require.Empty(t, c.a.Header.Get("Strict-Transport-Security"), "only with https")
	}
	secure := openShop(t, s.db, func(h *web.Handlers) { h.PublicURL = "https://shop.test" })
	require.Equal(t, "max-age=31536000", secure.get("/healthz", "").Header.Get("Strict-Transport-Security"))
}

func TestWhatMayBeStoredOnTheWay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	for _, a := range []answer{s.get("/", ""), s.order(token, "k", pixel), s.get("/api/orders/x", token), s.get("/healthz", ""), s.get("/checkout", "")} {
		require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
	}
	require.Contains(t, s.get(static.Path("app.css"), "").Header.Get("Cache-Control"), "immutable")
}
