package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"onefold/domain/account"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/store/storetest"
	"onefold/web"
	"onefold/web/webtest"
)

func TestMain(m *testing.M) {
	// fasthttp keeps one clock for the whole process, and its worker pools end up to ten seconds after their server.
	storetest.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

const (
	webhookSecret = "whsec_test"
	pixel         = `{"items":[{"productId":"pixel-orchard","quantity":1}],"currency":"RUB"}`
)

// shop is the web on a database of its own, spoken to over HTTP only. Every answer of its API is held against the description.
type shop struct {
	t      *testing.T
	db     *pgxpool.Pool
	app    *fiber.App
	client *http.Client
	base   string
	wakes  atomic.Int64
}

// option changes the handlers before the app is made.
type option func(*web.Handlers)

func newShop(t *testing.T, options ...option) *shop {
	t.Helper()
	db := storetest.DB(t)
	require.NoError(t, catalog.SeedDemo(t.Context(), db))
	return openShop(t, db, options...)
}

// openShop is another web process on the same database.
func openShop(t *testing.T, db *pgxpool.Pool, options ...option) *shop {
	t.Helper()
	s := &shop{t: t, db: db, base: "http://shop.test"}
	h := &web.Handlers{
		Config: web.Config{
			PublicURL: s.base, PayOrigins: []string{"https://pay.test"}, Environment: "TEST", SessionKey: []byte("0123456789abcdef0123456789abcdef"),
			Retention: time.Hour,
			Logger:    slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		},
		DB:        db,
		Desk:      &checkout.Desk{Operations: &operation.Runner{DB: db, Retention: time.Hour, Wait: 2 * time.Second}, Provider: "sim"},
		Tokens:    account.NewTokens(db, time.Now),
		Providers: map[string]provider.Payments{"sim": sim.New(sim.Config{BaseURL: "http://sim.invalid", Secrets: []string{webhookSecret}})},
		Wake:      func() { s.wakes.Add(1) }, Ready: func() error { return nil }, Metrics: web.NewMetrics(), Now: time.Now,
	}
	for _, change := range options {
		change(h)
	}
	h.Desk.Wake = h.Wake
	if h.Operator == nil {
		h.Operator = &operator.Desk{Operations: h.Desk.Operations, Checkout: h.Desk, Limits: map[string]int64{"RUB": 1000_00}, Wake: h.Wake}
	}
	s.app = web.New(h)
	validator := webtest.Validator(t)
	validator.Next = roundTripper(func(r *http.Request) (*http.Response, error) { return s.app.Test(r, -1) })
	s.client = &http.Client{Transport: validator, CheckRedirect: stay}
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// listen serves on a real socket from now on and returns its address.
func (s *shop) listen() string {
	s.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	done := make(chan error, 1)
	go func() { done <- s.app.Listener(listener) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	validator := webtest.Validator(s.t)
	validator.Next = transport
	s.client, s.base = &http.Client{Transport: validator, CheckRedirect: stay}, "http://"+listener.Addr().String()
	s.t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(s.t, s.app.ShutdownWithTimeout(5*time.Second))
		require.NoError(s.t, <-done)
	})
	return listener.Addr().String()
}

// shopper makes somebody who shops by API and returns their token.
func (s *shop) shopper() string { s.t.Helper(); return s.somebody(account.Shopper) }

// somebody makes a user of the API and returns their token.
func (s *shop) somebody(role account.Role) string {
	s.t.Helper()
	email := string(role) + "-" + uuid.NewString() + "@example.com"
	_, err := s.db.Exec(s.t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, uuid.New(), email, role)
	require.NoError(s.t, err)
	token, err := account.CreateToken(s.t.Context(), s.db, email)
	require.NoError(s.t, err)
	return token
}

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// do sends a request; headers are name, value pairs, and a name may come twice.
func (s *shop) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	a, err := s.try(method, path, body, headers...)
	require.NoError(s.t, err)
	return a
}

// try is do for goroutines, which must not end the test.
func (s *shop) try(method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	got, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	content, err := io.ReadAll(got.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: got.StatusCode, Header: got.Header, Body: string(content)}, got.Body.Close()
}

func (s *shop) get(path, token string) answer {
	s.t.Helper()
	if token == "" {
		return s.do(http.MethodGet, path, "")
	}
	return s.do(http.MethodGet, path, "", "Authorization", "Bearer "+token)
}

// order places an order.
func (s *shop) order(token, key, body string, headers ...string) answer {
	s.t.Helper()
	return s.command("/api/orders", token, key, body, headers...)
}

func (s *shop) command(path, token, key, body string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, path, body, append([]string{
		"Authorization", "Bearer " + token, "Idempotency-Key", key, "Content-Type", "application/json",
	}, headers...)...)
}

// count runs a SELECT count(*).
func (s *shop) count(sql string, args ...any) (n int) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRow(s.t.Context(), sql, args...).Scan(&n))
	return n
}

func (s *shop) exec(sql string) {
	s.t.Helper()
	_, err := s.db.Exec(s.t.Context(), sql)
	require.NoError(s.t, err)
}

func (s *shop) orders() int { s.t.Helper(); return s.count(`SELECT count(*) FROM orders`) }

// problem is the body of a refusal.
type problem struct {
	Status      int
	Code        string
	Detail      string
	OperationID string
	TraceID     string
	Errors      []struct{ Field, Rule, Message string }
}

func (a answer) problem(t *testing.T) (p problem) {
	t.Helper()
	a.into(t, &p)
	require.Equal(t, a.Status, p.Status)
	return p
}

// refused asserts the status and the code.
func (a answer) refused(t *testing.T, status int, code string, why ...any) problem {
	t.Helper()
	require.Equal(t, status, a.Status, append([]any{a.Body}, why...)...)
	p := a.problem(t)
	require.Equal(t, code, p.Code, why...)
	return p
}

func (a answer) into(t *testing.T, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.Body), v), a.Body)
}

// placed asserts a first 201 and returns the order's ID.
func (a answer) placed(t *testing.T) string {
	t.Helper()
	require.Equal(t, http.StatusCreated, a.Status, a.Body)
	require.Empty(t, a.Header.Get("Idempotent-Replayed"))
	id, found := strings.CutPrefix(a.Header.Get("Location"), "/api/orders/")
	require.True(t, found)
	return id
}

// replays asserts that a is the same answer as first, said again.
func (a answer) replays(t *testing.T, first answer, why ...any) {
	t.Helper()
	require.Equal(t, "true", a.Header.Get("Idempotent-Replayed"), append([]any{a.Body}, why...)...)
	require.Equal(t, first.Status, a.Status, why...)
	require.Equal(t, first.Body, a.Body, why...)
	for _, name := range []string{"Location", "Content-Type", "Operation-Id"} {
		require.Equal(t, first.Header.Values(name), a.Header.Values(name), name)
	}
	require.NotEqual(t, first.Header.Get("Trace-Id"), a.Header.Get("Trace-Id"), "the trace is this request's")
	require.Empty(t, a.Header.Values("Set-Cookie"))
}

// browser has cookies and reads forms.
func (s *shop) browser() *shop {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	b := &shop{t: s.t, db: s.db, app: s.app, base: s.base}
	b.client = &http.Client{Transport: s.client.Transport, CheckRedirect: stay, Jar: jar}
	return b
}

func item(product string, quantity any) string {
	return fmt.Sprintf(`{"productId":%q,"quantity":%v}`, product, quantity)
}

func basket(items ...string) string {
	return `{"currency":"RUB","items":[` + strings.Join(items, ",") + `]}`
}
