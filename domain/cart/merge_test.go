package cart_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/cart"
	"onefold/domain/fault"
	"onefold/domain/store/storetest"
)

func TestMergeTwiceAddsOnce(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	g, u := guest(t, tx), member(t, tx)
	require.NoError(t, cart.Add(t.Context(), tx, g, notes, 60))
	require.NoError(t, cart.Add(t.Context(), tx, g, maps, 1))
	require.NoError(t, cart.Add(t.Context(), tx, u, notes, 60))
	key, err := cart.BeginCheckout(t.Context(), tx, g)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, cart.Merge(t.Context(), tx, g, u))
		require.Equal(t, map[string]int{notes: 99, maps: 1}, lines(t, tx, u))
		require.Empty(t, lines(t, tx, g))
	}
	_, err = cart.ByKey(t.Context(), tx, g, key)
	require.Equal(t, fault.Gone, fault.KindOf(err), "a merged cart cannot be ordered any more")

	require.NoError(t, cart.Add(t.Context(), tx, g, maps, 2))
	require.NoError(t, cart.Merge(t.Context(), tx, g, u))
	require.Equal(t, map[string]int{notes: 99, maps: 3}, lines(t, tx, u), "a new guest cart is another merge")
}

func TestMergeMakesTheUsersCart(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	g, u := guest(t, tx), member(t, tx)
	require.NoError(t, cart.Merge(t.Context(), tx, g, u), "nothing to merge")
	require.NoError(t, cart.Add(t.Context(), tx, g, notes, 2))
	require.NoError(t, cart.Merge(t.Context(), tx, g, u))
	require.Equal(t, map[string]int{notes: 2}, lines(t, tx, u))
}

func TestMergeLeavesPeopleAndOrdersAlone(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	g, u, other := guest(t, tx), member(t, tx), member(t, tx)
	require.NoError(t, cart.Add(t.Context(), tx, other, notes, 2))
	require.NoError(t, cart.Merge(t.Context(), tx, other, u))
	require.NoError(t, cart.Merge(t.Context(), tx, other, other))
	require.Equal(t, map[string]int{notes: 2}, lines(t, tx, other), "a person's basket stays theirs")

	require.NoError(t, cart.Add(t.Context(), tx, g, notes, 1))
	c, err := cart.Open(t.Context(), tx, g)
	require.NoError(t, err)
	_, err = cart.Close(t.Context(), tx, c.ID)
	require.NoError(t, err)
	require.NoError(t, cart.Merge(t.Context(), tx, g, u))
	require.Empty(t, lines(t, tx, u), "what is ordered is not bought twice")
}

func TestParallelSignInsMergeOnce(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for range 10 {
		g, u := guest(t, db), member(t, db)
		require.NoError(t, cart.Add(t.Context(), db, g, notes, 2))
		require.NoError(t, cart.Add(t.Context(), db, u, notes, 1))
		together(t, 2, func(int) error { return cart.Merge(t.Context(), db, g, u) })
		require.Equal(t, map[string]int{notes: 3}, lines(t, db, u))
	}
}
