// Package storetest gives tests a real PostgreSQL. Each test gets a database of its own, cloned from a migrated template.
//
// The server is, in this order: TEST_DATABASE_URL; a container, if Docker is reachable (image ONEFOLD_TEST_IMAGE, default
// "postgres:15"); an embedded one. With ONEFOLD_TEST_REQUIRED=1 there is no third choice: no Docker is a failure.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
package storetest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"onefold/domain/store"
)

// Main runs a package's tests, ends the server if one was started, and fails the package if its tests leave goroutines other
// than the known ones that libraries never end.
func Main(m *testing.M, known ...goleak.Option) {
	inMain = true
	code := m.Run()
	stop()
	if code == 0 {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := goleak.Find(known...); err != nil {
			fmt.Fprintln(os.Stderr, "storetest: the tests leave goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Required reports that nothing may be skipped (ONEFOLD_TEST_REQUIRED=1, as in CI).
func Required() bool { return os.Getenv("ONEFOLD_TEST_REQUIRED") == "1" }

// URL makes a fresh, migrated database, dropped after the test, and returns its address. For tests that start processes or
// want pools of their own.
func URL(tb testing.TB) string {
	tb.Helper()
	return shared(tb).clone(tb)
}

// DB is a pool with the product's own settings on a fresh database.
func DB(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return open(tb, URL(tb))
}

// Tx is a transaction that is rolled back after the test. All such tests of a package share one database: what they write
// is invisible to each other, what they lock is not. now() stands still in it.
func Tx(tb testing.TB) pgx.Tx {
	tb.Helper()
	tx, err := shared(tb).common(tb).Begin(tb.Context())
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := cleanup(tb)
		defer cancel()
		_ = tx.Rollback(ctx)
	})
	return tx
}

func open(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	pool, err := store.Open(tb.Context(), url, store.Options{Name: short(tb.Name())})
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// cleanup is a context for after the test, when its own has ended.
func cleanup(tb testing.TB) (context.Context, context.CancelFunc) {
	tb.Helper()
	return context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
}

// short makes a name that fits Postgres' 63 bytes.
func short(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, name)
	return name[:min(len(name), 40)]
}

var (
	inMain   bool
	once     sync.Once
	running  *server
	errStart error
)

func shared(tb testing.TB) *server {
	tb.Helper()
	if !inMain {
		tb.Fatal("the package needs: func TestMain(m *testing.M) { storetest.Main(m) }")
	}
	once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		running, errStart = start(ctx)
	})
	require.NoError(tb, errStart)
	return running
}

func stop() {
	if running == nil {
		return
	}
	if err := running.close(); err != nil {
		fmt.Fprintln(os.Stderr, "storetest:", err)
	}
}

// clone copies the template and drops the copy after the test, with whatever is still connected to it.
func (s *server) clone(tb testing.TB) string {
	tb.Helper()
	name := prefix + short(tb.Name())[:min(20, len(short(tb.Name())))] + "_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	quoted := pgx.Identifier{name}.Sanitize()
	_, err := s.admin.Exec(tb.Context(), "CREATE DATABASE "+quoted+" TEMPLATE "+pgx.Identifier{s.template}.Sanitize())
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := cleanup(tb)
		defer cancel()
		_, err := s.admin.Exec(ctx, "DROP DATABASE "+quoted+" WITH (FORCE)")
		require.NoError(tb, err)
	})
	return withDatabase(s.url, name)
}
