package fulfilment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// depot is a shop whose carrier is the real simulator. Executor, relay and webhooks are driven by hand, one step at a time.
type depot struct {
	db       *pgxpool.Pool
	sim      string // address
	client   *sim.Client
	hooks    chan []byte // what the simulator has sent
	mailer   *paymenttest.Mailer
	executor *operation.Executor
	applier  *payment.Applier
	desk     *checkout.Desk
	shopper  uuid.UUID
	keys     int
}

func newDepot(t *testing.T) *depot {
	t.Helper()
	d := &depot{db: storetest.DB(t), hooks: make(chan []byte, 100), mailer: &paymenttest.Mailer{}, shopper: uuid.New()}
	d.serve(t)
	d.executor = d.worker(d.client)
	d.applier = &payment.Applier{
		DB: d.db, Providers: map[string]provider.Payments{"sim": d.client}, Refunds: refund.Apply, Shipments: fulfilment.ApplyShipment, MaxWaits: 3,
	}
	d.desk = &checkout.Desk{Operations: &operation.Runner{DB: d.db, Retention: time.Hour, Wait: 2 * time.Second}, Provider: "sim", Wake: func() {}}
	require.NoError(t, catalog.SeedDemo(t.Context(), d.db))
	d.exec(t, `INSERT INTO users (id, email, role) VALUES ($1, 'ann@example.com', 'shopper')`, d.shopper)
	return d
}

func (d *depot) serve(t *testing.T) {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.hooks <- body
	}))
	server := httptest.NewUnstartedServer(nil)
	outside, err := simulator.Open(simulator.Config{
		DataFile: filepath.Join(t.TempDir(), "ledger.db"), PublicURL: "http://" + server.Listener.Addr().String(),
		WebhookURL: shop.URL, Secret: "whsec_test",
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
		shop.Close()
		require.NoError(t, outside.Close())
	})
	d.sim, d.client = server.URL, sim.New(sim.Config{BaseURL: server.URL, Secrets: []string{"whsec_test"}})
}

// worker is another process on the same database.
func (d *depot) worker(carrier provider.Delivery) *operation.Executor {
	url := func(uuid.UUID) string { return "https://shop.example/" }
	return &operation.Executor{DB: d.db, Lease: time.Minute, Owner: "test", ConclusiveAfter: time.Nanosecond, Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment:       payment.Creator{Provider: d.client, ReturnURL: url}.Handler(),
		payment.WatchPayment:        payment.Watcher{Provider: d.client}.Handler(),
		refund.CreateRefund:         refund.Sender{Provider: d.client}.Handler(),
		fulfilment.IssueLicenses:    fulfilment.License(),
		fulfilment.AccrueBonus:      fulfilment.Bonus(),
		fulfilment.ShipParcel:       fulfilment.Carrier{Delivery: carrier}.Handler(),
		fulfilment.SendNotification: fulfilment.Mail{Mailer: d.mailer, Domain: "shop.example", OrderURL: url}.Handler(),
		fulfilment.ReverseEffects:   fulfilment.Reversal(),
	}}
}

// door stands behind the carrier's call: the label is bought, and we don't know yet.
type door struct {
	*sim.Client
	reached, open chan struct{}
}

func (d *door) CreateShipment(ctx context.Context, in provider.CreateShipment) (provider.Shipment, error) {
	made, err := d.Client.CreateShipment(ctx, in)
	close(d.reached)
	<-d.open
	return made, err
}

func (d *depot) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := d.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func home() provider.Address {
	return provider.Address{Name: "Ann Smith", Line1: "Main Street 1", City: "Berlin", Postcode: "00000", Country: "DE"}
}

// paid is an order of mugs and one licence that is paid; its effects are planned, not done.
func (d *depot) paid(t *testing.T, mugs int) uuid.UUID {
	t.Helper()
	d.keys++
	out, err := d.desk.Place(t.Context(), checkout.Command{
		UserID: d.shopper, Key: fmt.Sprintf("k-%d", d.keys), Currency: "RUB", Locale: "en", Email: "ann@example.com",
		Items:    []checkout.Item{{ProductID: "slate-mug", Quantity: mugs}, {ProductID: "lumen-notes", Quantity: 1}},
		Delivery: &order.Delivery{Method: order.Standard, Address: home()},
	})
	require.NoError(t, err)
	id := out.Result.OrderID
	d.work(t, payment.CreatePayment)
	d.hear(t, d.hook(t)) // pending
	var paymentID string
	paymenttest.Read(t, d.db, `SELECT provider_payment_id FROM payments WHERE order_id = $1`, []any{id}, &paymentID)
	d.control(t, "/control/payments/"+paymentID+"/succeed", "")
	d.hear(t, d.hook(t))
	d.relay(t)
	return id
}

// otherEffects does everything but the parcels and the mail.
func (d *depot) otherEffects(t *testing.T) {
	t.Helper()
	d.work(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus)
}

// hook is the next webhook that the simulator sends.
func (d *depot) hook(t *testing.T) []byte {
	t.Helper()
	select {
	case body := <-d.hooks:
		return body
	case <-time.After(10 * time.Second):
		require.Fail(t, "no webhook came")
		return nil
	}
}

// hear receives and applies a webhook, and says what became of it.
func (d *depot) hear(t *testing.T, body []byte) (inbox.Status, string) {
	t.Helper()
	e, err := d.client.Translate(body)
	require.NoError(t, err)
	r, err := inbox.Receive(t.Context(), d.db, "sim", e, body)
	require.NoError(t, err)
	for range 2 { // a repeated job changes nothing
		require.NoError(t, d.applier.Apply(t.Context(), r.ID))
	}
	var status inbox.Status
	var reason string
	paymenttest.Read(t, d.db, `SELECT status, coalesce(reason, '') FROM incoming_events WHERE id = $1`, []any{r.ID}, &status, &reason)
	return status, reason
}

func (d *depot) control(t *testing.T, path, body string) {
	t.Helper()
	d.call(t, http.MethodPost, path, body, nil)
}

func (d *depot) call(t *testing.T, method, path, body string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.sim+path, strings.NewReader(body))
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

func (d *depot) fault(t *testing.T, on, do string, times int) {
	t.Helper()
	d.control(t, "/control/faults", fmt.Sprintf(`{"on":%q,"do":%q,"times":%d}`, on, do, times))
}

// label is a row of the carrier's ledger, the ground truth.
type label struct {
	ID, Reference, Tracking string
	Address                 provider.Address
}

func (d *depot) labels(t *testing.T) []label {
	t.Helper()
	var ledger struct{ Shipments []label }
	d.call(t, http.MethodGet, "/control/ledger", "", &ledger)
	return ledger.Shipments
}

// work executes the operations of some types that are PROCESSING, due or not, once each.
func (d *depot) work(t *testing.T, types ...operation.Type) {
	t.Helper()
	for _, kind := range types {
		for _, id := range d.running(t, kind) {
			require.NoError(t, d.executor.Execute(t.Context(), id))
		}
	}
}

func (d *depot) running(t *testing.T, kind operation.Type) []operation.ID {
	t.Helper()
	rows, err := d.db.Query(t.Context(), `SELECT id FROM operations WHERE status = 'PROCESSING' AND type = $1 ORDER BY key`, kind)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	return ids
}

// relay plans what follows from events, each time twice, as jobs/events.go says.
func (d *depot) relay(t *testing.T) {
	t.Helper()
	require.NoError(t, store.InTx(t.Context(), d.db, func(tx pgx.Tx) error {
		events, err := outbox.TakeDue(t.Context(), tx, 100)
		if err != nil {
			return err
		}
		for _, e := range events {
			for range 2 {
				switch e.Type {
				case outbox.OrderPaid:
					err = fulfilment.Plan(t.Context(), tx, []outbox.Event{e})
				case outbox.OrderRefunded:
					err = fulfilment.PlanReversal(t.Context(), tx, []outbox.Event{e})
				case outbox.OrderPlaced:
				}
				if err != nil {
					return err
				}
			}
			if err := outbox.Dispatched(t.Context(), tx, []uuid.UUID{e.ID}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// refund sends all of an order's money back.
func (d *depot) refund(t *testing.T, orderID uuid.UUID) {
	t.Helper()
	_, err := refund.Create(t.Context(), d.desk.Operations, uuid.New(), orderID, "r", nil, "lost interest", nil)
	require.NoError(t, err)
	d.work(t, refund.CreateRefund)
	d.relay(t)
	d.work(t, fulfilment.ReverseEffects)
}

// parcel is what must come out right.
type parcel struct {
	Parcel, Attempt            int
	State, Failure, Tracking   string
	Operation, Code, ProviderN string
	Delivered                  bool
}

func (d *depot) parcels(t *testing.T, orderID uuid.UUID) []parcel {
	t.Helper()
	rows, err := d.db.Query(t.Context(), `SELECT s.parcel, s.attempt, s.status, coalesce(s.failure_code, ''), coalesce(s.tracking, ''), op.status,
			coalesce(op.failure_code, ''), coalesce(s.provider_shipment_id, ''), s.delivered_at IS NOT NULL
		FROM shipments s JOIN operations op ON op.id = s.operation_id WHERE s.order_id = $1 ORDER BY s.parcel`, orderID)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[parcel])
	require.NoError(t, err)
	return out
}

// only is the one parcel of an order.
func (d *depot) only(t *testing.T, orderID uuid.UUID) parcel {
	t.Helper()
	list := d.parcels(t, orderID)
	require.Len(t, list, 1)
	return list[0]
}

// shipped demands that each parcel has the one label that the carrier's ledger shows.
func (d *depot) shipped(t *testing.T, orderID uuid.UUID, parcels int) {
	t.Helper()
	bought := map[string]string{}
	for _, l := range d.labels(t) {
		bought[l.ID] = l.Tracking
	}
	require.Len(t, bought, parcels, "labels at the carrier")
	list := d.parcels(t, orderID)
	require.Len(t, list, parcels)
	for i, p := range list {
		require.Equal(t, i+1, p.Parcel)
		require.Equal(t, "SUCCEEDED COMPLETED", p.State+" "+p.Operation)
		require.Equal(t, bought[p.ProviderN], p.Tracking)
		require.NotEmpty(t, p.Tracking)
	}
	d.clean(t)
}

func (d *depot) status(t *testing.T, orderID uuid.UUID) (s string) {
	t.Helper()
	paymenttest.Read(t, d.db, `SELECT status FROM orders WHERE id = $1`, []any{orderID}, &s)
	return s
}

// clean demands that every invariant holds.
func (d *depot) clean(t *testing.T) {
	t.Helper()
	findings, err := invariant.Check(t.Context(), d.db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%s: %v", f.Name, f.Examples)
	}
}

func (d *depot) correct(t *testing.T, orderID uuid.UUID, line1 string) string {
	t.Helper()
	a := home()
	a.Line1, a.Postcode = line1, "10115"
	err := fulfilment.Correct(t.Context(), d.db, orderID, a)
	if err == nil {
		return ""
	}
	e, ok := fault.Of(err)
	require.True(t, ok, "%v", err)
	return e.Code
}

// finish lets everything end that can.
func (d *depot) finish(t *testing.T) {
	t.Helper()
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() {
			for range 3 {
				for _, kind := range fulfilment.Types() {
					for _, id := range d.running(t, kind) {
						if err := d.executor.Execute(t.Context(), id); err != nil {
							t.Errorf("execute: %v", err)
						}
					}
				}
			}
		})
	}
	done.Wait()
}
