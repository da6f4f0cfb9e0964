package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// A process that stood still inside a transaction finds its session ended: unavailable for the moment, and nothing of it happened.
func TestASessionThatStoodStillIsUnavailable(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	_, err := db.Exec(t.Context(), `CREATE TABLE still (n int)`)
	require.NoError(t, err)
	err = store.InTx(t.Context(), db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SET LOCAL idle_in_transaction_session_timeout = '1ms'`); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO still VALUES (1)`); err != nil {
			return err
		}
		pid := tx.Conn().PgConn().PID()
		require.Eventually(t, func() bool {
			var gone bool
			return db.QueryRow(t.Context(), `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`, pid).Scan(&gone) == nil && gone
		}, 10*time.Second, 5*time.Millisecond)
		return nil
	})
	require.True(t, store.IsUnavailable(err), "%v", err)
	var n int
	require.NoError(t, db.QueryRow(t.Context(), `SELECT count(*) FROM still`).Scan(&n))
	require.Zero(t, n)
}
