package retention_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/retention"
)

// Several processes clean at once, while the shop goes on and keys that are just going are tried again.
func TestRunsShareTheWork(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const n = 12
	for i := range n {
		s.bought(t, fmt.Sprintf("old-%d", i))
	}
	for range 5 {
		s.visitor(t)
	}
	s.age(t, year)
	plan := goes(s.plan(t))
	var mu sync.Mutex
	sum := map[string]int64{}
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 3 {
				tables, err := retention.Run(t.Context(), s.db, retention.Config{Batch: 5})
				if !noError(t, err) {
					return
				}
				mu.Lock()
				for name, n := range goes(tables) {
					sum[name] += n
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		done.Go(func() {
			out, err := s.desk.Place(t.Context(), s.command(fmt.Sprintf("old-%d", i)))
			if fault.KindOf(err) != fault.Gone && noError(t, err) && !out.Replayed {
				t.Errorf("key %d made a second order", i)
			}
			_, err = s.desk.Place(t.Context(), s.command(fmt.Sprintf("new-%d", i)))
			noError(t, err)
		})
	}
	done.Wait()
	for name, n := range goes(s.run(t)) {
		sum[name] += n
	}
	for _, name := range []string{"operations", "incoming_events", "outbox_events", "carts", "users", "sessions"} {
		require.Equal(t, plan[name], sum[name], "each row of %s went once", name)
	}
	require.Equal(t, 2*n, s.count(t, `SELECT count(*) FROM orders`))
	s.unbroken(t)
	_, err := checkout.ListOrders(t.Context(), s.db, s.user, [16]byte{}, 10)
	require.NoError(t, err)
}

func noError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// A row that somebody holds is left for the next run, which doesn't wait for it.
func TestARowThatSomebodyHoldsIsLeft(t *testing.T) {
	t.Parallel()
	for table, sql := range map[string]string{
		"operations":    `SELECT FROM operations WHERE order_id = $1 FOR UPDATE`,
		"outbox_events": `SELECT FROM orders WHERE id = $1 FOR UPDATE`, // which remembers them
	} {
		s := newShop(t)
		id := s.bought(t, "k")
		s.age(t, year)
		before := s.rows(t, id)[table]
		require.NoError(t, pgx.BeginFunc(t.Context(), s.db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), sql, id)
			s.run(t)
			return err
		}))
		require.Equal(t, before, s.rows(t, id)[table])
		s.unbroken(t)
		s.run(t)
		require.Zero(t, s.rows(t, id)[table])
		s.unbroken(t)
	}
}
