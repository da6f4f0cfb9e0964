package invariant_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

// result is a row of invariant_results.
type result struct {
	Violations int64
	Sample     *string
	Since      *time.Time
}

func monitored(t *testing.T, db *pgxpool.Pool) map[int]result {
	t.Helper()
	require.NoError(t, invariant.Monitor(t.Context(), db, invariant.Config{}))
	rows, err := db.Query(t.Context(), `SELECT number, violations, sample, since FROM invariant_results`)
	require.NoError(t, err)
	found := map[int]result{}
	var n int
	var r result
	_, err = pgx.ForEachRow(rows, []any{&n, &r.Violations, &r.Sample, &r.Since}, func() error {
		found[n] = r
		return nil
	})
	require.NoError(t, err)
	return found
}

func exec(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func TestMonitorTurnsRedAtOnceAndGreenAfterRepair(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "40")
	for range 2 {
		found := monitored(t, db)
		require.Len(t, found, len(invariant.All()))
		for n, r := range found {
			require.Equal(t, result{}, r, n)
		}
	}
	exec(t, db, `UPDATE payments SET amount_minor = amount_minor + 1 WHERE id = md5('payment5')::uuid`)
	red := monitored(t, db)[3]
	require.EqualValues(t, 1, red.Violations)
	require.Contains(t, *red.Sample, "order ")
	require.NotNil(t, red.Since)
	exec(t, db, `UPDATE payments SET amount_minor = amount_minor + 1 WHERE id = md5('payment6')::uuid`)
	still := monitored(t, db)[3]
	require.EqualValues(t, 2, still.Violations)
	require.Equal(t, red.Since, still.Since, "it is red since then")
	exec(t, db, `UPDATE payments SET amount_minor = amount_minor - 1 WHERE id IN (md5('payment5')::uuid, md5('payment6')::uuid)`)
	for range 2 {
		require.Equal(t, result{}, monitored(t, db)[3])
	}
}

// When looking at everything takes long, it is done less often; what changed is still looked at every time.
func TestMonitorOfWhatChangedOnlyAddsViolations(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "40")
	exec(t, db, `UPDATE journal SET at = at - interval '1 hour'; UPDATE outbox_events SET created_at = created_at - interval '1 hour'`)
	monitored(t, db)
	exec(t, db, `UPDATE invariant_results SET took_ms = 600000`)

	exec(t, db, `DELETE FROM licenses WHERE order_id = md5('order5')::uuid`)
	require.Zero(t, monitored(t, db)[5].Violations, "nothing says that this order moved")
	exec(t, db, `INSERT INTO journal (kind, trace_id, order_id, operation_id) VALUES ('operation.replayed', 't', md5('order5')::uuid, md5('place5')::uuid)`)
	for range 2 {
		red := monitored(t, db)[5]
		require.EqualValues(t, 1, red.Violations)
		require.NotNil(t, red.Since)
	}
	exec(t, db, `INSERT INTO licenses (order_item_id, unit, order_id, license_key)
		SELECT md5('item5')::uuid, u, md5('order5')::uuid, md5('again' || u) FROM generate_series(1, 3) u`)
	require.EqualValues(t, 1, monitored(t, db)[5].Violations, "there may be others")
	exec(t, db, `UPDATE operations SET next_attempt_at = now() - interval '1 hour' WHERE id = md5('pay21')::uuid`)
	require.EqualValues(t, 1, monitored(t, db)[9].Violations, "what is open is looked at every time")

	exec(t, db, `UPDATE invariant_results SET complete_at = now() - interval '1 day'`)
	green := monitored(t, db)
	require.Equal(t, result{}, green[5])
	require.EqualValues(t, 1, green[9].Violations)
}

func TestOneMonitorAtATime(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(5814000003)`)
	require.NoError(t, err)
	require.Empty(t, monitored(t, db), "the other one is at it")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Len(t, monitored(t, db), len(invariant.All()))
}
