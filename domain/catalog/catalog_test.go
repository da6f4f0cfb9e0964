package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func seeded(t *testing.T, db store.DB) {
	t.Helper()
	require.NoError(t, catalog.SeedDemo(t.Context(), db))
}

func TestListIsPricedInEveryCurrencyAndNamedInBothLanguages(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	for _, currency := range catalog.Currencies() {
		products, err := catalog.List(t.Context(), tx, currency, "ru")
		require.NoError(t, err)
		require.Len(t, products, 11)
		for _, p := range products {
			require.Equal(t, currency, p.Price.Currency)
			require.Positive(t, p.Price.Minor)
			require.NotEmpty(t, p.Blurb)
		}
	}
	none, err := catalog.List(t.Context(), tx, "CHF", "en")
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestGet(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	p, err := catalog.Get(t.Context(), tx, "northwind-maps", "KWD", "ru")
	require.NoError(t, err)
	require.Equal(t, "Карты Норд-Вест", p.Name)
	require.Equal(t, catalog.License, p.Kind)
	require.Equal(t, money.Amount{Minor: 4590, Currency: "KWD"}, p.Price)
	require.Equal(t, 1_000_000, p.Stock)

	_, err = catalog.Get(t.Context(), tx, "no-such", "KWD", "ru")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = catalog.Get(t.Context(), tx, "northwind-maps", "CHF", "ru")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestPricesLeaveOutWhatIsNotSold(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	found, err := catalog.Prices(t.Context(), tx, []string{"lumen-notes", "no-such", "pixel-orchard"}, "JPY", "en")
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, money.Amount{Minor: 4200, Currency: "JPY"}, found["lumen-notes"].Price)
	require.Equal(t, catalog.License, found["pixel-orchard"].Kind)
}

func TestSeedAgainResetsNothing(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	short, err := catalog.Reserve(t.Context(), tx, []catalog.Line{{ProductID: "ink-and-iron", Quantity: 2}})
	require.NoError(t, err)
	require.Empty(t, short)
	_, err = catalog.UsePromo(t.Context(), tx, "ONCE50")
	require.NoError(t, err)

	seeded(t, tx)
	p, err := catalog.Get(t.Context(), tx, "ink-and-iron", "RUB", "en")
	require.NoError(t, err)
	require.Equal(t, 3, p.Stock)
	_, err = catalog.UsePromo(t.Context(), tx, "ONCE50")
	require.Equal(t, fault.Conflict, fault.KindOf(err))
}
