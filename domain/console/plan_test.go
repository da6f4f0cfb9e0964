package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// With sequential scans forbidden, one that is left has no index to use: it would read a whole table in production.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	_, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off`)
	require.NoError(t, err)
	id := uuid.New()
	for _, f := range finders {
		for _, text := range []string{id.String(), "1001", strings.Repeat("a", 32), "a@b.c", "text"} {
			if arg, ok := f.takes(text); ok {
				requireIndexed(t, tx, f.sql, arg)
			}
		}
	}
	first, last, ok := uuidsFrom(id.String()[:8])
	require.True(t, ok)
	for _, p := range uuidProbers {
		requireIndexed(t, tx, p.sql, first, last)
	}
	for _, p := range textProbers {
		requireIndexed(t, tx, p.sql, "abcd")
	}
	for _, sql := range []string{pressesSQL, looksSQL, notesSQL} {
		requireIndexed(t, tx, sql, id, id)
	}
	requireIndexed(t, tx, twinsSQL, id)
	requireIndexed(t, tx, locateSQL, id)
	requireIndexed(t, tx, mine+`SELECT id FROM mine`, id, id)
	for _, l := range []list{
		{at: "op.created_at", id: "op.id", from: operationRows},
		{at: "p.created_at", id: "p.id", from: paymentRows},
		{at: "o.created_at", id: "o.id", from: "orders o"},
		{at: "e.received_at", id: "e.id", from: eventRows},
		{at: "x.created_at", id: "x.id", from: outboxRows},
	} {
		requireIndexed(t, tx, fmt.Sprintf(`SELECT 1 FROM %s WHERE (%s, %s) < (now(), $1) ORDER BY %[2]s DESC, %[3]s DESC LIMIT 51`, l.from, l.at, l.id), id)
	}
}

func requireIndexed(t *testing.T, q store.Querier, sql string, args ...any) {
	t.Helper()
	rows, err := q.Query(t.Context(), "EXPLAIN "+sql, args...)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan", sql)
}
