package seed

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/invariant"
	"onefold/domain/operation"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := storetest.DB(t)
	require.NoError(t, catalog.SeedDemo(t.Context(), db))
	return db
}

func run(t *testing.T, db *pgxpool.Pool, o Options) (counts Counts, err error) {
	t.Helper()
	o.Now, o.Span = time.Now(), 28*24*time.Hour
	require.NoError(t, db.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		counts, err = Run(t.Context(), conn.Conn(), o)
		return nil
	}))
	return counts, err
}

func count(t *testing.T, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), sql, args...).Scan(&n), sql)
	return n
}

func healthy(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	findings, err := invariant.Check(t.Context(), db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
	}
}

func TestHistoryIsConsistentAndToldOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	left := `SELECT sum(on_hand - reserved)::int FROM products`
	before := count(t, db, left)
	counts, err := run(t, db, Options{Orders: 200, Seed: 1})
	require.NoError(t, err)
	require.EqualValues(t, 200, counts["orders"])
	for table, n := range counts {
		require.EqualValues(t, n, count(t, db, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()+map[bool]string{true: ` WHERE role <> 'system'`}[table == "users"]), table)
	}
	require.Equal(t, before, count(t, db, left), "as much as before is on sale")
	healthy(t, db)

	_, err = run(t, db, Options{Orders: 200, Seed: 1, Force: true})
	require.ErrorContains(t, err, "--seed 1 is in this database already")
	require.Equal(t, 200, count(t, db, `SELECT count(*) FROM orders`))
	_, err = run(t, db, Options{Orders: 150, Seed: 2})
	require.NoError(t, err)
	require.Equal(t, 350, count(t, db, `SELECT count(*) FROM orders`))
	healthy(t, db)
}

// What the brief of this command names is there already in a small history.
func TestHistoryHasEveryKindOfTrouble(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := run(t, db, Options{Orders: 600, Seed: 7})
	require.NoError(t, err)
	for _, sql := range []string{
		`orders WHERE status = 'FULFILLED'`, `orders WHERE status = 'CANCELED'`, `orders WHERE status = 'EXPIRED'`, `orders WHERE status = 'REFUNDED'`,
		`orders WHERE status = 'PARTIALLY_REFUNDED'`, `orders WHERE needs_review`, `payments WHERE status = 'UNKNOWN'`, `payments WHERE status = 'PENDING'`,
		`payments WHERE orphaned_at IS NOT NULL`, `refunds WHERE status = 'UNKNOWN'`, `incoming_events WHERE status = 'QUARANTINED' AND contradicts IS NULL`,
		`incoming_events WHERE contradicts IS NOT NULL`, `incoming_events WHERE status = 'STALE'`, `incoming_events WHERE status = 'NO_CHANGE'`,
		`incoming_events WHERE deliveries > 1`, `outbox_events WHERE parked_at IS NOT NULL`, `shipments WHERE status = 'FAILED'`,
		`shipments WHERE delivered_at IS NOT NULL`, `operations WHERE failure_code = 'MAIL_REFUSED'`, `operations WHERE failure_code = 'OUT_OF_STOCK'`,
		`operations WHERE type = 'SEND_NOTIFICATION' AND status = 'PROCESSING'`, `journal WHERE kind = 'operation.replayed'`,
		`journal WHERE kind = 'operation.key_reused'`, `journal WHERE kind = 'operation.in_progress'`, `journal WHERE kind = 'inbox.repeated'`,
	} {
		require.NotZero(t, count(t, db, `SELECT count(*) FROM `+sql), sql)
	}
	require.Greater(t, count(t, db, `SELECT count(*) FROM orders WHERE status = 'FULFILLED'`), 350, "most orders are fulfilled")
}

// An operation's ID is its identity's, so a late retry finds it.
func TestOperationsHaveTheirIdentity(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := run(t, db, Options{Orders: 120, Seed: 3})
	require.NoError(t, err)
	rows, err := db.Query(t.Context(), `SELECT id, user_id, type, target, key FROM operations`)
	require.NoError(t, err)
	var id uuid.UUID
	var i operation.Identity
	_, err = pgx.ForEachRow(rows, []any{&id, &i.User, &i.Type, &i.Target, &i.Key}, func() error {
		require.Equal(t, id, i.ID())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM operations WHERE type = $1 AND key = $2`, checkout.CreateOrder, newChapter(3, 120).key(60)))
}

func TestOldOrdersLoseWhatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := run(t, db, Options{Orders: 400, Operations: 1000, Events: 700, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, 1000, count(t, db, `SELECT count(*) FROM operations`))
	require.Equal(t, 700, count(t, db, `SELECT (SELECT count(*) FROM incoming_events) + (SELECT count(*) FROM outbox_events)`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM journal j WHERE kind = 'operation.completed' AND NOT EXISTS (SELECT FROM operations o WHERE o.id = j.operation_id)`))
	healthy(t, db)
	for _, o := range []Options{{Orders: 400, Operations: 10}, {Orders: 400, Events: 100_000}, {Orders: 0}} {
		o.Seed = 2
		_, err := run(t, db, o)
		require.ErrorContains(t, err, "--")
	}
}

func TestRealShopsAreLeftAlone(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := db.Exec(t.Context(), `INSERT INTO orders (id, user_id, operation_id, status, currency, subtotal_minor, total_minor)
		VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'AWAITING_PAYMENT', 'RUB', 1, 1)`)
	require.NoError(t, err)
	_, err = run(t, db, Options{Orders: 10})
	require.ErrorContains(t, err, "no demo's")
	_, err = run(t, db, Options{Orders: 10, Force: true})
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `UPDATE payments SET provider = 'stripe' WHERE id = (SELECT id FROM payments LIMIT 1)`)
	require.NoError(t, err)
	_, err = run(t, db, Options{Orders: 10, Seed: 2, Force: true})
	require.ErrorContains(t, err, "live provider")
}

// A big load takes indexes and constraints off and puts back exactly those.
func TestStrippedTablesGetEverythingBack(t *testing.T) {
	t.Parallel()
	db := database(t)
	const schema = `SELECT md5(string_agg(def, ';' ORDER BY def)) FROM (
		SELECT indexdef AS def FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint) d`
	var before, during, after string
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		require.NoError(t, tx.QueryRow(t.Context(), schema).Scan(&before))
		back, err := strip(t.Context(), tx)
		require.NoError(t, err)
		require.NoError(t, tx.QueryRow(t.Context(), schema).Scan(&during))
		require.NoError(t, back.restore(t.Context(), tx, func(int) {}))
		return tx.QueryRow(t.Context(), schema).Scan(&after)
	}))
	require.NotEqual(t, before, during)
	require.Equal(t, before, after)
}
