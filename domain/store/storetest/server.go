package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/store"
	"onefold/jobs/riverschema"
	"onefold/migrations"
)

// prefix marks every database that tests make.
const prefix = "onefold_test_"

type server struct {
	url      string // of any database that is not a test's
	admin    *pgxpool.Pool
	template string
	end      func() error // ends what start began

	commonOnce sync.Once
	commonPool *pgxpool.Pool
	commonName string
}

func start(ctx context.Context) (*server, error) {
	s, err := source(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// source finds the server, see the package's comment.
func source(ctx context.Context) (*server, error) {
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		note("TEST_DATABASE_URL")
		return &server{url: given, end: func() error { return nil }}, nil
	}
	s, err := container(ctx)
	if err == nil {
		return s, nil
	}
	if Required() {
		return nil, fmt.Errorf("ONEFOLD_TEST_REQUIRED=1 wants the tests to run on a container: %w", err)
	}
	note("embedded PostgreSQL (no container: " + err.Error() + ")")
	return embedded(ctx)
}

func note(what string) { fmt.Fprintln(os.Stderr, "storetest: database from", what) }

func (s *server) prepare(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(s.url)
	if err != nil {
		return fmt.Errorf("read database URL: %w", err)
	}
	cfg.MaxConns = 4
	if s.admin, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return s.makeTemplate(ctx)
}

// makeTemplate migrates one database that all clones are copied from. It is kept under a name made from the migrations, so a
// server that stays (or one that several packages use at once) pays for it only when they change.
func (s *server) makeTemplate(ctx context.Context) error {
	version, err := fingerprint()
	if err != nil {
		return err
	}
	s.template = prefix + "template_" + version
	return pgx.BeginFunc(ctx, s.admin, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(5814000002)`); err != nil {
			return fmt.Errorf("wait for template: %w", err)
		}
		var there bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, s.template).Scan(&there)
		if err != nil || there {
			return err
		}
		return s.migrate(ctx)
	})
}

// migrate works under another name first: a template that exists is complete.
func (s *server) migrate(ctx context.Context) error {
	unfinished := prefix + "unfinished"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + unfinished + " WITH (FORCE)", "CREATE DATABASE " + unfinished} {
		if _, err := s.admin.Exec(ctx, sql); err != nil {
			return fmt.Errorf("make template: %w", err)
		}
	}
	u := withDatabase(s.url, unfinished)
	if err := store.Migrate(ctx, u); err != nil {
		return err
	}
	if err := riverschema.Migrate(ctx, u); err != nil {
		return err
	}
	if _, err := s.admin.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+s.template); err != nil {
		return fmt.Errorf("name template: %w", err)
	}
	return nil
}

// fingerprint changes with every change of a migration file and of River's schema.
func fingerprint() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintln(hash, path, len(content))
		hash.Write(content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	river, err := riverschema.Newest()
	if err != nil {
		return "", err
	}
	fmt.Fprintln(hash, "river", river)
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// common is the database that all Tx of this process share.
func (s *server) common(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	s.commonOnce.Do(func() {
		ctx := context.WithoutCancel(tb.Context())
		name := fmt.Sprintf("%scommon_%d_%d", prefix, os.Getpid(), time.Now().UnixNano())
		_, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+s.template)
		require.NoError(tb, err)
		s.commonName = name
		s.commonPool, err = store.Open(ctx, withDatabase(s.url, name), store.Options{MaxConns: 32, Name: "storetest"})
		require.NoError(tb, err)
	})
	require.NotNil(tb, s.commonPool, "the database for transactions could not be made")
	return s.commonPool
}

func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if s.commonPool != nil {
		s.commonPool.Close()
	}
	if s.admin != nil {
		if s.commonName != "" {
			_, _ = s.admin.Exec(ctx, "DROP DATABASE "+s.commonName+" WITH (FORCE)") // the next start drops leftovers
		}
		s.admin.Close()
	}
	return s.end()
}

func withDatabase(address, name string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return address + " dbname=" + name // keyword form
	}
	u.Path = "/" + name
	return u.String()
}
