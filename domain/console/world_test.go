package console_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/invariant"
	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
	"onefold/domain/trace"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a shop with a scripted outside, driven by hand instead of by the relay.
type world struct {
	db       *pgxpool.Pool
	provider *paymenttest.Provider
	mailer   *paymenttest.Mailer
	desk     *checkout.Desk
	executor *operation.Executor
	applier  *payment.Applier
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{db: storetest.DB(t), provider: &paymenttest.Provider{}, mailer: &paymenttest.Mailer{}}
	require.NoError(t, catalog.SeedDemo(t.Context(), w.db))
	w.desk = &checkout.Desk{Operations: &operation.Runner{DB: w.db, Retention: time.Hour, Wait: time.Second}, Provider: paymenttest.Name}
	w.executor = &operation.Executor{DB: w.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment:    paymenttest.Creator(w.provider).Handler(),
		fulfilment.IssueLicenses: fulfilment.License(),
		fulfilment.AccrueBonus:   fulfilment.Bonus(),
		fulfilment.SendNotification: fulfilment.Mail{
			Mailer: w.mailer, Domain: "shop.example", OrderURL: func(id uuid.UUID) string { return "https://shop.example/" + id.String() },
		}.Handler(),
	}}
	w.applier = &payment.Applier{DB: w.db, Providers: map[string]provider.Payments{paymenttest.Name: w.provider}}
	return w
}

// traced is a request's context.
func traced(t *testing.T) context.Context {
	t.Helper()
	return trace.Start(t.Context(), "")
}

func command(user uuid.UUID, key string) checkout.Command {
	return checkout.Command{
		UserID: user, Key: key, Items: []checkout.Item{{ProductID: "lumen-notes", Quantity: 2}}, Currency: "RUB", Locale: "en",
		Email: "anna@example.com", Name: "Anna",
	}
}

func (w *world) place(t *testing.T, user uuid.UUID, key string) operation.Outcome {
	t.Helper()
	out, err := w.desk.Place(traced(t), command(user, key))
	require.NoError(t, err)
	return out
}

// work carries on everything that is due, and what follows from it, once each.
func (w *world) work(t *testing.T) {
	t.Helper()
	ctx := journal.WithJob(t.Context(), 4711)
	for range 4 {
		require.NoError(t, store.InTx(ctx, w.db, func(tx pgx.Tx) error {
			events, err := outbox.TakeDue(ctx, tx, 100)
			if err != nil || len(events) == 0 {
				return err
			}
			var paid []outbox.Event
			ids := make([]uuid.UUID, len(events))
			for i, e := range events {
				if ids[i] = e.ID; e.Type == outbox.OrderPaid {
					paid = append(paid, e)
				}
			}
			if len(paid) > 0 {
				err = fulfilment.Plan(ctx, tx, paid)
			}
			if err != nil {
				return err
			}
			return outbox.Dispatched(ctx, tx, ids)
		}))
		for _, id := range w.ids(t, `SELECT id FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= now() ORDER BY created_at, id`) {
			require.NoError(t, w.executor.Execute(ctx, id))
		}
		for _, id := range w.ids(t, `SELECT id FROM incoming_events WHERE status = 'RECEIVED' ORDER BY received_at, id`) {
			require.NoError(t, w.applier.Apply(ctx, id))
		}
	}
}

func (w *world) ids(t *testing.T, sql string, args ...any) []uuid.UUID {
	t.Helper()
	rows, err := w.db.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	return ids
}

// said is what the provider knows about the order's only payment.
func (w *world) said(t *testing.T, orderID uuid.UUID, status provider.Status) provider.Payment {
	t.Helper()
	id := w.ids(t, `SELECT id FROM payments WHERE order_id = $1`, orderID)[0]
	w.provider.Say(id.String(), status)
	said, err := w.provider.FindPayment(t.Context(), id.String())
	require.NoError(t, err)
	return said
}

func (w *world) deliver(t *testing.T, eventID string, said provider.Payment) uuid.UUID {
	t.Helper()
	e, body := paymenttest.Webhook(eventID, said)
	receipt, err := inbox.Receive(traced(t), w.db, paymenttest.Name, e, body)
	require.NoError(t, err)
	return receipt.ID
}

// bought is an order that went all the way, under the key key-1 and by the event evt_key-1.
func (w *world) bought(t *testing.T, user uuid.UUID) operation.Outcome {
	t.Helper()
	out := w.place(t, user, "key-1")
	w.work(t)
	w.deliver(t, "evt_key-1", w.said(t, out.Result.OrderID, provider.Succeeded))
	w.work(t)
	return out
}

func (w *world) find(t *testing.T, id uuid.UUID) console.Intent {
	t.Helper()
	in, err := console.Find(t.Context(), w.db, id)
	require.NoError(t, err)
	return in
}

// unbroken proves that what the domain's own code wrote satisfies every invariant.
func (w *world) unbroken(t *testing.T) {
	t.Helper()
	findings, err := invariant.Check(t.Context(), w.db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
	}
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := w.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}
