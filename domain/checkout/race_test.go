package checkout_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/cart"
	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store/storetest"
)

func TestFiftyTwinsPlaceOneOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	outs, errs := make([]operation.Outcome, 50), make([]error, 50)
	together(50, func(i int) { outs[i], errs[i] = b.desk.Place(t.Context(), b.command("K")) })
	fresh := 0
	for i := range outs {
		require.NoError(t, errs[i])
		require.Equal(t, outs[0].Result, outs[i].Result, "byte for byte")
		if !outs[i].Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 2}, b.counts(t))
}

// A second session holds the product's row, so the first request runs as long as we like.
func TestOtherPayloadWhileTheFirstRuns(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	b.desk.Operations.Wait = 300 * time.Millisecond
	release := hold(t, b.db, `SELECT 1 FROM products WHERE id = 'lumen-notes' FOR UPDATE`)
	defer release()
	first := make(chan operation.Outcome)
	go func() {
		out, _ := b.desk.Place(t.Context(), b.command("K"))
		first <- out
	}()
	blocked(t, b.db, 1)

	start := time.Now()
	_, err := b.desk.Place(t.Context(), b.command("K", checkout.Item{ProductID: "northwind-maps", Quantity: 1}))
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))
	require.Less(t, time.Since(start), b.desk.Operations.Wait)
	start = time.Now()
	_, err = b.desk.Place(t.Context(), b.command("K"))
	require.Equal(t, "OPERATION_IN_PROGRESS", code(t, err))
	require.GreaterOrEqual(t, time.Since(start), b.desk.Operations.Wait)

	release()
	out := <-first
	require.NotEmpty(t, out.Result.Body)
	require.Equal(t, out.Result, b.place(t, b.command("K")).Result)
	require.Equal(t, counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 2}, b.counts(t))
}

func TestTwoTabsTwoKeysOneCart(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	for round := range 15 {
		c, _ := b.carted(t)
		tab := c
		tab.Key = uuid.NewString()
		outs, errs := make([]operation.Outcome, 2), make([]error, 2)
		together(2, func(i int) { outs[i], errs[i] = b.desk.Place(t.Context(), []checkout.Command{c, tab}[i]) })
		codes := []string{code(t, errs[0]), code(t, errs[1])}
		require.ElementsMatch(t, []string{"", "CART_ALREADY_ORDERED"}, codes)
		require.Equal(t, round+1, b.counts(t).orders)
	}
}

func TestThirtyShoppersWantTheLastFive(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	buyers, failures, errs := make([]uuid.UUID, 30), make([]string, 30), make([]error, 30)
	for i := range buyers {
		buyers[i] = b.somebody(t)
	}
	wish := func(i int) checkout.Command {
		c := b.command("K", checkout.Item{ProductID: "ink-and-iron", Quantity: 1}, checkout.Item{ProductID: "lumen-notes", Quantity: 1})
		c.UserID = buyers[i]
		return c
	}
	together(30, func(i int) {
		var out operation.Outcome
		if out, errs[i] = b.desk.Place(t.Context(), wish(i)); out.Failure != nil {
			failures[i] = out.Failure.Code
		}
	})
	won := 0
	for i := range errs {
		require.NoError(t, errs[i])
		if failures[i] == "" {
			won++
			for range 10 { // a winner's retries take nothing more
				require.True(t, b.place(t, wish(i)).Replayed)
			}
			continue
		}
		require.Equal(t, "OUT_OF_STOCK", failures[i])
	}
	require.Equal(t, 5, won)
	require.Equal(t, counts{orders: 5, payments: 5, external: 5, events: 5, reserved: 10}, b.counts(t))
}

func TestThirtyShoppersWantOneDiscount(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	codes := make([]string, 30)
	together(30, func(i int) {
		c := b.command(uuid.NewString(), checkout.Item{ProductID: "lumen-notes", Quantity: 1})
		c.PromoCode = "ONCE50"
		out, err := b.desk.Place(t.Context(), c)
		switch {
		case err != nil:
			codes[i] = err.Error()
		case out.Failure != nil:
			codes[i] = out.Failure.Code
		}
	})
	won := 0
	for _, c := range codes {
		if c == "" {
			won++
			continue
		}
		require.Equal(t, "PROMO_USED", c)
	}
	require.Equal(t, 1, won)
	require.Equal(t, counts{orders: 1, payments: 1, external: 1, events: 1, reserved: 1, uses: 1}, b.counts(t))
}

// Carts, codes and the same products in opposite order, all at once: nobody deadlocks, not even in hiding.
func TestOrdersWaitForEachOtherWithoutDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	errs := make([]error, 40)
	commands := make([]checkout.Command, len(errs))
	for i := range commands {
		buyer := &bench{db: b.db, desk: b.desk, user: b.somebody(t)}
		products := []string{"lumen-notes", "northwind-maps", "copper-ledger"}
		for n := range products {
			require.NoError(t, cart.Add(t.Context(), b.db, buyer.user, products[(n+i)%3], 1))
		}
		commands[i], _ = buyer.page(t)
		if i%2 == 0 {
			commands[i].PromoCode, commands[i].Cart = "WELCOME10", nil
		}
	}
	together(len(errs), func(i int) { _, errs[i] = b.desk.Place(t.Context(), commands[i]) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, counts{orders: 40, payments: 40, external: 40, events: 40, reserved: 120, uses: 20}, b.counts(t))
	require.Zero(t, paymenttest.Count(t, b.db, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
}
