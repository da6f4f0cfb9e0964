package fulfilment_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is a paid order whose effects are planned.
type bench struct {
	db       store.DB
	mailer   *paymenttest.Mailer
	executor *operation.Executor
	order    paymenttest.Order
}

func setup(t *testing.T, db store.DB, w paymenttest.Wish) *bench {
	t.Helper()
	b := &bench{db: db, mailer: &paymenttest.Mailer{}}
	mail := fulfilment.Mail{
		Mailer: b.mailer, Domain: "shop.example", OrderURL: func(id uuid.UUID) string { return "https://shop.example/orders/" + id.String() },
	}
	b.executor = &operation.Executor{DB: db, Lease: time.Minute, Handlers: map[operation.Type]operation.Handler{
		fulfilment.IssueLicenses: fulfilment.License(), fulfilment.AccrueBonus: fulfilment.Bonus(), fulfilment.SendNotification: mail.Handler(),
	}}
	b.order = b.paid(t, w)
	return b
}

func (b *bench) paid(t *testing.T, w paymenttest.Wish) paymenttest.Order {
	t.Helper()
	o := paymenttest.NewOrder(t, b.db, w)
	_, err := b.db.Exec(t.Context(), `UPDATE orders SET status = 'PAID', paid_at = now() WHERE id = $1`, o.ID)
	require.NoError(t, err)
	for range 2 { // the event may be dispatched twice
		require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
			return fulfilment.Plan(t.Context(), tx, []outbox.Event{{Type: outbox.OrderPaid, OrderID: o.ID, Trace: "00000000000000000000000000000abc"}})
		}))
	}
	require.Equal(t, 3, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE order_id = $1 AND type = ANY($2)`, o.ID, fulfilment.Types()))
	return o
}

var keys = map[operation.Type]string{
	fulfilment.IssueLicenses: "license:issue:order:%s", fulfilment.AccrueBonus: "bonus:accrue:order:%s", fulfilment.SendNotification: "mail:order-paid:order:%s",
}

func (b *bench) id(k operation.Type) operation.ID {
	return operation.Identity{User: operation.System, Type: k, Key: fmt.Sprintf(keys[k], b.order.ID)}.ID()
}

func (b *bench) run(t *testing.T, kinds ...operation.Type) {
	t.Helper()
	for _, k := range kinds {
		require.NoError(t, b.executor.Execute(t.Context(), b.id(k)))
	}
}

func (b *bench) licenses(t *testing.T) []string {
	t.Helper()
	rows, err := b.db.Query(t.Context(), `SELECT license_key FROM licenses WHERE order_id = $1 ORDER BY order_item_id, unit`, b.order.ID)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

func (b *bench) status(t *testing.T) (s string) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT status FROM orders WHERE id = $1`, []any{b.order.ID}, &s)
	return s
}

func (b *bench) operation(t *testing.T, k operation.Type) (status, failure string) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT status, coalesce(failure_code, '') FROM operations WHERE id = $1`, []any{b.id(k)}, &status, &failure)
	return status, failure
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
