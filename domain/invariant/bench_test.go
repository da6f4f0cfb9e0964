package invariant_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

// BenchmarkCheck prints what each invariant costs on 200,000 orders (about a million operations and three million journal
// rows): go test ./domain/invariant -run '^$' -bench Check -benchtime 1x
func BenchmarkCheck(b *testing.B) {
	db := storetest.DB(b)
	fill(b, db, "200000")
	analyse(b, db)
	for b.Loop() {
		findings, err := invariant.Check(b.Context(), db, invariant.Config{Sweep: time.Hour}) // filling takes minutes
		require.NoError(b, err)
		require.Len(b, findings, 12)
		for _, f := range findings {
			require.True(b, f.OK, "%s: %v", f.Name, f.Examples)
			b.ReportMetric(f.Took.Seconds()*1000, f.Name+"-ms")
		}
	}
}

// analyse does what autovacuum does in a database that lives longer.
func analyse(b *testing.B, db *pgxpool.Pool) {
	b.Helper()
	conn, err := db.Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	for _, sql := range []string{"SET statement_timeout = 0", "VACUUM ANALYZE", "RESET statement_timeout"} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err)
	}
}
