package checkout_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is a shop with a shopper.
type bench struct {
	db   store.DB
	desk *checkout.Desk
	user account.ID
}

func setup(t *testing.T, db store.DB) *bench {
	t.Helper()
	require.NoError(t, catalog.SeedDemo(t.Context(), db))
	b := &bench{db: db, desk: desk(db)}
	b.user = b.somebody(t)
	return b
}

func desk(db store.DB) *checkout.Desk {
	return &checkout.Desk{Operations: &operation.Runner{DB: db, Retention: 720 * time.Hour, Wait: time.Second}, Provider: paymenttest.Name}
}

func (b *bench) somebody(t *testing.T) account.ID {
	t.Helper()
	id := uuid.New()
	_, err := b.db.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, 'shopper')`, id, id.String()+"@example.com")
	require.NoError(t, err)
	return id
}

func (b *bench) command(key string, items ...checkout.Item) checkout.Command {
	if len(items) == 0 {
		items = []checkout.Item{{ProductID: "lumen-notes", Quantity: 2}}
	}
	return checkout.Command{UserID: b.user, Key: key, Items: items, Currency: "RUB", Locale: "en"}
}

// carted fills a basket and is the command of the page that shows it.
func (b *bench) carted(t *testing.T) (checkout.Command, cart.View) {
	t.Helper()
	require.NoError(t, cart.Add(t.Context(), b.db, b.user, "lumen-notes", 2))
	return b.page(t)
}

func (b *bench) page(t *testing.T) (checkout.Command, cart.View) {
	t.Helper()
	key, err := cart.BeginCheckout(t.Context(), b.db, b.user)
	require.NoError(t, err)
	open, err := cart.ByKey(t.Context(), b.db, b.user, key)
	require.NoError(t, err)
	seen, err := cart.See(t.Context(), b.db, b.user, "RUB", "en")
	require.NoError(t, err)
	c := b.command(key, items(seen)...)
	c.Email, c.Name = "ann@example.com", "Ann"
	c.Cart = &checkout.Agreed{CartID: open.ID, Basket: seen.Basket, Total: seen.Total}
	return c, seen
}

func items(v cart.View) (out []checkout.Item) {
	for _, l := range v.Lines {
		out = append(out, checkout.Item{ProductID: l.ProductID, Quantity: l.Quantity})
	}
	return out
}

func (b *bench) place(t *testing.T, c checkout.Command) operation.Outcome {
	t.Helper()
	out, err := b.desk.Place(t.Context(), c)
	require.NoError(t, err)
	return out
}

// counts are what must not be doubled.
type counts struct{ orders, payments, external, events, reserved, uses int }

func (b *bench) counts(t *testing.T) (c counts) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM payments),
		(SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT'), (SELECT count(*) FROM outbox_events),
		(SELECT sum(reserved) FROM products), (SELECT sum(uses) FROM promo_codes)`, nil,
		&c.orders, &c.payments, &c.external, &c.events, &c.reserved, &c.uses)
	return c
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

func orderID(t *testing.T, out operation.Outcome) uuid.UUID {
	t.Helper()
	var body struct{ OrderID uuid.UUID }
	require.NoError(t, json.Unmarshal([]byte(out.Result.Body), &body))
	require.Equal(t, body.OrderID, out.Result.OrderID)
	return body.OrderID
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

// hold locks rows in a second session until release.
func hold(t *testing.T, db store.DB, sql string) (release func()) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), sql)
	require.NoError(t, err)
	return func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); !errors.Is(err, pgx.ErrTxClosed) {
			require.NoError(t, err)
		}
	}
}

// blocked waits until n sessions of this database wait for a lock.
func blocked(t *testing.T, db store.Querier, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return paymenttest.Count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	}, 5*time.Second, 2*time.Millisecond, "nobody waits for a lock")
}

// field is one member of the stored answer.
func field(t *testing.T, out operation.Outcome, name string) string {
	t.Helper()
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out.Result.Body), &body))
	return string(body[name])
}
