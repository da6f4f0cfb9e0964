package catalog_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store/storetest"
)

func TestUsePromo(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	for range 2 {
		percent, err := catalog.UsePromo(t.Context(), tx, " welcome10 ")
		require.NoError(t, err)
		require.Equal(t, 10, percent)
	}
	percent, err := catalog.UsePromo(t.Context(), tx, "ONCE50")
	require.NoError(t, err)
	require.Equal(t, 50, percent)
	_, err = catalog.UsePromo(t.Context(), tx, "ONCE50")
	used, _ := fault.Of(err)
	require.Equal(t, "PROMO_USED", used.Code)
	require.Equal(t, fault.Conflict, used.Kind)

	require.NoError(t, catalog.ReleasePromo(t.Context(), tx, "once50"))
	_, err = catalog.UsePromo(t.Context(), tx, "ONCE50")
	require.NoError(t, err)

	_, err = catalog.UsePromo(t.Context(), tx, "NOPE")
	unknown, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, unknown.Kind)
	require.Equal(t, "promoCode", unknown.Fields[0].Field)
}

func TestThirtyUsesOfACodeForOne(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	seeded(t, db)
	won := 0
	for _, err := range together(t, 30, func(int) error {
		_, err := catalog.UsePromo(t.Context(), db, "ONCE50")
		return err
	}) {
		if err == nil {
			won++
			continue
		}
		require.Equal(t, fault.Conflict, fault.KindOf(err))
	}
	require.Equal(t, 1, won)
}

func TestDiscountRoundsHalfUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		subtotal int64
		percent  int
		want     int64
	}{{0, 10, 0}, {5, 10, 1}, {4, 10, 0}, {1499, 50, 750}, {999, 100, 999}, {100, 0, 0}, {100, 120, 100}, {100, -5, 0}} {
		got := catalog.Discount(money.Amount{Minor: c.subtotal, Currency: "JPY"}, c.percent)
		require.Equal(t, money.Amount{Minor: c.want, Currency: "JPY"}, got)
	}
}

func TestDiscountProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subtotal := rapid.Int64Min(0).Draw(t, "subtotal")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		got := catalog.Discount(money.Amount{Minor: subtotal, Currency: "RUB"}, percent).Minor
		require.GreaterOrEqual(t, got, int64(0))
		require.LessOrEqual(t, got, subtotal)
		exact := new(big.Int).Mul(big.NewInt(subtotal), big.NewInt(int64(percent)))
		exact.Add(exact, big.NewInt(50)).Div(exact, big.NewInt(100))
		require.Equal(t, exact.Int64(), got)
	})
}
