package invariant

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"onefold/domain/store"
)

// Check evaluates all invariants on one snapshot of the database, read-only. An error means that the database failed, not
// that an invariant is violated. db must be a pool or connection, not a transaction that has begun.
func Check(ctx context.Context, db store.DB, cfg Config) ([]Finding, error) {
	var w *work
	err := store.InTx(ctx, db, func(tx pgx.Tx) error {
		w = newWork(cfg)
		if err := settings(ctx, tx, cfg, ""); err != nil {
			return err
		}
		var snapshot string
		if err := tx.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&snapshot); err != nil {
			return fmt.Errorf("share snapshot: %w", err)
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return w.do(ctx, tx) })
		for range cfg.sessions(db) - 1 {
			group.Go(func() error {
				return store.InTx(ctx, db, func(tx pgx.Tx) error {
					if err := settings(ctx, tx, cfg, snapshot); err != nil {
						return err
					}
					return w.do(ctx, tx)
				})
			})
		}
		return group.Wait()
	})
	if err != nil {
		return nil, err
	}
	return w.findings(), nil
}

// sessions is 1 for what has only one connection.
func (c Config) sessions(db store.DB) int {
	pool, ok := db.(*pgxpool.Pool)
	switch {
	case !ok:
		return 1
	case c.Sessions == 0:
		return min(2, int(pool.Config().MaxConns))
	}
	return min(c.Sessions, int(pool.Config().MaxConns))
}

// settings give whole-table queries time and memory. Compiling them (JIT) would take longer than most of them run, and sorting
// whole tables to merge them longer than hashing one of the two. Sessions use each other's cores, so none asks for workers.
func settings(ctx context.Context, tx pgx.Tx, cfg Config, snapshot string) error {
	statement := cmp.Or(cfg.Statement, 5*time.Minute)
	list := []string{
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
		fmt.Sprintf("SET LOCAL statement_timeout = %d", statement.Milliseconds()),
		"SET LOCAL idle_in_transaction_session_timeout = 0", // the first waits for the others
		"SET LOCAL work_mem = '128MB'",
		"SET LOCAL max_parallel_workers_per_gather = 0",
		"SET LOCAL jit = off",
		"SET LOCAL enable_mergejoin = off",
	}
	if snapshot != "" {
		list = slices.Insert(list, 1, "SET TRANSACTION SNAPSHOT '"+snapshot+"'")
	}
	for _, sql := range list {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("prepare check: %w", err)
		}
	}
	return nil
}

// work is the queries of a check, for any number of sessions to take one after the other.
type work struct {
	args  pgx.NamedArgs
	tasks []task
	taken atomic.Int32
}

type task struct {
	invariant Invariant
	sql       string
	found     Finding
}

// newWork puts the last invariants first: they cost most, so that no session is left alone with one at the end.
func newWork(cfg Config) *work {
	w := &work{args: cfg.arguments()}
	for _, i := range slices.Backward(All()) {
		parts := i.parts
		if parts == nil {
			parts = []string{i.SQL}
		}
		for _, sql := range parts {
			w.tasks = append(w.tasks, task{invariant: i, sql: sql})
		}
	}
	return w
}

// do takes queries until none is left.
func (w *work) do(ctx context.Context, tx pgx.Tx) error {
	for {
		n := int(w.taken.Add(1)) - 1
		if n >= len(w.tasks) {
			return nil
		}
		if err := w.tasks[n].run(ctx, tx, w.args); err != nil {
			i := w.tasks[n].invariant
			return fmt.Errorf("check invariant %d (%s): %w", i.ID, i.Name, err)
		}
	}
}

// shown is how many examples a finding has at most.
const shown = 20

func (t *task) run(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	start := time.Now() //nolint:forbidigo // measures, decides nothing
	rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT subject, detail, count(*) OVER () FROM (%s) AS v(subject, detail)
		ORDER BY subject, detail LIMIT %d`, t.sql, shown), args)
	if err != nil {
		return fmt.Errorf("run query: %w", err)
	}
	f := &t.found
	f.Examples, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Example, err error) {
		if err = row.Scan(&e.Subject, &e.Detail, &f.Violations); err != nil {
			return e, fmt.Errorf("read violation: %w", err)
		}
		return e, nil
	})
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	f.Took = time.Since(start)
	return nil
}

// findings puts the parts of each invariant together, in the order of the contract.
func (w *work) findings() []Finding {
	var list []Finding
	for _, t := range slices.Backward(w.tasks) {
		if n := len(list); n == 0 || list[n-1].ID != t.invariant.ID {
			list = append(list, Finding{ID: t.invariant.ID, Name: t.invariant.Name, Promise: t.invariant.Promise, Examples: []Example{}})
		}
		f := &list[len(list)-1]
		f.Violations, f.Took = f.Violations+t.found.Violations, f.Took+t.found.Took
		f.Examples = append(f.Examples, t.found.Examples...)
		f.OK = f.Violations == 0
	}
	for i := range list {
		slices.SortFunc(list[i].Examples, func(a, b Example) int {
			return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Detail, b.Detail))
		})
		list[i].Examples = list[i].Examples[:min(len(list[i].Examples), shown)]
	}
	return list
}
