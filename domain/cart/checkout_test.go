package cart_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestBeginCheckoutGivesEveryTabTheSameKey(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	_, err := cart.BeginCheckout(t.Context(), tx, u)
	require.Equal(t, fault.Conflict, fault.KindOf(err), "nothing to buy")

	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 1))
	key, err := cart.BeginCheckout(t.Context(), tx, u)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(key), 26)
	again, err := cart.BeginCheckout(t.Context(), tx, u)
	require.NoError(t, err)
	require.Equal(t, key, again)
	require.NoError(t, cart.Add(t.Context(), tx, u, maps, 1))
	changed, err := cart.BeginCheckout(t.Context(), tx, u)
	require.NoError(t, err)
	require.Equal(t, key, changed, "the key belongs to the cart, not to its content")
}

func TestParallelBeginCheckoutIsOneKey(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	u := guest(t, db)
	require.NoError(t, cart.Add(t.Context(), db, u, notes, 1))
	keys := make([]string, 20)
	together(t, len(keys), func(i int) (err error) {
		keys[i], err = cart.BeginCheckout(t.Context(), db, u)
		return err
	})
	for _, key := range keys {
		require.Equal(t, keys[0], key)
	}
}

func TestByKeyIsTheOwnersOnly(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 2))
	key, err := cart.BeginCheckout(t.Context(), tx, u)
	require.NoError(t, err)
	c, err := cart.ByKey(t.Context(), tx, u, key)
	require.NoError(t, err)
	require.Equal(t, cart.StatusOpen, c.Status)
	require.Equal(t, key, c.Key)

	_, err = cart.ByKey(t.Context(), tx, guest(t, tx), key)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	for _, unknown := range []string{"", "unknown"} {
		_, err = cart.ByKey(t.Context(), tx, u, unknown)
		require.Equal(t, fault.NotFound, fault.KindOf(err))
	}

	closed, err := cart.Close(t.Context(), tx, c.ID)
	require.NoError(t, err)
	require.True(t, closed)
	closed, err = cart.Close(t.Context(), tx, c.ID)
	require.NoError(t, err)
	require.False(t, closed, "another tab was first")
	c, err = cart.ByKey(t.Context(), tx, u, key)
	require.NoError(t, err)
	require.Equal(t, cart.StatusOrdered, c.Status)
	got, err := cart.Lines(t.Context(), tx, c.ID)
	require.NoError(t, err)
	require.Equal(t, []cart.Line{{notes, 2}}, got)

	require.NoError(t, cart.Add(t.Context(), tx, u, maps, 1))
	next, err := cart.BeginCheckout(t.Context(), tx, u)
	require.NoError(t, err)
	require.NotEqual(t, key, next)
}

// What is added while the order is being made is in the order or in the next cart, never lost.
func TestAddDuringCloseIsNeverLost(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	u := guest(t, db)
	require.NoError(t, cart.SetQuantity(t.Context(), db, u, notes, 1))
	c, err := cart.Open(t.Context(), db, u)
	require.NoError(t, err)
	var ordered []cart.Line
	together(t, 9, func(i int) error {
		if i > 0 {
			return cart.Add(t.Context(), db, u, maps, 1)
		}
		return store.InTx(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := cart.Close(t.Context(), tx, c.ID); err != nil {
				return err
			}
			ordered, err = cart.Lines(t.Context(), tx, c.ID)
			return err
		})
	})
	total := lines(t, db, u)[maps]
	for _, l := range ordered {
		if l.ProductID == maps {
			total += l.Quantity
		}
	}
	require.Equal(t, 8, total)
	after, err := cart.Lines(t.Context(), db, c.ID)
	require.NoError(t, err)
	require.Equal(t, ordered, after, "an ordered cart does not change")
}

func TestBuyAgain(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := guest(t, tx)
	orderID := orderOf(t, tx, u, []cart.Line{{notes, 2}, {maps, 150}})
	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 5))
	for range 2 {
		require.NoError(t, cart.Copy(t.Context(), tx, u, orderID))
		require.Equal(t, map[string]int{notes: 5, maps: 99}, lines(t, tx, u))
	}
	require.NoError(t, cart.Copy(t.Context(), tx, u, orderOf(t, tx, u, []cart.Line{{notes, 9}})))
	require.Equal(t, map[string]int{notes: 9, maps: 99}, lines(t, tx, u))

	other := guest(t, tx)
	require.Equal(t, fault.NotFound, fault.KindOf(cart.Copy(t.Context(), tx, other, orderID)), "somebody else's order")
	require.Empty(t, lines(t, tx, other))
}

func orderOf(t *testing.T, db store.DB, userID account.ID, lines []cart.Line) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := db.Exec(t.Context(), `
		INSERT INTO orders (id, user_id, operation_id, status, currency, subtotal_minor, total_minor)
		VALUES ($1, $2, $3, 'AWAITING_PAYMENT', 'RUB', 1, 1)`, id, userID, uuid.New())
	require.NoError(t, err)
	for _, l := range lines {
		_, err := db.Exec(t.Context(), `
			INSERT INTO order_items (id, order_id, product_id, kind, name, quantity, price_minor)
			VALUES ($1, $2, $3, 'license', 'x', $4, 1)`, uuid.New(), id, l.ProductID, l.Quantity)
		require.NoError(t, err)
	}
	return id
}
