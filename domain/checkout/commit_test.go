package checkout_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// wired is a shop whose connection to the database can be cut.
func wired(t *testing.T) (*bench, *proxy) {
	t.Helper()
	address := storetest.URL(t)
	p, through := wire(t, address)
	direct, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	b := setup(t, direct)
	pool, err := store.Open(t.Context(), through, store.Options{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b.desk = desk(pool)
	return b, p
}

// The connection dies at COMMIT: whether the server got it or not, the answer is right and there is one order.
func TestCutAtCommit(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]cut{"before": before, "after": after} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := wired(t)
			for n := range 5 {
				key := string(rune('a' + n))
				p.arm(at, 1)
				out := b.place(t, b.command(key))
				require.Zero(t, p.left(), "the cut happened")
				require.False(t, out.Replayed, "for the client this is the first answer")
				require.Equal(t, n+1, b.counts(t).orders)
				again := b.place(t, b.command(key))
				require.True(t, again.Replayed)
				require.Equal(t, out.Result, again.Result)
				require.NoError(t, found(t, b, out))
			}
			require.Equal(t, counts{orders: 5, payments: 5, external: 5, events: 5, reserved: 10}, b.counts(t))
		})
	}
}

func found(t *testing.T, b *bench, out operation.Outcome) error {
	t.Helper()
	_, err := checkout.Find(t.Context(), b.db, b.user, orderID(t, out))
	return err
}

func TestCutAtTheCommitOfARefusal(t *testing.T) {
	t.Parallel()
	for _, at := range []cut{before, after} {
		b, p := wired(t)
		c := b.command("K", checkout.Item{ProductID: "ink-and-iron", Quantity: 6})
		p.arm(at, 1)
		out := b.place(t, c)
		require.Equal(t, "OUT_OF_STOCK", out.Failure.Code)
		require.Equal(t, out.Failure, b.place(t, c).Failure)
		require.Equal(t, counts{}, b.counts(t))
	}
}

// Three cuts in a row: the client is told to send the same again, and then it works.
func TestCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	b, p := wired(t)
	p.arm(before, 3)
	_, err := b.desk.Place(t.Context(), b.command("K"))
	require.Equal(t, "TEMPORARILY_UNAVAILABLE", code(t, err))
	require.Equal(t, counts{}, b.counts(t))
	require.False(t, b.place(t, b.command("K")).Replayed)
	require.Equal(t, 1, b.counts(t).orders)
}

// Twins race while every second COMMIT is cut on one side or the other.
func TestTwinsWhileCommitsAreCut(t *testing.T) {
	t.Parallel()
	b, p := wired(t)
	b.desk.Operations.Wait = 2 * time.Second
	for n := range 6 {
		key := string(rune('a' + n))
		p.arm([]cut{before, after}[n%2], 2)
		var answered atomic.Int32
		bodies := make([]string, 8)
		together(len(bodies), func(i int) {
			for range 5 { // as a client would: the same request until it is answered
				out, err := b.desk.Place(t.Context(), b.command(key))
				if err == nil {
					bodies[i] = out.Result.Body
					answered.Add(1)
					return
				}
			}
		})
		require.EqualValues(t, len(bodies), answered.Load())
		for _, body := range bodies {
			require.Equal(t, bodies[0], body)
		}
		require.Equal(t, n+1, b.counts(t).orders)
	}
}
