package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
	"onefold/domain/refund"
	"onefold/domain/store/storetest"
)

// world is one database, one simulator and what its webhooks brought.
type world struct {
	pool     *pgxpool.Pool
	client   *sim.Client
	provider *mortal
	mailer   *paymenttest.Mailer
	executor *operation.Executor
	applier  *payment.Applier
	desk     *checkout.Desk
	sim      string

	mu  sync.Mutex
	bag [][]byte // webhooks sent and not yet delivered to the inbox
}

// mortal is the simulator's client in a worker that may die after the provider answered, or be held up there while the world goes on.
// A call may also be slow: it gets no answer, and reaches the provider later, when the worker may have repeated it.
type mortal struct {
	*sim.Client
	dies, slow bool
	meanwhile  func() // once
	late       []func()
}

type death struct{}

// arrive lets the slow calls reach the provider.
func (m *mortal) arrive() {
	for _, call := range m.late {
		call()
	}
	m.late = nil
}

func through[In, Out any](ctx context.Context, m *mortal, call func(context.Context, In) (Out, error), in In) (out Out, err error) {
	if m.slow {
		m.slow, err = false, provider.Errorf(provider.Unknown, "no answer")
		m.late = append(m.late, func() { _, _ = call(context.WithoutCancel(ctx), in) })
	} else {
		out, err = call(ctx, in)
	}
	if on := m.meanwhile; on != nil {
		m.meanwhile = nil
		on()
	}
	if m.dies {
		m.dies = false
		panic(death{})
	}
	return out, err
}

func (m *mortal) CreatePayment(ctx context.Context, in provider.CreatePayment) (provider.Payment, error) {
	return through(ctx, m, m.Client.CreatePayment, in)
}

func (m *mortal) CancelPayment(ctx context.Context, key, id string) (provider.Payment, error) {
	return through(ctx, m, func(ctx context.Context, id string) (provider.Payment, error) {
		return m.Client.CancelPayment(ctx, key, id)
	}, id)
}

func (m *mortal) CreateShipment(ctx context.Context, in provider.CreateShipment) (provider.Shipment, error) {
	return through(ctx, m, m.Client.CreateShipment, in)
}

func (m *mortal) CreateRefund(ctx context.Context, in provider.CreateRefund) (provider.Refund, error) {
	return through(ctx, m, m.Client.CreateRefund, in)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{pool: storetest.DB(t), mailer: &paymenttest.Mailer{}}
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || w.client.Authenticate(r.Header, body, time.Now()) != nil {
			return // a forged event is not put into the bag; the simulator need not know
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.bag = append(w.bag, body)
	}))
	server := httptest.NewUnstartedServer(nil)
	ledger, err := simulator.Open(simulator.Config{
		DataFile: filepath.Join(t.TempDir(), "ledger.db"), PublicURL: "http://" + server.Listener.Addr().String(),
		WebhookURL: shop.URL, Secret: "secret", NoSync: true,
	})
	require.NoError(t, err)
	server.Config.Handler = ledger.Handler()
	server.Start()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	running := make(chan struct{})
	go func() { defer close(running); ledger.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-running
		require.NoError(t, ledger.Close())
		server.Close()
		shop.Close()
	})
	w.sim = server.URL
	w.client = sim.New(sim.Config{BaseURL: server.URL, Secrets: []string{"secret"}, Timeout: 300 * time.Millisecond})
	w.provider = &mortal{Client: w.client}
	w.executor = &operation.Executor{
		DB: w.pool, Lease: time.Minute, Owner: "explorer", Handlers: handlers(w.provider, w.provider, w.mailer, "http://shop.example", time.Hour),
	}
	w.applier = &payment.Applier{DB: w.pool, Providers: map[string]provider.Payments{w.client.Name(): w.client}, Refunds: refund.Apply, Shipments: fulfilment.ApplyShipment, MaxWaits: 50}
	runner := &operation.Runner{DB: w.pool, Retention: time.Hour, Wait: 10 * time.Millisecond}
	w.desk = &checkout.Desk{Operations: runner, Provider: w.client.Name(), Wake: func() {}}
	require.NoError(t, catalog.SeedDemo(t.Context(), w.pool))
	return w
}

func (w *world) somebody(t *rapid.T) uuid.UUID {
	id := uuid.New()
	_, err := w.pool.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, 'shopper')`, id, id.String()+"@example.com")
	require.NoError(t, err)
	return id
}
