package retention_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
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
	"onefold/domain/refund"
	"onefold/domain/retention"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// shop is driven by hand: its relay and its workers are the method work.
type shop struct {
	db       *pgxpool.Pool
	provider *paymenttest.Provider
	runner   *operation.Runner
	desk     *checkout.Desk
	executor *operation.Executor
	applier  *payment.Applier
	user     uuid.UUID // a shopper
	events   int
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{db: storetest.DB(t), provider: &paymenttest.Provider{}, user: uuid.New()}
	require.NoError(t, catalog.SeedDemo(t.Context(), s.db))
	s.exec(t, `INSERT INTO users (id, email, role) VALUES ($1, 'ann@example.com', 'shopper')`, s.user)
	s.runner = &operation.Runner{DB: s.db, Retention: 720 * time.Hour, Wait: 20 * time.Millisecond}
	s.desk = &checkout.Desk{Operations: s.runner, Provider: paymenttest.Name, Wake: func() {}}
	s.executor = &operation.Executor{DB: s.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: paymenttest.Creator(s.provider).Handler(),
		payment.WatchPayment:  payment.Watcher{Provider: s.provider}.Handler(),
		payment.RefundOrphan:  refund.Sender{Provider: s.provider}.OrphanHandler(),
		checkout.CancelOrder:  checkout.Closer{Provider: s.provider, To: order.Canceled, Keep: 720 * time.Hour}.Handler(),
		refund.CreateRefund:   refund.Sender{Provider: s.provider}.Handler(),
		fulfilment.SendNotification: fulfilment.Mail{
			Mailer: &paymenttest.Mailer{}, Domain: "shop.example", OrderURL: func(uuid.UUID) string { return "https://shop.example/" },
		}.Handler(),
		fulfilment.IssueLicenses: fulfilment.License(), fulfilment.AccrueBonus: fulfilment.Bonus(), fulfilment.ReverseEffects: fulfilment.Reversal(),
	}}
	s.applier = &payment.Applier{DB: s.db, Providers: map[string]provider.Payments{paymenttest.Name: s.provider}, Refunds: refund.Apply}
	return s
}

func (s *shop) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (s *shop) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return paymenttest.Count(t, s.db, sql, args...)
}

func (s *shop) ids(t *testing.T, sql string) []uuid.UUID {
	t.Helper()
	rows, err := s.db.Query(t.Context(), sql)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	return ids
}

// work carries on whatever there is to do, a few rounds of it, waiting for nothing.
func (s *shop) work(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for range 4 {
		require.NoError(t, store.InTx(ctx, s.db, func(tx pgx.Tx) error { return relay(ctx, tx) }))
		for _, id := range s.ids(t, `SELECT id FROM operations WHERE status = 'PROCESSING' AND (type <> 'WATCH_PAYMENT' OR EXISTS (
			SELECT FROM payments p WHERE p.order_id = operations.order_id AND p.status NOT IN ('PENDING', 'SUBMITTING'))) ORDER BY created_at, id`) {
			require.NoError(t, s.executor.Execute(ctx, id))
		}
		for _, id := range s.ids(t, `SELECT id FROM incoming_events WHERE status = 'RECEIVED' ORDER BY received_at, id`) {
			require.NoError(t, s.applier.Apply(ctx, id))
		}
	}
}

func relay(ctx context.Context, tx pgx.Tx) error {
	events, err := outbox.TakeDue(ctx, tx, 1000)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for _, e := range events {
		switch ids = append(ids, e.ID); e.Type {
		case outbox.OrderPaid:
			err = fulfilment.Plan(ctx, tx, []outbox.Event{e})
		case outbox.OrderRefunded:
			err = fulfilment.PlanReversal(ctx, tx, []outbox.Event{e})
		case outbox.OrderPlaced:
		}
		if err != nil {
			return err
		}
	}
	return outbox.Dispatched(ctx, tx, ids)
}

func (s *shop) command(key string) checkout.Command {
	return checkout.Command{
		UserID: s.user, Key: key, Items: []checkout.Item{{ProductID: "lumen-notes", Quantity: 2}}, Currency: "RUB", Locale: "en",
		Email: "ann@example.com", Name: "Ann",
	}
}

func (s *shop) place(t *testing.T, key string) uuid.UUID {
	t.Helper()
	out, err := s.desk.Place(t.Context(), s.command(key))
	require.NoError(t, err)
	return out.Result.OrderID
}

// hear delivers what the provider says of an order's newest payment.
func (s *shop) hear(t *testing.T, orderID uuid.UUID, status provider.Status) {
	t.Helper()
	var id uuid.UUID
	paymenttest.Read(t, s.db, `SELECT id FROM payments WHERE order_id = $1 ORDER BY attempt DESC LIMIT 1`, []any{orderID}, &id)
	s.provider.Say(id.String(), status)
	said, err := s.provider.FindPayment(t.Context(), id.String())
	require.NoError(t, err)
	s.events++
	e, body := paymenttest.Webhook(fmt.Sprintf("evt_%d", s.events), said)
	_, err = inbox.Receive(t.Context(), s.db, paymenttest.Name, e, body)
	require.NoError(t, err)
}

// bought is an order that went all the way.
func (s *shop) bought(t *testing.T, key string) uuid.UUID {
	t.Helper()
	id := s.place(t, key)
	s.work(t)
	s.hear(t, id, provider.Succeeded)
	s.work(t)
	require.Equal(t, "FULFILLED", s.status(t, id))
	return id
}

// declined is an order whose first payment failed.
func (s *shop) declined(t *testing.T, key string) uuid.UUID {
	t.Helper()
	id := s.place(t, key)
	s.work(t)
	s.hear(t, id, provider.Canceled)
	s.work(t)
	return id
}

func (s *shop) status(t *testing.T, orderID uuid.UUID) (status string) {
	t.Helper()
	paymenttest.Read(t, s.db, `SELECT status FROM orders WHERE id = $1`, []any{orderID}, &status)
	return status
}

// sendBack asks for a refund: 100.00, or everything.
func (s *shop) sendBack(t *testing.T, orderID uuid.UUID, key string, all bool) error {
	t.Helper()
	amount := &money.Amount{Minor: 10000, Currency: "RUB"}
	if all {
		amount = nil
	}
	_, err := refund.Create(t.Context(), s.runner, s.user, orderID, key, amount, "changed my mind", nil)
	return err
}

// age lets time pass for everything that is there; what waits for its time goes on waiting for it.
func (s *shop) age(t *testing.T, by string) {
	t.Helper()
	s.exec(t, fmt.Sprintf(`DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT table_name, string_agg(format('%%I = %%I - interval %%L', column_name, column_name, '%s'), ', ') AS sets
			FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'timestamp with time zone'
			AND column_name NOT IN ('next_attempt_at', 'lease_expires_at') AND table_name NOT LIKE 'goose%%' AND table_name NOT LIKE 'river%%' AND table_name NOT LIKE 'audit%%' GROUP BY table_name
		LOOP EXECUTE format('UPDATE %%I SET %%s', r.table_name, r.sets); END LOOP; END $$`, by))
}

// year is longer than everything is kept.
const year = "9000 hours"

func (s *shop) plan(t *testing.T) []retention.Table {
	t.Helper()
	tables, err := retention.Plan(t.Context(), s.db, retention.Config{Batch: 7})
	require.NoError(t, err)
	return tables
}

func (s *shop) run(t *testing.T) []retention.Table {
	t.Helper()
	tables, err := retention.Run(t.Context(), s.db, retention.Config{Batch: 7})
	require.NoError(t, err)
	return tables
}

// goes maps tables to the number of rows that go.
func goes(tables []retention.Table) map[string]int64 {
	out := map[string]int64{}
	for _, t := range tables {
		out[t.Name] += t.Goes
	}
	return out
}

// stays lists why rows of a table stay, and how many.
func stays(tables []retention.Table, name string) map[string]int64 {
	out := map[string]int64{}
	for _, t := range tables {
		if t.Name == name {
			for _, s := range t.Stays {
				out[s.Why] = s.Rows
			}
		}
	}
	return out
}

// all is the content of every table.
func (s *shop) all(t *testing.T) (content string) {
	t.Helper()
	paymenttest.Read(t, s.db, `SELECT string_agg(table_name || ' ' || md5(query_to_xml('SELECT string_agg(t::text, '','' ORDER BY t::text) FROM ' || table_name || ' t', false, false, '')::text),
		E'\n' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`, nil, &content)
	return content
}

// unbroken demands every invariant, except that somebody looks in time: in these tests nobody does.
func (s *shop) unbroken(t *testing.T) {
	t.Helper()
	findings, err := invariant.Check(t.Context(), s.db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		if f.Name != "operations-move" && f.Name != "boxes-drain" {
			require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
		}
	}
}
