package checkout_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

func TestPlaceTwiceThenWithOtherContent(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	c := b.command("K", checkout.Item{ProductID: "lumen-notes", Quantity: 1}, checkout.Item{ProductID: "northwind-maps", Quantity: 2})
	c.PromoCode = "WELCOME10"
	c.Delivery = &order.Delivery{Method: "post", Address: provider.Address{Name: "José", Line1: "1", City: "M", Postcode: "2", Country: "ES"}}
	first := b.place(t, c)
	require.False(t, first.Replayed)
	require.Equal(t, 201, first.Result.Code)
	want := counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 3, uses: 1}
	require.Equal(t, want, b.counts(t))

	same := c
	same.Items = []checkout.Item{c.Items[1], c.Items[0]}
	same.PromoCode, same.Locale = "welcome10 ", "ru"
	same.Delivery = &order.Delivery{Method: " post", Address: provider.Address{Name: "José", Line1: "1 ", City: "M", Postcode: "2", Country: "es"}}
	for range 2 {
		again := b.place(t, same)
		require.True(t, again.Replayed)
		require.Equal(t, first.Result, again.Result, "byte for byte")
	}
	other := c
	other.Items = c.Items[:1]
	_, err := b.desk.Place(t.Context(), other)
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))
	require.Equal(t, want, b.counts(t))

	another := c
	another.Key = "L"
	require.NotEqual(t, orderID(t, first), orderID(t, b.place(t, another)), "equal content under another key is another wish")
	require.Equal(t, 2, b.counts(t).orders)
}

func TestTheStoredAnswerIsTheOrderAsItWasMade(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	c := b.command("K", checkout.Item{ProductID: "lumen-notes", Quantity: 3})
	c.PromoCode = "WELCOME10"
	out := b.place(t, c)
	require.JSONEq(t, `{"amount":"6723.00","currency":"RUB"}`, field(t, out, "total"))
	require.JSONEq(t, `{"amount":"747.00","currency":"RUB"}`, field(t, out, "discount"))
	require.JSONEq(t, `"`+out.ID.String()+`"`, field(t, out, "operationId"))

	o, err := checkout.Find(t.Context(), b.db, b.user, orderID(t, out))
	require.NoError(t, err)
	require.EqualValues(t, "AWAITING_PAYMENT", o.Status)
	require.Equal(t, money.Amount{Minor: 672300, Currency: "RUB"}, o.Total)
	require.Equal(t, []checkout.OrderedItem{{
		ProductID: "lumen-notes", Kind: catalog.License, Name: "Lumen Notes", Quantity: 3, Price: money.Amount{Minor: 249000, Currency: "RUB"},
	}}, o.Items)
	require.Len(t, o.Payments, 1)
	require.Equal(t, o.Total, o.Payments[0].Amount)
	require.Equal(t, out.ID, o.OperationID)

	stranger := b.somebody(t)
	_, err = checkout.Find(t.Context(), b.db, stranger, o.ID)
	require.Equal(t, "NOT_FOUND", code(t, err))
	_, err = checkout.FindPayment(t.Context(), b.db, stranger, o.Payments[0].ID)
	require.Equal(t, "NOT_FOUND", code(t, err))
	p, err := checkout.FindPayment(t.Context(), b.db, b.user, o.Payments[0].ID)
	require.NoError(t, err)
	require.Equal(t, o.Payments[0], p)
}

// Every state that placing begins has its line in the journal.
func TestPlacingIsJournaled(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	out := b.place(t, b.command("K"))
	id := orderID(t, out)
	for _, kind := range []string{"order.awaiting_payment", "payment.created"} {
		require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = $2`, id, kind), kind)
	}
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE operation_id = $1`, out.ID))
}

func TestAnotherUsersEqualKey(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	mine := b.place(t, b.command("K"))
	theirs := b.command("K", checkout.Item{ProductID: "northwind-maps", Quantity: 1})
	theirs.UserID = b.somebody(t)
	out := b.place(t, theirs)
	require.False(t, out.Replayed)
	require.NotEqual(t, mine.ID, out.ID)
	require.NotContains(t, out.Result.Body, orderID(t, mine).String())
	upper := b.place(t, b.command("k"))
	require.NotEqual(t, orderID(t, mine), orderID(t, upper))
}

func TestValidationBindsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	_, err := b.db.Exec(t.Context(), `INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand) VALUES ('parcel', 'physical', 'P', 'P', '', '', 9)`)
	require.NoError(t, err)
	_, err = b.db.Exec(t.Context(), `INSERT INTO product_prices VALUES ('parcel', 'RUB', 100)`)
	require.NoError(t, err)
	for name, change := range map[string]func(*checkout.Command){
		"unknown product": func(c *checkout.Command) { c.Items[0].ProductID = "no-such" },
		"physical":        func(c *checkout.Command) { c.Items[0].ProductID = "parcel" },
		"unknown promo":   func(c *checkout.Command) { c.PromoCode = "NOPE" },
		"other currency":  func(c *checkout.Command) { c.Currency = "CHF" },
		"no currency":     func(c *checkout.Command) { c.Currency = "" },
		"nothing":         func(c *checkout.Command) { c.Items = nil },
		"mixed with good": func(c *checkout.Command) {
			c.PromoCode = "WELCOME10"
			c.Items = append(c.Items, checkout.Item{ProductID: "no-such", Quantity: 1})
		},
	} {
		c := b.command("K")
		change(&c)
		for range 2 {
			_, err := b.desk.Place(t.Context(), c)
			require.Equal(t, "VALIDATION_FAILED", code(t, err), name)
		}
		require.Equal(t, counts{}, b.counts(t), name)
	}
	require.False(t, b.place(t, b.command("K")).Replayed, "the corrected command under the same key")
}

func TestRefusalsReplayForAKey(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	gone := b.command("gone", checkout.Item{ProductID: "ink-and-iron", Quantity: 6})
	first := b.place(t, gone)
	require.Equal(t, "OUT_OF_STOCK", first.Failure.Code)
	require.Contains(t, first.Failure.Message, "ink-and-iron")
	half := b.command("half", checkout.Item{ProductID: "lumen-notes", Quantity: 1})
	half.PromoCode = "ONCE50"
	b.place(t, half)
	used := b.command("used")
	used.PromoCode = "ONCE50"
	second := b.place(t, used)
	require.Equal(t, "PROMO_USED", second.Failure.Code)
	want := counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 1, uses: 1}
	require.Equal(t, want, b.counts(t))

	_, err := b.db.Exec(t.Context(), `UPDATE products SET on_hand = 100 WHERE id = 'ink-and-iron'`)
	require.NoError(t, err)
	_, err = b.db.Exec(t.Context(), `UPDATE promo_codes SET max_uses = 100`)
	require.NoError(t, err)
	for c, earlier := range map[*checkout.Command]operation.Outcome{&gone: first, &used: second} {
		again := b.place(t, *c)
		require.True(t, again.Replayed)
		require.Equal(t, earlier.Failure, again.Failure, "restocking doesn't change a result")
		changed := *c
		changed.Items = []checkout.Item{{ProductID: "northwind-maps", Quantity: 1}}
		_, err := b.desk.Place(t.Context(), changed)
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))
	}
	require.Equal(t, want, b.counts(t))
	fresh := gone
	fresh.Key = "new"
	require.Nil(t, b.place(t, fresh).Failure, "a new try is a new key")
}

func TestRefusalsKeepACartsKeyFree(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	require.NoError(t, cart.Add(t.Context(), b.db, b.user, "ink-and-iron", 6))
	c, _ := b.page(t)
	for range 2 {
		_, err := b.desk.Place(t.Context(), c)
		require.Equal(t, "OUT_OF_STOCK", code(t, err))
	}
	require.Equal(t, counts{}, b.counts(t))
	require.NoError(t, cart.SetQuantity(t.Context(), b.db, b.user, "ink-and-iron", 5))
	now, _ := b.page(t)
	require.Equal(t, c.Key, now.Key)
	out := b.place(t, now)
	require.False(t, out.Replayed)
	require.Equal(t, counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 5}, b.counts(t))
}

// The operation is cleaned away, the order stays: the key never makes a second one.
func TestAKeyWhoseResultIsNoLongerKept(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	first := b.place(t, b.command("K"))
	_, err := b.db.Exec(t.Context(), `DELETE FROM operations WHERE id = $1`, first.ID)
	require.NoError(t, err)
	for _, c := range []checkout.Command{b.command("K"), b.command("K", checkout.Item{ProductID: "northwind-maps", Quantity: 1})} {
		_, err = b.desk.Place(t.Context(), c)
		e, _ := fault.Of(err)
		require.Equal(t, "IDEMPOTENCY_KEY_EXPIRED", e.Code)
		require.Equal(t, fault.Gone, e.Kind)
		require.Contains(t, e.Message, orderID(t, first).String())
	}
	require.Equal(t, 1, b.counts(t).orders)
	require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE id = $1`, first.ID))
}

func TestOneCartIsOneOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	c, _ := b.carted(t)
	first := b.place(t, c)
	require.True(t, b.place(t, c).Replayed, "the same tab again")

	tab := c
	tab.Key = "a key from somewhere else"
	for range 2 {
		_, err := b.desk.Place(t.Context(), tab)
		e, _ := fault.Of(err)
		require.Equal(t, "CART_ALREADY_ORDERED", e.Code)
		require.Equal(t, []fault.Field{{Field: "orderId", Rule: "ordered", Message: orderID(t, first).String()}}, e.Fields)
	}
	require.Equal(t, counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 2}, b.counts(t))

	again, _ := b.carted(t)
	require.NotEqual(t, c.Key, again.Key, "buying again is a new cart")
	require.NotEqual(t, orderID(t, first), orderID(t, b.place(t, again)))
}

func TestACartThatChangedIsNotOrdered(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	b.carted(t)
	for name, change := range map[string]func(){
		"other lines": func() { require.NoError(t, cart.Add(t.Context(), b.db, b.user, "northwind-maps", 1)) },
		"other price": func() {
			_, err := b.db.Exec(t.Context(), `UPDATE product_prices SET price_minor = price_minor + 1`)
			require.NoError(t, err)
		},
	} {
		c, _ := b.page(t)
		change()
		for range 2 {
			_, err := b.desk.Place(t.Context(), c)
			require.Equal(t, "CART_CHANGED", code(t, err), name)
		}
		require.Equal(t, counts{}, b.counts(t))
	}
	c, seen := b.page(t)
	require.Equal(t, seen.Total, c.Cart.Total)
	out := b.place(t, c)
	require.False(t, out.Replayed, "the page that shows the change carries the same key")
}

func TestListOrdersPagesThroughTheOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	var placed []uuid.UUID
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		placed = append([]uuid.UUID{orderID(t, b.place(t, b.command(key)))}, placed...)
	}
	theirs := b.command("a")
	theirs.UserID = b.somebody(t)
	b.place(t, theirs)
	var listed []uuid.UUID
	last := uuid.Nil
	for {
		page, err := checkout.ListOrders(t.Context(), b.db, b.user, last, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, l := range page {
			listed, last = append(listed, l.ID), l.ID
		}
	}
	require.Equal(t, placed, listed)
}

// Somebody holds the promo code's row: 503 after the lock timeout, nothing bound, nothing charged.
func TestAHeldRowIsAnAnswerAndBindsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	release := hold(t, b.db, `SELECT 1 FROM promo_codes WHERE code = 'WELCOME10' FOR UPDATE`)
	defer release()
	c := b.command("K")
	c.PromoCode = "WELCOME10"
	start := time.Now()
	_, err := b.desk.Place(t.Context(), c)
	e, _ := fault.Of(err)
	require.Equal(t, "TEMPORARILY_UNAVAILABLE", e.Code)
	require.Positive(t, e.RetryAfter)
	require.Less(t, time.Since(start), 4*time.Second)
	require.Equal(t, counts{}, b.counts(t))
	release()
	require.False(t, b.place(t, c).Replayed)
}
