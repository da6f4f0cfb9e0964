package cart_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

const (
	notes = "lumen-notes"
	maps  = "northwind-maps"
)

// guest seeds the catalogue and makes somebody with a basket to fill.
func guest(t *testing.T, db store.DB) account.ID {
	t.Helper()
	require.NoError(t, catalog.SeedDemo(t.Context(), db))
	u, err := account.NewGuest(t.Context(), db)
	require.NoError(t, err)
	return u.ID
}

// member is a signed-in person, without the cost of a password.
func member(t *testing.T, db store.DB) account.ID {
	t.Helper()
	id := uuid.New()
	_, err := db.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, 'shopper')`, id, id.String()+"@example.com")
	require.NoError(t, err)
	return id
}

func lines(t *testing.T, db store.DB, userID account.ID) map[string]int {
	t.Helper()
	v, err := cart.See(t.Context(), db, userID, "RUB", "en")
	require.NoError(t, err)
	got := map[string]int{}
	for _, l := range v.Lines {
		got[l.ProductID] = l.Quantity
	}
	return got
}

func together(t *testing.T, n int, fn func(i int) error) {
	t.Helper()
	var done sync.WaitGroup
	start, errs := make(chan struct{}), make([]error, n)
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	done.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func TestOpenTwiceIsOneCart(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	one, err := cart.Open(t.Context(), tx, u)
	require.NoError(t, err)
	two, err := cart.Open(t.Context(), tx, u)
	require.NoError(t, err)
	require.Equal(t, one, two)
	require.Equal(t, cart.Cart{ID: one.ID, UserID: u, Status: cart.StatusOpen}, one)
	other, err := cart.Open(t.Context(), tx, guest(t, tx))
	require.NoError(t, err)
	require.NotEqual(t, one.ID, other.ID)
}

func TestChanges(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	for range 2 {
		require.NoError(t, cart.Add(t.Context(), tx, u, notes, 2))
	}
	require.Equal(t, map[string]int{notes: 4}, lines(t, tx, u))
	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 99))
	require.Equal(t, map[string]int{notes: 99}, lines(t, tx, u), "capped")

	for _, n := range []int{7, 3} {
		for range 2 {
			require.NoError(t, cart.SetQuantity(t.Context(), tx, u, maps, n))
			require.Equal(t, map[string]int{notes: 99, maps: n}, lines(t, tx, u))
		}
	}
	n, err := cart.Count(t.Context(), tx, u)
	require.NoError(t, err)
	require.Equal(t, 102, n)

	for range 2 {
		require.NoError(t, cart.SetQuantity(t.Context(), tx, u, notes, 0))
		require.NoError(t, cart.Remove(t.Context(), tx, u, maps))
		require.Empty(t, lines(t, tx, u))
	}
}

func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	for _, n := range []int{-1, 0, 100} {
		require.Equal(t, fault.Invalid, fault.KindOf(cart.Add(t.Context(), tx, u, notes, n)))
	}
	for _, n := range []int{-1, 100} {
		require.Equal(t, fault.Invalid, fault.KindOf(cart.SetQuantity(t.Context(), tx, u, notes, n)))
	}
	require.Equal(t, fault.NotFound, fault.KindOf(cart.Add(t.Context(), tx, u, "no-such", 1)))
	require.Equal(t, fault.NotFound, fault.KindOf(cart.SetQuantity(t.Context(), tx, u, "no-such", 1)))
	require.NoError(t, cart.Remove(t.Context(), tx, u, "no-such"))
	require.Empty(t, lines(t, tx, u))
}

func TestSee(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	empty, err := cart.See(t.Context(), tx, u, "RUB", "en")
	require.NoError(t, err)
	require.Empty(t, empty.Lines)
	require.Equal(t, money.Amount{Currency: "RUB"}, empty.Total)

	require.NoError(t, cart.Add(t.Context(), tx, u, maps, 3))
	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 1))
	v, err := cart.See(t.Context(), tx, u, "JPY", "ru")
	require.NoError(t, err)
	require.Equal(t, money.Amount{Minor: 4200 + 3*2200, Currency: "JPY"}, v.Total)
	require.Equal(t, cart.ViewLine{
		ProductID: maps, Kind: "license", Name: "Карты Норд-Вест", Quantity: 3, Stock: 1_000_000,
		Price: money.Amount{Minor: 2200, Currency: "JPY"}, Sum: money.Amount{Minor: 6600, Currency: "JPY"},
	}, v.Lines[1])
	require.Equal(t, cart.Basket([]cart.Line{{notes, 1}, {maps, 3}}), v.Basket)

	_, err = cart.See(t.Context(), tx, u, "CHF", "ru")
	e, _ := fault.Of(err)
	require.Equal(t, "currency", e.Fields[0].Field)
}

func TestBasketSaysWhetherTheContentIsTheSame(t *testing.T) {
	t.Parallel()
	a := cart.Basket([]cart.Line{{notes, 1}, {maps, 3}})
	require.Equal(t, a, cart.Basket([]cart.Line{{maps, 3}, {notes, 1}}))
	for _, other := range [][]cart.Line{nil, {{notes, 1}}, {{notes, 3}, {maps, 1}}, {{notes, 1}, {maps, 4}}, {{notes + `" 1` + "\n" + `"` + maps, 3}}} {
		require.NotEqual(t, a, cart.Basket(other))
	}
}

func TestParallelAddsAreAllCounted(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	u := guest(t, db)
	together(t, 30, func(int) error { return cart.Add(t.Context(), db, u, notes, 1) })
	require.Equal(t, map[string]int{notes: 30}, lines(t, db, u))
}

func TestAChangedPriceIsKnown(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	g, u := guest(t, tx), member(t, tx)
	line := func(user account.ID, currency string) cart.ViewLine {
		v, err := cart.See(t.Context(), tx, user, currency, "en")
		require.NoError(t, err)
		require.Len(t, v.Lines, 1)
		return v.Lines[0]
	}
	require.NoError(t, cart.Add(t.Context(), tx, g, notes, 1))
	require.False(t, line(g, "RUB").PriceChanged(), "never seen")
	was := line(g, "RUB").Price
	for range 2 {
		require.NoError(t, cart.Saw(t.Context(), tx, g, notes, was))
		require.NoError(t, cart.Saw(t.Context(), tx, g, "no-such", was))
		require.Equal(t, was, line(g, "RUB").Seen)
		require.False(t, line(g, "RUB").PriceChanged())
	}
	_, err := tx.Exec(t.Context(), `UPDATE product_prices SET price_minor = price_minor + 1 WHERE product_id = $1 AND currency = 'RUB'`, notes)
	require.NoError(t, err)
	require.True(t, line(g, "RUB").PriceChanged())
	require.False(t, line(g, "JPY").PriceChanged(), "another currency is no change")
	require.NoError(t, cart.Merge(t.Context(), tx, g, u))
	require.True(t, line(u, "RUB").PriceChanged(), "it comes along at sign-in")
	require.NoError(t, cart.Saw(t.Context(), tx, u, notes, line(u, "RUB").Price))
	require.False(t, line(u, "RUB").PriceChanged(), "seen again")
}
