package refund_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/invariant"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/simulator"
	"onefold/domain/refund"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is a shop whose provider is the real simulator. Executor, relay and webhooks are driven by hand, one step at a time.
type bench struct {
	db       *pgxpool.Pool
	sim      string      // address
	hooks    chan []byte // what the simulator has sent
	provider *gate
	executor *operation.Executor
	applier  *payment.Applier
	desk     *checkout.Desk
	actor    uuid.UUID // an operator
	shopper  uuid.UUID
	keys     int
}

// gate is the simulator's adapter with a door behind the refund call: the provider has done it, and we don't know yet.
type gate struct {
	*sim.Client
	called chan struct{} // nil: the door is open
	open   chan struct{}
}

func (g *gate) CreateRefund(ctx context.Context, in provider.CreateRefund) (provider.Refund, error) {
	made, err := g.Client.CreateRefund(ctx, in)
	if g.called != nil {
		called := g.called
		g.called = nil
		close(called)
		<-g.open
	}
	return made, err
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{db: storetest.DB(t), hooks: make(chan []byte, 100)}
	b.serve(t)
	b.executor = b.newExecutor()
	b.applier = &payment.Applier{DB: b.db, Providers: map[string]provider.Payments{"sim": b.provider}, Refunds: refund.Apply, MaxWaits: 3}
	b.desk = &checkout.Desk{Operations: &operation.Runner{DB: b.db, Retention: time.Hour, Wait: 2 * time.Second}, Provider: "sim", Wake: func() {}}
	b.actor, b.shopper = b.user(t, "operator"), b.user(t, "shopper")
	require.NoError(t, catalog.SeedDemo(t.Context(), b.db))
	b.exec(t, `INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand) VALUES ('five', 'license', 'Five', 'Пять', '', '', 1000)`)
	b.exec(t, `INSERT INTO product_prices (product_id, currency, price_minor) VALUES ('five', 'RUB', 500)`)
	return b
}

func (b *bench) serve(t *testing.T) {
	t.Helper()
	inboxServer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.hooks <- body
	}))
	server := httptest.NewUnstartedServer(nil)
	outside, err := simulator.Open(simulator.Config{
		DataFile: filepath.Join(t.TempDir(), "ledger.db"), PublicURL: "http://" + server.Listener.Addr().String(),
		WebhookURL: inboxServer.URL, Secret: "whsec_test",
	})
	require.NoError(t, err)
	server.Config.Handler = outside.Handler()
	server.Start()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		outside.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		server.Close()
		inboxServer.Close()
		require.NoError(t, outside.Close())
	})
	b.sim, b.provider = server.URL, &gate{Client: sim.New(sim.Config{BaseURL: server.URL, Secrets: []string{"whsec_test"}})}
}

func (b *bench) newExecutor() *operation.Executor {
	mail := fulfilment.Mail{Mailer: &paymenttest.Mailer{}, Domain: "shop.example", OrderURL: func(uuid.UUID) string { return "https://shop.example/" }}
	return &operation.Executor{DB: b.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: payment.Creator{Provider: b.provider, ReturnURL: func(uuid.UUID) string { return "https://shop.example/" }}.Handler(),
		payment.WatchPayment:  payment.Watcher{Provider: b.provider}.Handler(),
		checkout.ExpireOrder:  checkout.Closer{Provider: b.provider, To: order.Expired}.Handler(),
		refund.CreateRefund:   refund.Sender{Provider: b.provider}.Handler(), payment.RefundOrphan: refund.Sender{Provider: b.provider}.OrphanHandler(),
		fulfilment.IssueLicenses: fulfilment.License(), fulfilment.AccrueBonus: fulfilment.Bonus(), fulfilment.SendNotification: mail.Handler(),
		fulfilment.ReverseEffects: fulfilment.Reversal(),
	}}
}

func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := b.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (b *bench) user(t *testing.T, role string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	b.exec(t, `INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, id, id.String()+"@example.com", role)
	return id
}

func (b *bench) key() string {
	b.keys++
	return fmt.Sprintf("k-%d", b.keys)
}

// placed is an order over 10.00 whose first payment waits at the provider.
func (b *bench) placed(t *testing.T) uuid.UUID {
	t.Helper()
	out, err := b.desk.Place(t.Context(), checkout.Command{
		UserID: b.shopper, Key: b.key(), Items: []checkout.Item{{ProductID: "five", Quantity: 2}}, Currency: "RUB", Locale: "en", Email: "ann@example.com",
	})
	require.NoError(t, err)
	b.submit(t)
	return out.Result.OrderID
}

// submit creates the open attempt at the provider, whose news of it changes nothing.
func (b *bench) submit(t *testing.T) {
	t.Helper()
	b.work(t, payment.CreatePayment)
	status, _ := b.hear(t, b.hook(t))
	require.Equal(t, inbox.NoChange, status)
}

// paid is an order over 10.00 that is paid; its effects are planned, not done.
func (b *bench) paid(t *testing.T) uuid.UUID {
	t.Helper()
	id := b.placed(t)
	b.pay(t, id, 1)
	b.relay(t)
	return id
}

// fulfilled is a paid order with its effects.
func (b *bench) fulfilled(t *testing.T) uuid.UUID {
	t.Helper()
	id := b.paid(t)
	b.work(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification)
	require.Equal(t, "FULFILLED", b.facts(t, id).Order)
	return id
}

// pay lets the payer pay an attempt, and applies the webhook.
func (b *bench) pay(t *testing.T, orderID uuid.UUID, attempt int) (inbox.Status, string) {
	t.Helper()
	b.control(t, "/control/payments/"+b.providerID(t, orderID, attempt)+"/succeed", "")
	return b.hear(t, b.hook(t))
}

func (b *bench) providerID(t *testing.T, orderID uuid.UUID, attempt int) (id string) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT provider_payment_id FROM payments WHERE order_id = $1 AND attempt = $2`, []any{orderID, attempt}, &id)
	return id
}

// hook is the next webhook that the simulator sends.
func (b *bench) hook(t *testing.T) []byte {
	t.Helper()
	select {
	case body := <-b.hooks:
		return body
	case <-time.After(10 * time.Second):
		require.Fail(t, "no webhook came")
		return nil
	}
}

// hear receives and applies a webhook, and says what became of it.
func (b *bench) hear(t *testing.T, body []byte) (inbox.Status, string) {
	t.Helper()
	e, err := b.provider.Translate(body)
	require.NoError(t, err)
	r, err := inbox.Receive(t.Context(), b.db, "sim", e, body)
	require.NoError(t, err)
	for range 2 { // a repeated job changes nothing
		require.NoError(t, b.applier.Apply(t.Context(), r.ID))
	}
	var status inbox.Status
	var reason string
	paymenttest.Read(t, b.db, `SELECT status, coalesce(reason, '') FROM incoming_events WHERE id = $1`, []any{r.ID}, &status, &reason)
	return status, reason
}

// reworded is a webhook with members of the event and its object replaced.
func reworded(t *testing.T, body []byte, event, object map[string]any) []byte {
	t.Helper()
	var e map[string]any
	require.NoError(t, json.Unmarshal(body, &e))
	maps.Copy(e, event)
	maps.Copy(e["object"].(map[string]any), object)
	out, err := json.Marshal(e)
	require.NoError(t, err)
	return out
}

// again is the same fact under another event ID.
func again(t *testing.T, body []byte) []byte {
	t.Helper()
	return reworded(t, body, map[string]any{"id": "evt_" + uuid.NewString()}, nil)
}

func (b *bench) control(t *testing.T, path, body string) {
	t.Helper()
	b.call(t, http.MethodPost, path, body, nil)
}

func (b *bench) call(t *testing.T, method, path, body string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.sim+path, strings.NewReader(body))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, answer.StatusCode, 300, "%s", text)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into))
	}
}

func (b *bench) fault(t *testing.T, on, do string, more ...string) {
	t.Helper()
	b.control(t, "/control/faults", fmt.Sprintf(`{"on":%q,"do":%q%s}`, on, do, strings.Join(more, "")))
}

// booked lists the refunds in the simulator's ledger: the ground truth.
func (b *bench) booked(t *testing.T) (amounts []string) {
	t.Helper()
	var ledger struct {
		Refunds []struct {
			Status string
			Amount struct{ Amount string }
		}
	}
	b.call(t, http.MethodGet, "/control/ledger", "", &ledger)
	for _, r := range ledger.Refunds {
		if r.Status == "succeeded" {
			amounts = append(amounts, r.Amount.Amount)
		}
	}
	return amounts
}

// work executes the operations of some types that are PROCESSING, due or not, once each.
func (b *bench) work(t *testing.T, types ...operation.Type) {
	t.Helper()
	for _, kind := range types {
		for _, id := range b.running(t, kind) {
			require.NoError(t, b.executor.Execute(t.Context(), id))
		}
	}
}

func (b *bench) running(t *testing.T, kind operation.Type) []operation.ID {
	t.Helper()
	rows, err := b.db.Query(t.Context(), `SELECT id FROM operations WHERE status = 'PROCESSING' AND type = $1 ORDER BY created_at`, kind)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	return ids
}

// relay plans what follows from events, as jobs/events.go says.
func (b *bench) relay(t *testing.T) {
	t.Helper()
	require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
		events, err := outbox.TakeDue(t.Context(), tx, 100)
		if err != nil {
			return err
		}
		for _, e := range events {
			one := []outbox.Event{e}
			switch e.Type {
			case outbox.OrderPaid:
				err = fulfilment.Plan(t.Context(), tx, one)
			case outbox.OrderRefunded:
				err = fulfilment.PlanReversal(t.Context(), tx, one)
			case outbox.OrderPlaced:
			}
			if err != nil {
				return err
			}
			if err := outbox.Dispatched(t.Context(), tx, []uuid.UUID{e.ID}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// rub parses an amount; "" is none.
func rub(t *testing.T, number string) *money.Amount {
	t.Helper()
	if number == "" {
		return nil
	}
	amount, err := money.Parse(number, "RUB")
	require.NoError(t, err)
	return &amount
}

func (b *bench) ask(t *testing.T, orderID uuid.UUID, key, amount string) (operation.Outcome, error) {
	t.Helper()
	return refund.Create(t.Context(), b.desk.Operations, b.actor, orderID, key, rub(t, amount), "the customer changed their mind", nil)
}

// refund asks for a refund and carries it on by one try.
func (b *bench) refund(t *testing.T, orderID uuid.UUID, amount string) {
	t.Helper()
	out, err := b.ask(t, orderID, b.key(), amount)
	require.NoError(t, err)
	require.Equal(t, 202, out.Result.Code)
	b.work(t, refund.CreateRefund)
}

// facts are what must come out right.
type facts struct {
	Order, Review string
	Payments      string // states in the order of attempts
	Refunded      string // of each attempt, minor units
	Refunds       string // states, oldest first
	Operations    string // of the refunds
}

func (b *bench) facts(t *testing.T, orderID uuid.UUID) (f facts) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT status, coalesce(review_reason, ''),
			(SELECT string_agg(p.status, ' ' ORDER BY attempt) FROM payments p WHERE p.order_id = o.id),
			(SELECT string_agg(p.refunded_minor::text, ' ' ORDER BY attempt) FROM payments p WHERE p.order_id = o.id),
			coalesce((SELECT string_agg(r.status, ' ' ORDER BY id) FROM refunds r WHERE r.order_id = o.id), ''),
			coalesce((SELECT string_agg(op.status, ' ' ORDER BY r.id) FROM refunds r JOIN operations op ON op.id = r.operation_id WHERE r.order_id = o.id), '')
		FROM orders o WHERE id = $1`, []any{orderID}, &f.Order, &f.Review, &f.Payments, &f.Refunded, &f.Refunds, &f.Operations)
	return f
}

// given is what the shopper has: licences that count, and bonus points, with the number of their entries.
func (b *bench) given(t *testing.T, orderID uuid.UUID) (licenses, points, entries int) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT (SELECT count(*) FROM licenses WHERE order_id = $1 AND revoked_at IS NULL),
		(SELECT coalesce(sum(points), 0) FROM bonus_entries WHERE order_id = $1), (SELECT count(*) FROM bonus_entries WHERE order_id = $1)`,
		[]any{orderID}, &licenses, &points, &entries)
	return licenses, points, entries
}

// clean demands that every invariant holds.
func (b *bench) clean(t *testing.T) {
	t.Helper()
	findings, err := invariant.Check(t.Context(), b.db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%s: %v", f.Name, f.Examples)
	}
}

// code is the domain code of an error; "" for none.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := fault.Of(err)
	require.True(t, ok, "%v", err)
	return e.Code
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
