package invariant_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

func BenchmarkExplain(b *testing.B) {
	db := storetest.DB(b)
	fill(b, db, os.Getenv("N"))
	analyse(b, db)
	conn, err := db.Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	for _, s := range []string{"SET statement_timeout=0", "SET work_mem='64MB'", "SET jit=off", "SET enable_mergejoin=" + os.Getenv("MJ")} {
		_, err = conn.Exec(b.Context(), s)
		require.NoError(b, err)
	}
	args := pgx.NamedArgs(invariant.Arguments())
	sqls := []string{}
	for _, i := range invariant.All() {
		if i.ID == 12 || i.ID == 11 {
			sqls = append(sqls, i.SQL)
		}
	}
	if extra, err := os.ReadFile("/tmp/extra.sql"); err == nil {
		sqls = append(sqls, strings.Split(string(extra), ";;")...)
	}
	for _, s := range sqls {
		rows, err := conn.Query(b.Context(), "EXPLAIN (ANALYZE, COSTS OFF) "+s, args)
		require.NoError(b, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(b, err)
		fmt.Println(strings.Join(lines, "\n"))
		fmt.Println("=======")
	}
	rows, _ := conn.Query(b.Context(), "select name||'='||setting from pg_settings where name in ('shared_buffers','max_parallel_workers_per_gather','hash_mem_multiplier','server_version','max_parallel_workers')")
	lines, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	fmt.Println(lines)
}
