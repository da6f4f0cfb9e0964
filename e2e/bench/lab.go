package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"

	"onefold/domain/account"
	"onefold/domain/catalog"
	"onefold/domain/store"
	"onefold/domain/store/localpg"
	"onefold/jobs/riverschema"
)

const (
	ordersName      = "orders"
	replaysName     = "replays"
	unprotectedName = "unprotected orders"
	rowsName        = "an order's rows by pgx"
	webhooksName    = "webhooks"
	insertsName     = "plain inserts of the event behind Fiber"
	secret          = "bench-secret"
	products        = 64
)

// lab is a Postgres with onefold's web, its relay, and the unprotected reference, each a process of its own.
type lab struct {
	postgres  *localpg.Instance
	processes []*exec.Cmd
	pool      *pgxpool.Pool
	http      fasthttp.Client
	web       string
	plain     string
	token     string
	replayKey []string
}

func open(ctx context.Context, binary string, clients int) (*lab, error) {
	dir, err := os.MkdirTemp("", "onefold-bench-*")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	l := &lab{http: fasthttp.Client{MaxConnsPerHost: 4 * clients}}
	if l.postgres, err = localpg.Start(ctx, localpg.Config{Dir: filepath.Join(dir, "postgres")}); err != nil {
		return nil, err
	}
	if err := l.prepare(ctx, binary, clients); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) prepare(ctx context.Context, binary string, clients int) (err error) {
	address := l.postgres.URL()
	if err := errors.Join(store.Migrate(ctx, address), riverschema.Migrate(ctx, address)); err != nil {
		return err
	}
	if l.pool, err = store.Open(ctx, address, store.Options{MaxConns: 24, Name: "bench"}); err != nil {
		return err
	}
	if err := l.seed(ctx); err != nil {
		return err
	}
	if l.web, err = freeAddress(ctx); err != nil {
		return err
	}
	if l.plain, err = freeAddress(ctx); err != nil {
		return err
	}
	env := append(settings(address, l.web), "ONEFOLD_WORKERS=0", "BENCH_ADDR="+l.plain)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find myself: %w", err)
	}
	for _, args := range [][]string{{binary, "serve", "--web"}, {binary, "serve", "--work"}, {self, "-unprotected", address}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Stderr = env, os.Stderr
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", args[0], err)
		}
		l.processes = append(l.processes, cmd)
	}
	return l.ready(ctx, clients)
}

// seed makes a shopper and a catalogue as wide as a shop's, so that orders don't queue for one stock counter.
func (l *lab) seed(ctx context.Context) error {
	if err := catalog.SeedDemo(ctx, l.pool); err != nil {
		return err
	}
	if _, err := account.Create(ctx, l.pool, "bench@example.com", "bench-password", account.Shopper); err != nil {
		return err
	}
	var err error
	if l.token, err = account.CreateToken(ctx, l.pool, "bench@example.com"); err != nil {
		return err
	}
	for _, sql := range []string{
		`INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand) SELECT 'bench-' || n, 'license', 'Bench', 'Bench', '-', '-', 100000000
			FROM generate_series(0, 63) n`,
		`INSERT INTO product_prices SELECT id, 'RUB', 4990 FROM products WHERE id LIKE 'bench-%'`,
		`CREATE TABLE plain_orders (id uuid PRIMARY KEY, user_id uuid NOT NULL, status text NOT NULL, total_minor bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`,
		`CREATE TABLE plain_items (id uuid PRIMARY KEY, order_id uuid NOT NULL REFERENCES plain_orders, product_id text NOT NULL, quantity int NOT NULL)`,
		`CREATE TABLE plain_outbox (id uuid PRIMARY KEY, order_id uuid NOT NULL, payload jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`,
		`CREATE TABLE plain_events (id uuid PRIMARY KEY, event_id text NOT NULL UNIQUE, payload bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`,
	} {
		if _, err := l.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

func (l *lab) ready(ctx context.Context, clients int) error {
	for _, address := range []string{l.web, l.plain} {
		if err := up(ctx, address); err != nil {
			return err
		}
	}
	for i := range clients {
		key := "replay-" + strconv.Itoa(i)
		l.replayKey = append(l.replayKey, key)
		if err := l.order(key, i, fasthttp.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

// up waits until the process at an address is ready.
func up(ctx context.Context, address string) error {
	url := "http://" + address + "/readyz"
	for deadline := time.Now().Add(20 * time.Second); ; {
		status, _, err := fasthttp.Get(nil, url)
		if err == nil && status == fasthttp.StatusOK {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("%s did not come up: %w", url, err)
		}
		time.Sleep(50 * time.Millisecond) // the pace of asking, not a wait for a result
	}
}

// settings are the environment of an onefold process under measurement.
func settings(database, address string) []string {
	return append(os.Environ(), "DATABASE_URL="+database, "ONEFOLD_ADDR="+address, "ONEFOLD_WEBHOOK_SECRET="+secret,
		"ONEFOLD_SESSION_KEY="+strings.Repeat("k", 32), "ONEFOLD_LOG_LEVEL=error")
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func (l *lab) close() {
	for _, cmd := range l.processes {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range l.processes {
		_ = cmd.Wait()
	}
	if l.pool != nil {
		l.pool.Close()
	}
	_ = l.postgres.Stop()
	_ = os.RemoveAll(filepath.Dir(l.postgres.Dir()))
}

func (l *lab) post(url string, header map[string]string, body []byte, want int) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(url)
	request.Header.SetMethod(fasthttp.MethodPost)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.SetBodyRaw(body)
	if err := l.http.Do(request, response); err != nil {
		return fmt.Errorf("post: %w", err)
	}
	if response.StatusCode() != want {
		return fmt.Errorf("got %d %s", response.StatusCode(), response.Body())
	}
	return nil
}

func orderBody(i int) []byte {
	return fmt.Appendf(nil, `{"items":[{"productId":"bench-%d","quantity":1}],"currency":"RUB"}`, i%products)
}

func (l *lab) order(key string, i, want int) error {
	return l.post("http://"+l.web+"/api/orders", map[string]string{"Authorization": "Bearer " + l.token, "Idempotency-Key": key}, orderBody(i), want)
}

func event() []byte {
	id := uuid.NewString()
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings can be encoded
		"id": "evt_" + id, "type": "payment.pending", "createdAt": time.Now().UTC().Format(time.RFC3339),
		"object": map[string]any{
			"id": "pay_" + id, "status": "pending", "reference": id, "createdAt": time.Now().UTC().Format(time.RFC3339),
			"amount": map[string]any{"amount": "49.90", "currency": "RUB"},
		},
	})
	return body
}

func signature(body []byte) string {
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// behind says how far the relay was behind when the last request ended.
func (l *lab) behind(ctx context.Context) (string, error) {
	var outbox, operations, inbox int
	err := l.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL),
		(SELECT count(*) FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= now()),
		(SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED' AND next_attempt_at <= now())`).Scan(&outbox, &operations, &inbox)
	if err != nil {
		return "", fmt.Errorf("read backlog: %w", err)
	}
	return fmt.Sprintf("relay behind at the end: %d events, %d operations, %d inbox rows", outbox, operations, inbox), nil
}
