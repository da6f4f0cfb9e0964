package store_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestMigrateUpAndDownTwice(t *testing.T) {
	t.Parallel()
	ctx, url, db := t.Context(), storetest.URL(t), storetest.DB(t)
	steps, err := store.MigrationStatus(ctx, url)
	require.NoError(t, err)
	require.NotEmpty(t, steps)

	for range 2 {
		for range steps {
			require.NoError(t, store.MigrateDown(ctx, url))
		}
		require.Error(t, store.MigrateDown(ctx, url), "nothing is left to take back")
		steps, err = store.MigrationStatus(ctx, url)
		require.NoError(t, err)
		require.True(t, steps[0].AppliedAt.IsZero())

		require.NoError(t, store.Migrate(ctx, url))
		require.NoError(t, store.Migrate(ctx, url), "a repeat does nothing")
		steps, err = store.MigrationStatus(ctx, url)
		require.NoError(t, err)
		require.False(t, steps[len(steps)-1].AppliedAt.IsZero())
	}
	current, err := store.MigrationsCurrent(ctx, db)
	require.NoError(t, err)
	require.True(t, current)
}

func TestMigrationsCurrentOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), storetest.DB(t)
	_, err := db.Exec(ctx, `DELETE FROM goose_db_version WHERE version_id > 0`)
	require.NoError(t, err)
	current, err := store.MigrationsCurrent(ctx, db)
	require.NoError(t, err)
	require.False(t, current)

	_, err = db.Exec(ctx, `DROP TABLE goose_db_version`)
	require.NoError(t, err)
	current, err = store.MigrationsCurrent(ctx, db)
	require.NoError(t, err)
	require.False(t, current)
}

func TestStartsThatRaceMigrateOnce(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), storetest.URL(t)
	require.NoError(t, store.MigrateDown(ctx, url))
	var starts sync.WaitGroup
	errs := make([]error, 4)
	for n := range errs {
		starts.Go(func() { errs[n] = store.Migrate(ctx, url) })
	}
	starts.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
