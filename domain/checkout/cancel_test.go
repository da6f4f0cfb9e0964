package checkout_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
	"onefold/domain/store/storetest"
)

// counter is a shop whose provider is the real simulator, with an executor that this test drives by hand.
type counter struct {
	*bench
	executor *operation.Executor
	sim      string
}

func withProvider(t *testing.T) *counter {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	provider, err := simulator.Open(simulator.Config{
		DataFile: filepath.Join(t.TempDir(), "ledger.db"), PublicURL: "http://" + server.Listener.Addr().String(),
	})
	require.NoError(t, err)
	server.Config.Handler = provider.Handler()
	server.Start()
	t.Cleanup(func() {
		require.NoError(t, provider.Close())
		server.Close()
	})
	b := setup(t, storetest.DB(t))
	client := sim.New(sim.Config{BaseURL: server.URL})
	b.desk.Provider = client.Name()
	c := &counter{bench: b, sim: server.URL}
	c.executor = &operation.Executor{DB: b.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: payment.Creator{Provider: client, ReturnURL: func(uuid.UUID) string { return "https://shop.example/" }}.Handler(),
		payment.WatchPayment:  payment.Watcher{Provider: client}.Handler(),
		checkout.CancelOrder:  checkout.Closer{Provider: client, To: order.Canceled, Keep: time.Hour}.Handler(),
		checkout.ExpireOrder:  checkout.Closer{Provider: client, To: order.Expired}.Handler(),
	}}
	b.desk.Wake = func() { go c.carryOn(t) }
	return c
}

// carryOn executes what is due until nothing is.
func (c *counter) carryOn(t *testing.T) {
	t.Helper()
	for {
		var id uuid.UUID
		err := c.db.QueryRow(t.Context(), `SELECT id FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= clock_timestamp()
			AND (lease_expires_at IS NULL OR lease_expires_at <= clock_timestamp()) LIMIT 1`).Scan(&id)
		if err != nil {
			return
		}
		if err := c.executor.Execute(t.Context(), id); err != nil {
			if t.Context().Err() != nil {
				return // the test has ended; nobody waits for this try
			}
			t.Errorf("execute: %v", err)
			return
		}
	}
}

func (c *counter) fault(t *testing.T, on, do string) {
	t.Helper()
	c.control(t, "/control/faults", `{"on":"`+on+`","do":"`+do+`"}`)
}

func (c *counter) control(t *testing.T, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.sim+path, strings.NewReader(body))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, answer.StatusCode, 300)
}

// pending places an order of the limited product with the one-use code, and submits its payment.
func (c *counter) pending(t *testing.T, key string) uuid.UUID {
	t.Helper()
	cmd := c.command(key, checkout.Item{ProductID: "ink-and-iron", Quantity: 5})
	cmd.PromoCode = "once50"
	id := orderID(t, c.place(t, cmd))
	c.carryOn(t)
	return id
}

func (c *counter) states(t *testing.T, id uuid.UUID) (o, p string, needsReview bool) {
	t.Helper()
	paymenttest.Read(t, c.db, `SELECT o.status, p.status, o.needs_review FROM orders o JOIN payments p ON p.order_id = o.id WHERE o.id = $1
		ORDER BY p.attempt DESC LIMIT 1`, []any{id}, &o, &p, &needsReview)
	return o, p, needsReview
}

func TestCancelReleasesOnceAndReplays(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id := c.pending(t, "k1")

	first, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.NoError(t, err)
	again, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Result.Body, again.Result.Body)
	require.Equal(t, 200, first.Result.Code)
	other, err := c.desk.Cancel(t.Context(), c.user, id, "y")
	require.NoError(t, err, "a repeated step is a success that does nothing")
	require.False(t, other.Replayed)

	o, p, _ := c.states(t, id)
	require.Equal(t, []string{"CANCELED", "CANCELED"}, []string{o, p})
	require.Zero(t, c.counts(t).reserved)
	require.Zero(t, c.counts(t).uses)
	require.NotEqual(t, id, c.pending(t, "k2"), "what was released can be bought again")
	require.Equal(t, 5, c.counts(t).reserved)

	_, err = c.desk.Cancel(t.Context(), c.somebody(t), id, "x")
	require.Equal(t, "NOT_FOUND", code(t, err))
}

func TestCancelAtOneMoment(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id := c.pending(t, "k")
	together(8, func(i int) {
		if _, err := c.desk.Cancel(t.Context(), c.user, id, string(rune('a'+i%4))); err != nil && code(t, err) != "OPERATION_IN_PROGRESS" {
			t.Errorf("cancel: %v", err)
		}
	})
	require.Eventually(t, func() bool { o, _, _ := c.states(t, id); return o == "CANCELED" }, 5*time.Second, 5*time.Millisecond)
	require.Zero(t, c.counts(t).reserved, "released once")
	require.Zero(t, c.counts(t).uses)
}

func TestPaidMeanwhileIsNotCanceled(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id := c.pending(t, "k")
	var provider string
	paymenttest.Read(t, c.db, `SELECT provider_payment_id FROM payments WHERE order_id = $1`, []any{id}, &provider)
	c.control(t, "/control/payments/"+provider+"/succeed", "") // no webhook is configured: only asking finds out

	for range 2 {
		out, err := c.desk.Cancel(t.Context(), c.user, id, "x")
		require.NoError(t, err)
		require.NotNil(t, out.Failure)
		require.Equal(t, "ORDER_STATE", out.Failure.Code, "a result of this key")
	}
	o, p, review := c.states(t, id)
	require.Equal(t, []string{"PAID", "SUCCEEDED"}, []string{o, p})
	require.False(t, review)
	_, err := c.desk.Cancel(t.Context(), c.user, id, "y")
	require.Equal(t, "ORDER_STATE", code(t, err))
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'`))
}

func TestUnknownPaymentKeepsTheOrderOpen(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	c.fault(t, "payments.create", "drop_after")
	id := c.pending(t, "k")
	_, p, _ := c.states(t, id)
	require.Equal(t, "UNKNOWN", p)
	_, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.Equal(t, "PAYMENT_UNRESOLVED", code(t, err))
	_, err = c.desk.Retry(t.Context(), c.user, id, "x")
	require.Equal(t, "PAYMENT_UNRESOLVED", code(t, err))

	paymenttest.MakeDue(t, c.db)
	c.carryOn(t)
	out, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.NoError(t, err, "nothing was bound to the key")
	require.Equal(t, 200, out.Result.Code)
}

func TestLostAnswerOfACancelIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id := c.pending(t, "k")
	c.fault(t, "payments.cancel", "drop_after")
	c.desk.Operations.Wait = 50 * time.Millisecond
	_, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.Equal(t, "OPERATION_IN_PROGRESS", code(t, err))
	require.Eventually(t, func() bool {
		return paymenttest.Count(t, c.db, `SELECT count(*) FROM operations WHERE type = 'CANCEL_ORDER' AND looks = 1`) == 1
	}, 5*time.Second, 5*time.Millisecond)
	o, _, _ := c.states(t, id)
	require.Equal(t, "AWAITING_PAYMENT", o)
	require.Equal(t, 5, c.counts(t).reserved, "kept while it isn't known")

	paymenttest.MakeDue(t, c.db)
	c.carryOn(t)
	out, err := c.desk.Cancel(t.Context(), c.user, id, "x")
	require.NoError(t, err)
	require.True(t, out.Replayed)
	require.Zero(t, c.counts(t).reserved)
}

// A provider may answer one error to a key for ever, whether or not it did what was asked: the next try looks, then asks anew.
func TestAStickyErrorOfACancelIsOvercome(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"nothing done": `{"on":"payments.cancel","do":"error_sticky","times":1}`, "done": `{"on":"payments.cancel","do":"error_sticky","times":1,"booked":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withProvider(t)
			id := c.pending(t, "k")
			c.control(t, "/control/faults", fault)
			c.desk.Operations.Wait = 50 * time.Millisecond
			_, err := c.desk.Cancel(t.Context(), c.user, id, "x")
			require.Equal(t, "OPERATION_IN_PROGRESS", code(t, err))
			for range 3 {
				c.look(t)
			}
			o, p, _ := c.states(t, id)
			require.Equal(t, []string{"CANCELED", "CANCELED"}, []string{o, p})
			require.Zero(t, c.counts(t).reserved)
		})
	}
}

func TestOverdueOrdersExpireOnce(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id, young := c.pending(t, "k"), orderID(t, c.place(t, c.command("young")))
	_, err := c.db.Exec(t.Context(), `UPDATE orders SET created_at = now() - interval '25 hours' WHERE id = $1`, id)
	require.NoError(t, err)
	for want := 1; want >= 0; want-- {
		n, err := checkout.PlanExpiry(t.Context(), c.db, 24*time.Hour, 10)
		require.NoError(t, err)
		require.Equal(t, want, n)
		c.carryOn(t)
	}
	o, p, _ := c.states(t, id)
	require.Equal(t, []string{"EXPIRED", "CANCELED"}, []string{o, p})
	o, _, _ = c.states(t, young)
	require.Equal(t, "AWAITING_PAYMENT", o)
	require.Equal(t, 2, c.counts(t).reserved, "only the young order's units")
	_, err = c.desk.Cancel(t.Context(), c.user, id, "x")
	require.Equal(t, "ORDER_STATE", code(t, err))
}

func TestLostWebhookIsFoundByWatching(t *testing.T) {
	t.Parallel()
	c := withProvider(t)
	id := c.pending(t, "k")
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(*) FROM operations WHERE type = 'WATCH_PAYMENT' AND status = 'PROCESSING'`))
	paymenttest.MakeDue(t, c.db)
	c.carryOn(t)
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(*) FROM operations WHERE type = 'WATCH_PAYMENT' AND status = 'PROCESSING'
		AND next_attempt_at > now() + interval '20 seconds'`), "still pending there: looked at again later")

	var provider string
	paymenttest.Read(t, c.db, `SELECT provider_payment_id FROM payments WHERE order_id = $1`, []any{id}, &provider)
	c.control(t, "/control/payments/"+provider+"/succeed", "")
	for range 2 {
		paymenttest.MakeDue(t, c.db)
		c.carryOn(t)
	}
	o, p, _ := c.states(t, id)
	require.Equal(t, []string{"PAID", "SUCCEEDED"}, []string{o, p})
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'`))
	require.Equal(t, 1, paymenttest.Count(t, c.db, `SELECT count(*) FROM operations WHERE type = 'WATCH_PAYMENT' AND status = 'COMPLETED'`))
}
