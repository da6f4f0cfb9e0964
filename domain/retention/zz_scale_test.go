package retention_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/retention"
)

func TestScale(t *testing.T) {
	s := newShop(t)
	raw, err := os.ReadFile("../invariant/fill_test.go")
	require.NoError(t, err)
	text := string(raw)
	a := strings.Index(text, "const fillSQL = `") + len("const fillSQL = `")
	sql := text[a : a+strings.Index(text[a:], "`")]
	require.NoError(t, pgx.BeginFunc(t.Context(), s.db, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = 0; SET LOCAL synchronous_commit = off;"+strings.ReplaceAll(sql, "{n}", "60000"))
		return err
	}))
	tx, _ := s.db.Begin(t.Context())
	_, err = tx.Exec(t.Context(), `SET LOCAL statement_timeout=0`)
	require.NoError(t, err)
	for _, q := range []string{`UPDATE operations SET created_at = created_at - interval '9000 hours', completed_at = completed_at - interval '9000 hours'`, `UPDATE incoming_events SET received_at = received_at - interval '9000 hours', processed_at = processed_at - interval '9000 hours'`, `UPDATE outbox_events SET created_at = created_at - interval '9000 hours', dispatched_at = dispatched_at - interval '9000 hours'`, `UPDATE journal SET at = at - interval '9000 hours'`,
		`INSERT INTO users (id, role, created_at) SELECT gen_random_uuid(), 'guest', now() - interval '9000 hours' FROM generate_series(1,30000)`,
		`INSERT INTO carts (id, user_id, status, created_at, updated_at) SELECT gen_random_uuid(), id, 'OPEN', created_at, created_at FROM users WHERE role='guest'`} {
		_, err = tx.Exec(t.Context(), q)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	for range 2 {
		start := time.Now()
		p, err := retention.Plan(t.Context(), s.db, retention.Config{})
		require.NoError(t, err)
		fmt.Println("plan", time.Since(start), p)
		start = time.Now()
		r, err := retention.Run(t.Context(), s.db, retention.Config{})
		require.NoError(t, err)
		fmt.Println("run", time.Since(start), goes(r))
	}
	s.unbroken(t)
}
