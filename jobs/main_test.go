package jobs

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/refund"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is a database with everything that works on it, each part a double or real.
type bench struct {
	db       *pgxpool.Pool
	provider *paymenttest.Provider
	mailer   *paymenttest.Mailer
	stepping func(context.Context, uuid.UUID) error // carries on batches; nil: there are none
}

func setup(t *testing.T) *bench {
	t.Helper()
	return &bench{db: storetest.DB(t), provider: &paymenttest.Provider{}, mailer: &paymenttest.Mailer{}}
}

// process is one process of workers; without workers only its relay works.
func (b *bench) process(t *testing.T, workers int) *Jobs {
	t.Helper()
	mail := fulfilment.Mail{Mailer: b.mailer, Domain: "shop.example", OrderURL: func(id uuid.UUID) string { return id.String() }}
	executor := &operation.Executor{DB: b.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: paymenttest.Creator(b.provider).Handler(), fulfilment.IssueLicenses: fulfilment.License(),
		fulfilment.AccrueBonus: fulfilment.Bonus(), fulfilment.SendNotification: mail.Handler(),
		refund.CreateRefund: refund.Sender{Provider: b.provider}.Handler(), payment.RefundOrphan: refund.Sender{Provider: b.provider}.OrphanHandler(),
		fulfilment.ReverseEffects: fulfilment.Reversal(),
	}}
	applier := &payment.Applier{DB: b.db, Providers: map[string]provider.Payments{paymenttest.Name: b.provider}, Refunds: refund.Apply}
	j, err := New(b.db, executor, applier, Config{
		Workers: workers, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Step: b.stepping,
	})
	require.NoError(t, err)
	return j
}

// start runs a process until the test ends.
func (b *bench) start(t *testing.T, workers int) *Jobs {
	t.Helper()
	j := b.process(t, workers)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error)
	go func() { ended <- j.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return j
}

func (b *bench) round(t *testing.T, j *Jobs) {
	t.Helper()
	_, err := j.round(t.Context())
	require.NoError(t, err)
}

// hear puts the provider's news of an order into the inbox.
func (b *bench) hear(t *testing.T, id string, o paymenttest.Order, s provider.Status) {
	t.Helper()
	e, body := paymenttest.Webhook(id, provider.Payment{ID: "pay_" + o.Reference(), Reference: o.Reference(), Status: s, Amount: o.Total})
	_, err := inbox.Receive(t.Context(), b.db, paymenttest.Name, e, body)
	require.NoError(t, err)
}

func (b *bench) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return paymenttest.Count(t, b.db, sql, args...)
}

func (b *bench) until(t *testing.T, what, sql string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var is bool
		return b.db.QueryRow(t.Context(), sql, args...).Scan(&is) == nil && is
	}, 20*time.Second, 10*time.Millisecond, what)
}
