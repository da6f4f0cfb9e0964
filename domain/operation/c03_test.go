package operation_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store/storetest"
)

// CASES C03 c: the work panics before its COMMIT. Nothing stays behind: not the claim, not its locks, not the connection, so a
// retry runs at once, however often it panicked before.
func TestC03c_APanicLeavesNothing(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	r := runner(db)
	tries := int(db.Config().MaxConns) + 1 // more than there are connections to lose
	for range tries {
		require.PanicsWithValue(t, "on purpose", func() {
			_, _ = r.Run(t.Context(), claimOf("K", "v1:a"), func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
				_, _ = effect(tx, op)
				panic("on purpose")
			})
		})
		require.Zero(t, rows(t, db))
		require.Zero(t, effects(t, db))
	}
	begun := time.Now()
	first, err := r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	require.NoError(t, err)
	require.Less(t, time.Since(begun), time.Second, "nobody waits for the one that panicked")
	require.False(t, first.Replayed)
	again, err := r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, 1, effects(t, db))
	require.Zero(t, paymenttest.Count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`))
}
