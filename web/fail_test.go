package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
	"onefold/web"
)

// inner are traces of our inside that no answer may show.
var inner = []string{"SQLSTATE", "relation", "pgx", "goroutine", ".go:", "panic", "10.0.0.7", "dial tcp", "127.0.0.1:", "SELECT", "column"}

func leaksNothing(t *testing.T, a answer) {
	t.Helper()
	for _, word := range inner {
		require.NotContains(t, a.Body, word)
	}
	secured(t, a)
}

// log is a buffer that handlers may write to at the same time.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) option(h *web.Handlers) { h.Logger = slog.New(slog.NewJSONHandler(l, nil)) }

// What happened stays happened, whatever the handler does afterwards: the same key finds it.
func TestAPanicAfterTheCommit(t *testing.T) {
	t.Parallel()
	var lines log
	healthy := false
	s := newShop(t, lines.option, func(h *web.Handlers) {
		h.Wake = func() {
			if !healthy {
				panic("no relay at 10.0.0.7")
			}
		}
	})
	token := s.shopper()
	a := s.order(token, "k", pixel)
	a.refused(t, http.StatusInternalServerError, "INTERNAL")
	leaksNothing(t, a)
	require.NotEmpty(t, a.Header.Get("Operation-Id"))
	require.Contains(t, lines.String(), "no relay at 10.0.0.7", "operators see the cause")
	healthy = true
	again := s.order(token, "k", pixel)
	require.Equal(t, http.StatusCreated, again.Status)
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, a.Header.Get("Operation-Id"), again.Header.Get("Operation-Id"))
	require.Equal(t, 1, s.orders())
}

// panicking panics wherever it is asked something.
type panicking struct{ store.DB }

func (panicking) Query(context.Context, string, ...any) (pgx.Rows, error) { panic("boom at 10.0.0.7") }

type panickingProvider struct{ *sim.Client }

func (panickingProvider) Authenticate(http.Header, []byte, time.Time) error {
	panic("boom at 10.0.0.7")
}

func TestPanicsEndOneRequestOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(h *web.Handlers) {
		h.DB = panicking{h.DB}
		h.Providers = map[string]provider.Payments{"sim": panickingProvider{}}
		h.Ready = func() error { panic("boom at 10.0.0.7") }
	})
	token := s.shopper()
	for _, a := range []answer{
		s.get("/api/products", token), s.webhook(paid), s.get("/readyz", ""),
	} {
		a.refused(t, http.StatusInternalServerError, "INTERNAL")
		leaksNothing(t, a)
	}
	page := s.get("/", "")
	require.Equal(t, http.StatusInternalServerError, page.Status)
	require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"))
	require.Contains(t, page.Body, page.Header.Get("Trace-Id"), "a reference for support")
	leaksNothing(t, page)
	require.Equal(t, http.StatusOK, s.get("/healthz", "").Status, "the process lives")
}

// Even the page for errors may fail; the process must not end with it.
func TestAPanicInTheErrorPage(t *testing.T) {
	t.Parallel()
	var lines log
	s := newShop(t, lines.option, func(h *web.Handlers) { h.Now = func() time.Time { panic("no clock") } })
	a := s.get("/", "")
	require.Equal(t, http.StatusInternalServerError, a.Status)
	leaksNothing(t, a)
	require.Contains(t, lines.String(), "no clock")
	require.Equal(t, http.StatusOK, s.get("/healthz", "").Status)
}

func TestAnErrorOfTheDatabaseStaysInside(t *testing.T) {
	t.Parallel()
	var lines log
	s := newShop(t, lines.option)
	token := s.shopper()
	s.exec(`ALTER TABLE product_prices RENAME TO elsewhere`)
	for _, a := range []answer{s.get("/api/products", token), s.order(token, "k", pixel)} {
		a.refused(t, http.StatusInternalServerError, "INTERNAL")
		leaksNothing(t, a)
	}
	page := s.get("/", "")
	require.Equal(t, http.StatusInternalServerError, page.Status)
	leaksNothing(t, page)
	require.Contains(t, lines.String(), "product_prices")
	s.exec(`ALTER TABLE elsewhere RENAME TO product_prices`)
	s.order(token, "k", pixel).placed(t)
}

// unavailable asserts the answer of an outage from every kind of caller.
func unavailable(t *testing.T, s *shop, token string) {
	t.Helper()
	for _, a := range []answer{
		s.webhook(paid), s.get("/api/products", token), s.order(token, "k", pixel), s.get("/readyz", ""),
	} {
		a.refused(t, http.StatusServiceUnavailable, "TEMPORARILY_UNAVAILABLE")
		require.Equal(t, "1", a.Header.Get("Retry-After"))
		leaksNothing(t, a)
	}
	page := s.get("/", "")
	require.Equal(t, http.StatusServiceUnavailable, page.Status)
	require.Equal(t, "1", page.Header.Get("Retry-After"))
	leaksNothing(t, page)
	require.Equal(t, http.StatusOK, s.get("/healthz", "").Status)
}

func pingable(pool *pgxpool.Pool) option {
	return func(h *web.Handlers) {
		h.Ready = func() error {
			if err := pool.Ping(context.Background()); err != nil {
				return &fault.Error{Kind: fault.Unavailable, Code: "TEMPORARILY_UNAVAILABLE", Message: "The database can't be reached.", Err: err}
			}
			return nil
		}
	}
}

func TestADatabaseThatNobodyServes(t *testing.T) {
	t.Parallel()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	pool, err := store.Open(t.Context(), "postgres://nobody:secret@"+closed.Addr().String()+"/none", store.Options{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	unavailable(t, openShop(t, pool, pingable(pool)), "of_"+"any")
}

func TestADatabaseThatIsCutOffAndComesBack(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(storetest.URL(t))
	require.NoError(t, err)
	wire := newWire(t, address.Host)
	address.Host = wire.addr
	pool, err := store.Open(t.Context(), address.String(), store.Options{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, catalog.SeedDemo(t.Context(), pool))
	s := openShop(t, pool, pingable(pool))
	token := s.shopper()
	s.order(token, "before", pixel).placed(t)

	wire.cut()
	unavailable(t, s, token)
	wire.mend()
	s.order(token, "k", pixel).placed(t)
	require.Equal(t, http.StatusOK, s.webhook(paid).Status)
	require.Equal(t, 2, s.orders())
}

// wire is a TCP connection to the database that can be cut.
type wire struct {
	t      *testing.T
	addr   string
	target string

	mu    sync.Mutex
	whole bool
	conns []net.Conn
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{t: t, addr: listener.Addr().String(), target: target, whole: true}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { w.carry(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		group.Wait()
	})
	return w
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	w.mu.Lock()
	whole := w.whole
	w.mu.Unlock()
	server, err := net.Dial("tcp", w.target)
	if !whole || err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = false
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = true
}
