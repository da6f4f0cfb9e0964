package storetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestDBIsMigratedAndAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	first, second := storetest.DB(t), storetest.DB(t)
	for range 2 {
		current, err := store.MigrationsCurrent(ctx, first)
		require.NoError(t, err)
		require.True(t, current)
	}
	_, err := first.Exec(ctx, `INSERT INTO promo_codes (code, percent_off, max_uses) VALUES ('ONCE', 10, 1)`)
	require.NoError(t, err)
	var codes, jobs int
	require.NoError(t, second.QueryRow(ctx, `SELECT (SELECT count(*) FROM promo_codes), (SELECT count(*) FROM river_job)`).Scan(&codes, &jobs))
	require.Zero(t, codes)
	require.Zero(t, jobs)
}

func TestTxIsRolledBack(t *testing.T) {
	t.Parallel()
	for range 2 {
		t.Run("insert", func(t *testing.T) {
			tx := storetest.Tx(t)
			_, err := tx.Exec(t.Context(), `INSERT INTO promo_codes (code, percent_off, max_uses) VALUES ('TX', 10, 1)`)
			require.NoError(t, err)
		})
	}
}
