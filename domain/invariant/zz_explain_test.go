package invariant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

func BenchmarkExplain(b *testing.B) {
	db := storetest.DB(b)
	fill(b, db, "200000")
	analyse(b, db)
	conn, err := db.Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	for _, s := range []string{"SET statement_timeout=0", "SET work_mem='64MB'", "SET jit=off"} {
		_, err = conn.Exec(b.Context(), s)
		require.NoError(b, err)
	}
	for range 2 {
	for _, i := range invariant.All() {
		if i.ID != 12 && i.ID != 11 && i.ID != 5 && i.ID != 6 {
			continue
		}
		rows, err := conn.Query(b.Context(), "EXPLAIN (ANALYZE, COSTS OFF) "+i.SQL, pgx.NamedArgs(invariant.Arguments()))
		require.NoError(b, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(b, err)
		fmt.Println("=======", i.Name)
		fmt.Println(strings.Join(lines, "\n"))
	}
	for k:=0;k<2;k++ {
	fs, err := invariant.Check(b.Context(), db, invariant.Config{Sweep: 3600e9})
	require.NoError(b, err)
	for _, f := range fs { fmt.Println("TIME", f.Name, f.Took.Milliseconds(), f.OK) }
	}
	}
}
