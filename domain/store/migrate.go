package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"onefold/migrations"
)

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // the file's name
	AppliedAt time.Time // zero: not applied yet
}

// Migrate brings the schema to the newest version. Starts that race are safe: one migrates, the others wait for it (at most
// five minutes) and find nothing left to do. River's own tables are not part of it, see jobs/riverschema.
func Migrate(ctx context.Context, url string) error {
	return withGoose(url, func(p *goose.Provider) error {
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate schema up: %w", err)
		}
		return nil
	})
}

// MigrateDown takes the newest applied step back, with the data it holds. Nothing applied: goose.ErrNoNextVersion.
func MigrateDown(ctx context.Context, url string) error {
	return withGoose(url, func(p *goose.Provider) error {
		if _, err := p.Down(ctx); err != nil {
			return fmt.Errorf("migrate schema down: %w", err)
		}
		return nil
	})
}

// MigrationStatus lists all known steps, oldest first.
func MigrationStatus(ctx context.Context, url string) ([]Migration, error) {
	var list []Migration
	err := withGoose(url, func(p *goose.Provider) error {
		states, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("read schema status: %w", err)
		}
		for _, s := range states {
			list = append(list, Migration{Version: s.Source.Version, Name: s.Source.Path, AppliedAt: s.AppliedAt})
		}
		return nil
	})
	return list, err
}

// MigrationsCurrent reports whether the database has every step this binary knows; a newer schema counts as current, because
// old binaries run on it during a release. A database without any schema is not current and not an error.
func MigrationsCurrent(ctx context.Context, db Querier) (bool, error) {
	newest, err := newestVersion()
	if err != nil {
		return false, err
	}
	var applied int64
	err = db.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&applied)
	if SQLSTATE(err) == "42P01" { // undefined_table: never migrated
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read schema version: %w", err)
	}
	return applied >= newest, nil
}

func newestVersion() (int64, error) {
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("list migrations: %d files, %w", len(files), err)
	}
	version, err := goose.NumericComponent(files[len(files)-1]) // Glob sorts
	if err != nil {
		return 0, fmt.Errorf("read migration number: %w", err)
	}
	return version, nil
}

// withGoose is the only use of database/sql: goose wants it, and a migration is no business write.
func withGoose(url string, do func(*goose.Provider) error) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read database URL: %w", err)
	}
	cfg.RuntimeParams["application_name"] = "onefold migrate"
	// A step that waits for a table would make everybody else wait behind it: rather fail and be started again.
	cfg.RuntimeParams["lock_timeout"] = "10000"
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }()
	p, err := newProvider(db)
	if err != nil {
		return err
	}
	return do(p)
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // try each second, 300 times
	if err != nil {
		return nil, fmt.Errorf("make migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}
