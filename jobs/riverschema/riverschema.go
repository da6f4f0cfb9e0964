// Package riverschema migrates River's own tables. It stands apart from package jobs so that the test databases can have them
// without knowing any job.
package riverschema

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// lockID keeps starts that race apart: River's migrator has no lock of its own. The number means nothing.
const lockID = 5_814_000_001

// Migrate brings River's tables to the version this binary was built with.
func Migrate(ctx context.Context, url string) error {
	return locked(ctx, url, func(m *rivermigrate.Migrator[pgx.Tx]) error {
		_, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// MigrateDown removes River's tables with every job in them. That loses no business fact: rows are due, not jobs.
func MigrateDown(ctx context.Context, url string) error {
	return locked(ctx, url, func(m *rivermigrate.Migrator[pgx.Tx]) error {
		_, err := m.Migrate(ctx, rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1})
		return err
	})
}

// Current reports whether all of River's steps are applied.
func Current(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	m, err := migrator(pool)
	if err != nil {
		return false, err
	}
	result, err := m.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("read River's schema version: %w", err)
	}
	return result.OK, nil
}

// Newest is the number of River's newest step; it changes with the library and so belongs in a cached template's name.
func Newest() (int, error) {
	m, err := migrator(nil)
	if err != nil {
		return 0, err
	}
	all := m.AllVersions()
	return all[len(all)-1].Version, nil
}

func migrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("make River's migrator: %w", err)
	}
	return m, nil
}

// locked uses a pool of its own: a step may take longer than the statement limit of the program's pool.
func locked(ctx context.Context, url string, do func(*rivermigrate.Migrator[pgx.Tx]) error) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return fmt.Errorf("open pool to migrate River: %w", err)
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to migrate River: %w", err)
	}
	defer conn.Release() // the lock ends with the session, when the pool is closed
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockID); err != nil {
		return fmt.Errorf("wait for River's migration lock: %w", err)
	}
	m, err := migrator(pool)
	if err != nil {
		return err
	}
	if err := do(m); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	return nil
}
