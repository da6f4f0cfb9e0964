//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

// shop is onefold as it runs in production: a database, a provider, web and worker processes of their own.
type shop struct {
	*observer
	sim      *simulator
	web      []*process
	addrs    []string // of web
	work     []*process
	env      []string
	simEnv   []string
	ann, bob buyer
}

// buyer is one API client.
type buyer struct{ email, password, token string }

const (
	webhookSecret = "e2e-webhook-secret-0123456789abcdef"
	license       = "lumen"  // 2490.00 RUB
	other         = "ledger" // 3299.90 RUB
)

// open starts a shop with this many web and worker processes.
func open(t *testing.T, webs, workers int) *shop {
	t.Helper()
	return openOn(t, storetest.URL(t), webs, workers)
}

// openOn is open on a database of the test's own; env adds to the settings of web and workers, or replaces them.
func openOn(t *testing.T, url string, webs, workers int, env ...string) *shop {
	t.Helper()
	s := &shop{observer: observe(t, url)}
	s.stock()
	s.ann, s.bob = people(t, s.observer)
	for range webs {
		s.addrs = append(s.addrs, freeAddr(t))
	}
	s.sim = s.startSimulator()
	s.env = []string{
		"DATABASE_URL=" + s.url, "ONEFOLD_SIM_URL=" + s.sim.base, "ONEFOLD_SMTP_ADDR=" + s.sim.smtp, "ONEFOLD_WEBHOOK_SECRET=" + webhookSecret,
		"ONEFOLD_SESSION_KEY=" + strings.Repeat("k", 40), "ONEFOLD_LEASE=2s", "ONEFOLD_MAX_CONNS=12", "ONEFOLD_WORKERS=8",
		"ONEFOLD_PUBLIC_URL=http://" + s.addrs[0],
	}
	s.env = append(s.env, env...) // the last value wins
	for i := range webs {
		s.web = append(s.web, s.startWeb(i, ""))
	}
	for range workers {
		s.startWorker("")
	}
	return s
}

func (s *shop) startSimulator() *simulator {
	s.t.Helper()
	if s.simEnv == nil {
		s.simEnv = []string{
			"ONEFOLD_SIM_ADDR=127.0.0.1:0", "ONEFOLD_SMTP_ADDR=127.0.0.1:0", "ONEFOLD_DATA=" + s.t.TempDir(), "ONEFOLD_WEBHOOK_SECRET=" + webhookSecret,
			"ONEFOLD_SIM_WEBHOOK_URL=http://" + s.addrs[0] + "/webhooks/sim",
		}
	}
	p := launch(s.t, "sim", shipped, s.simEnv, "sim")
	said := p.said("simulating")
	sim := &simulator{t: s.t, process: p, http: s.http, base: "http://" + said["addr"].(string), smtp: said["smtp"].(string)}
	s.simEnv[0], s.simEnv[1] = "ONEFOLD_SIM_ADDR="+said["addr"].(string), "ONEFOLD_SMTP_ADDR="+sim.smtp
	return sim
}

// startWeb starts web process i, again at its address; crash is the point where it dies, "" for nowhere.
func (s *shop) startWeb(i int, crash string) *process {
	s.t.Helper()
	p := s.serve(fmt.Sprintf("web%d", i), crash, "--web", "--addr", s.addrs[i])
	eventually(s.t, "web is ready", func() bool {
		a, err := s.try("GET", "http://"+s.addrs[i]+"/readyz", "", "", nil)
		return err == nil && a.status == 200
	})
	return p
}

func (s *shop) startWorker(crash string) *process {
	s.t.Helper()
	p := s.serve("work", crash, "--work")
	p.said("serving")
	s.work = append(s.work, p)
	return p
}

func (s *shop) serve(name, crash string, args ...string) *process {
	s.t.Helper()
	if crash == "" {
		return launch(s.t, name, shipped, s.env, append([]string{"serve"}, args...)...)
	}
	return launch(s.t, name+"-crash", crashing, append([]string{"ONEFOLD_CRASH=" + crash}, s.env...), append([]string{"serve"}, args...)...)
}

// stopWorkers ends them in the ordinary way.
func (s *shop) stopWorkers() {
	s.t.Helper()
	for _, p := range s.work {
		if p.running() {
			require.Equal(s.t, 0, p.stop(syscall.SIGTERM), tail(p.log()))
		}
	}
	s.work = nil
}

// freeAddr takes a port below the range that the system gives to others, so that nobody else takes it meanwhile.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 500 {
		addr := fmt.Sprintf("127.0.0.1:%d", 12000+int(nextPort.Add(1)+int64(os.Getpid()))%18000)
		if l, err := net.Listen("tcp", addr); err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

var nextPort atomic.Int64

// observer sees the database from outside and can hold locks in it.
type observer struct {
	client
	url string
	db  *pgxpool.Pool
}

func observe(t *testing.T, url string) *observer {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	cfg.MaxConns = 4
	cfg.ConnConfig.RuntimeParams["jit"] = "off" // not every server has the library for it
	db, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return &observer{client: newClient(t), url: url, db: db}
}

func (o *observer) exec(sql string, args ...any) {
	o.t.Helper()
	_, err := o.db.Exec(o.t.Context(), sql, args...)
	require.NoError(o.t, err)
}

func (o *observer) count(sql string, args ...any) (n int) {
	o.t.Helper()
	require.NoError(o.t, o.db.QueryRow(o.t.Context(), sql, args...).Scan(&n))
	return n
}

func (o *observer) text(sql string, args ...any) (s string) {
	o.t.Helper()
	require.NoError(o.t, o.db.QueryRow(o.t.Context(), sql, args...).Scan(&s))
	return s
}

func (o *observer) texts(sql string, args ...any) []string {
	o.t.Helper()
	rows, err := o.db.Query(o.t.Context(), sql, args...)
	require.NoError(o.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(o.t, err)
	return list
}

// hold keeps the locks of a statement until release is called.
func (o *observer) hold(sql string, args ...any) (release func()) {
	o.t.Helper()
	conn, err := pgx.Connect(o.t.Context(), o.url) // its own: the pool stays free
	require.NoError(o.t, err)
	tx, err := conn.Begin(o.t.Context())
	require.NoError(o.t, err)
	_, err = tx.Exec(o.t.Context(), sql, args...)
	require.NoError(o.t, err)
	release = sync.OnceFunc(func() { _ = conn.Close(context.WithoutCancel(o.t.Context())) })
	o.t.Cleanup(release)
	return release
}

// waiting tells that a session of onefold waits for a lock of ours.
func (o *observer) waiting() bool {
	o.t.Helper()
	return o.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'onefold%'
		AND wait_event_type = 'Lock'`) > 0
}

// stock fills the shelves; there is no command for that yet.
func (o *observer) stock() {
	o.t.Helper()
	for id, kopecks := range map[string]int{license: 249000, other: 329990} {
		o.product(id, id, kopecks)
	}
	o.exec(`INSERT INTO product_prices VALUES ($1, 'JPY', 4200), ($1, 'KWD', 8900), ($1, 'USD', 2900)`, license)
}

func (o *observer) product(id, name string, kopecks int) {
	o.t.Helper()
	o.exec(`INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand) VALUES ($1, 'license', $2, $2, '', '', 1000000)`, id, name)
	o.exec(`INSERT INTO product_prices VALUES ($1, 'RUB', $2)`, id, kopecks)
}

// people are made once by the command line, as an operator makes them; other databases get copies of the rows.
func people(t *testing.T, o *observer) (ann, bob buyer) {
	t.Helper()
	madeOnce.Do(func() {
		for i, name := range []string{"ann", "bob"} {
			b := buyer{email: name + "@example.com", password: "correct horse " + uuid.NewString()}
			run(t, b.password+"\n", o.env(), "user", "add", "--email", b.email, "--role", "shopper")
			b.token = strings.TrimSpace(run(t, "", o.env(), "token", "create", "--email", b.email))
			made.buyers[i] = b
		}
		made.users = o.text(`SELECT jsonb_agg(u)::text FROM users u WHERE email LIKE '%@example.com'`)
		made.tokens = o.text(`SELECT jsonb_agg(a)::text FROM api_tokens a`)
	})
	require.NotEmpty(t, made.tokens, "the people could not be made")
	o.exec(`INSERT INTO users SELECT * FROM jsonb_populate_recordset(NULL::users, $1::jsonb) ON CONFLICT DO NOTHING`, made.users)            //nolint:unqueryvet // whole rows are copied
	o.exec(`INSERT INTO api_tokens SELECT * FROM jsonb_populate_recordset(NULL::api_tokens, $1::jsonb) ON CONFLICT DO NOTHING`, made.tokens) //nolint:unqueryvet // as above
	return made.buyers[0], made.buyers[1]
}

func (o *observer) env() []string { return []string{"DATABASE_URL=" + o.url} }

var (
	madeOnce sync.Once
	made     struct {
		buyers        [2]buyer
		users, tokens string
	}
)
