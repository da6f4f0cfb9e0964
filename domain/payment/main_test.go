package payment_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is an order, a provider and what carries payments on.
type bench struct {
	db       store.DB
	provider *paymenttest.Provider
	executor *operation.Executor
	applier  *payment.Applier
	order    paymenttest.Order
	events   int
}

func setup(t *testing.T, db store.DB) *bench {
	t.Helper()
	p := &paymenttest.Provider{}
	return &bench{
		db: db, provider: p, order: paymenttest.NewOrder(t, db, paymenttest.Wish{}),
		executor: &operation.Executor{
			DB: db, Lease: time.Minute, Owner: "test",
			Handlers: map[operation.Type]operation.Handler{payment.CreatePayment: paymenttest.Creator(p).Handler()},
		},
		applier: &payment.Applier{DB: db, Providers: map[string]provider.Payments{paymenttest.Name: p}},
	}
}

func (b *bench) execute(t *testing.T) {
	t.Helper()
	require.NoError(t, b.executor.Execute(t.Context(), b.order.Payment))
}

// said is what the provider would say of the order's attempt.
func (b *bench) said(s provider.Status) provider.Payment {
	return provider.Payment{ID: "pay_" + b.order.Reference(), Reference: b.order.Reference(), Status: s, Amount: b.order.Total}
}

// hear receives and applies an event under a new ID, and returns its inbox status and reason.
func (b *bench) hear(t *testing.T, said provider.Payment) (inbox.Status, string) {
	t.Helper()
	b.events++
	e, body := paymenttest.Webhook(fmt.Sprintf("evt_%s_%d", b.order.ID, b.events), said)
	r, err := inbox.Receive(t.Context(), b.db, paymenttest.Name, e, body)
	require.NoError(t, err)
	for range 2 { // a repeated job changes nothing
		require.NoError(t, b.applier.Apply(t.Context(), r.ID))
	}
	var status inbox.Status
	var reason string
	paymenttest.Read(t, b.db, `SELECT status, coalesce(reason, '') FROM incoming_events WHERE id = $1`, []any{r.ID}, &status, &reason)
	return status, reason
}

type facts struct {
	Payment   payment.State
	Order     string
	Operation string
	Review    string
	Paid      int // ORDER_PAID events
}

func (b *bench) facts(t *testing.T) (f facts) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT p.status, o.status, op.status, coalesce(o.review_reason, ''),
			(SELECT count(*) FROM outbox_events e WHERE e.order_id = o.id AND e.event_type = 'ORDER_PAID')
		FROM payments p JOIN orders o ON o.id = p.order_id JOIN operations op ON op.id = p.operation_id WHERE p.id = $1`,
		[]any{b.order.PaymentID}, &f.Payment, &f.Order, &f.Operation, &f.Review, &f.Paid)
	return f
}

// journaledAll demands that the payment's moves in the journal lead from CREATED to where it is, without a gap.
func (b *bench) journaledAll(t *testing.T) {
	t.Helper()
	rows, err := b.db.Query(t.Context(), `SELECT detail->>'from', detail->>'to' FROM journal
		WHERE payment_id = $1 AND kind LIKE 'payment.%' AND detail ? 'to' ORDER BY id`, b.order.PaymentID)
	require.NoError(t, err)
	at := string(payment.Created)
	for rows.Next() {
		var from, to string
		require.NoError(t, rows.Scan(&from, &to))
		require.Equal(t, at, from)
		require.True(t, payment.State(from).CanMove(payment.State(to)), "%s to %s", from, to)
		at = to
	}
	require.NoError(t, rows.Err())
	require.Equal(t, string(b.facts(t).Payment), at)
}

func together(n int, fn func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	done.Wait()
}
