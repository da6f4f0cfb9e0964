package catalog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func stock(t *testing.T, q store.Querier, id string) int {
	t.Helper()
	p, err := catalog.Get(t.Context(), q, id, "RUB", "en")
	require.NoError(t, err)
	return p.Stock
}

func TestReserveIsAllOrNothing(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	two := []catalog.Line{{ProductID: "ink-and-iron", Quantity: 2}, {ProductID: "lumen-notes", Quantity: 3}}
	for range 2 {
		short, err := catalog.Reserve(t.Context(), tx, two)
		require.NoError(t, err)
		require.Empty(t, short)
	}
	require.Equal(t, 1, stock(t, tx, "ink-and-iron"))

	var short []catalog.Short
	refused := errors.New("refused")
	require.ErrorIs(t, store.InTx(t.Context(), tx, func(tx pgx.Tx) (err error) {
		if short, err = catalog.Reserve(t.Context(), tx, append(two, catalog.Line{ProductID: "no-such", Quantity: 1})); err == nil {
			err = refused // as the caller must
		}
		return err
	}), refused)
	require.Equal(t, []catalog.Short{{ProductID: "ink-and-iron"}, {ProductID: "no-such"}}, short)
	require.Equal(t, 1, stock(t, tx, "ink-and-iron"))
	require.Equal(t, 999_994, stock(t, tx, "lumen-notes"), "nothing of the refused order is reserved")

	refusal, ok := fault.Of(catalog.OutOfStock(short))
	require.True(t, ok)
	require.Equal(t, "OUT_OF_STOCK", refusal.Code)
	require.Contains(t, refusal.Message, "ink-and-iron")
	require.NoError(t, catalog.OutOfStock(nil))
}

func TestReserveSumsLinesOfOneProductAndRefusesNonsense(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	short, err := catalog.Reserve(t.Context(), tx, []catalog.Line{{ProductID: "ink-and-iron", Quantity: 3}, {ProductID: "ink-and-iron", Quantity: 3}})
	require.NoError(t, err)
	require.Len(t, short, 1)
	short, err = catalog.Reserve(t.Context(), tx, []catalog.Line{{ProductID: "ink-and-iron", Quantity: -3}})
	require.NoError(t, err)
	require.Len(t, short, 1)
	require.Equal(t, 5, stock(t, tx, "ink-and-iron"))
}

func TestThirtyBuyersOfFiveUnits(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	seeded(t, db)
	won := make([]bool, 30)
	allRight(t, together(t, 30, func(i int) error {
		short, err := catalog.Reserve(t.Context(), db, []catalog.Line{{ProductID: "ink-and-iron", Quantity: 1}})
		won[i] = len(short) == 0
		return err
	}))
	winners := 0
	for _, w := range won {
		if w {
			winners++
		}
	}
	require.Equal(t, 5, winners)
	require.Zero(t, stock(t, db, "ink-and-iron"))
}

// Orders that name the same products in opposite order must wait for each other, not deadlock: no attempt is repeated here.
func TestOppositeOrdersNeverDeadlock(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	seeded(t, db)
	forward := []catalog.Line{{ProductID: "tidepool-audio", Quantity: 1}, {ProductID: "copper-ledger", Quantity: 1}, {ProductID: "lumen-notes", Quantity: 1}}
	backward := []catalog.Line{forward[2], forward[1], forward[0]}
	allRight(t, together(t, 60, func(i int) error {
		lines := forward
		if i%2 == 1 {
			lines = backward
		}
		return inTx(t.Context(), db, func(tx pgx.Tx) error {
			short, err := catalog.Reserve(t.Context(), tx, lines)
			if err == nil {
				err = catalog.OutOfStock(short)
			}
			return err
		})
	}))
	for _, l := range forward {
		require.Equal(t, 1_000_000-60, stock(t, db, l.ProductID))
	}
}

// inTx is store.InTx without its retries.
func inTx(ctx context.Context, db *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, fn)
}

func TestOneBatchPricesReservesAndUsesThePromo(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	found := map[string]catalog.Product{}
	var (
		b     pgx.Batch
		short []catalog.Short
		promo catalog.Promo
	)
	catalog.QueuePrices(&b, []string{"lumen-notes"}, "RUB", "en", found)
	catalog.QueuePromo(&b, "welcome10", &promo)
	catalog.QueueReserve(&b, []catalog.Line{{ProductID: "lumen-notes", Quantity: 1}}, &short)
	require.NoError(t, tx.SendBatch(t.Context(), &b).Close())
	require.Len(t, found, 1)
	require.Empty(t, short)
	require.Equal(t, catalog.Promo{Percent: 10, Known: true, Used: true}, promo)
}

func TestReleaseGivesTheOrderBack(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	seeded(t, tx)
	lines := []catalog.Line{{ProductID: "ink-and-iron", Quantity: 4}, {ProductID: "lumen-notes", Quantity: 1}}
	_, err := catalog.Reserve(t.Context(), tx, lines)
	require.NoError(t, err)
	orderID := orderOf(t, tx, lines)

	require.NoError(t, catalog.Release(t.Context(), tx, orderID))
	require.Equal(t, 5, stock(t, tx, "ink-and-iron"))
	require.Equal(t, 1_000_000, stock(t, tx, "lumen-notes"))
	require.NoError(t, catalog.Release(t.Context(), tx, uuid.New()), "an order without lines gives nothing back")
	require.Equal(t, 5, stock(t, tx, "ink-and-iron"))
}

func orderOf(t *testing.T, tx pgx.Tx, lines []catalog.Line) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := tx.Exec(t.Context(), `
		INSERT INTO orders (id, user_id, operation_id, status, currency, subtotal_minor, total_minor)
		VALUES ($1, $2, $3, 'AWAITING_PAYMENT', 'RUB', 1, 1)`, id, uuid.New(), uuid.New())
	require.NoError(t, err)
	for _, l := range lines {
		_, err := tx.Exec(t.Context(), `
			INSERT INTO order_items (id, order_id, product_id, kind, name, quantity, price_minor)
			VALUES ($1, $2, $3, 'license', 'x', $4, 1)`, uuid.New(), id, l.ProductID, l.Quantity)
		require.NoError(t, err)
	}
	return id
}
