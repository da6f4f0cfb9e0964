// Package store opens Postgres and runs transactions. It is the only place that begins, commits or rolls back.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Querier runs statements: a pool or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// DB is something that can begin: a pool, or in tests a transaction (then InTx is a savepoint).
type DB interface {
	Querier
	Begin(ctx context.Context) (pgx.Tx, error)
}

// ErrCommitUnknown is returned by InTx when the connection failed while COMMIT was on its way: the transaction may or may
// not be there. Callers run their idempotent function again, or read back by identity (DESIGN rule 14).
var ErrCommitUnknown = errors.New("outcome of commit is unknown")

// Options of a pool. Zero values mean the defaults named here.
type Options struct {
	MaxConns    int32         // default 16
	LockTimeout time.Duration // how long a statement waits for a row lock or a twin; default 2 s
	Name        string        // application_name in pg_stat_activity; default "onefold"
}

// Open makes a pool whose sessions cannot hold locks for ever: statements end after 5 s (or
// a second after the lock timeout), idle transactions after 10 s, and
// the server notices a vanished client. Times are scanned as UTC. The pool connects lazily; use Ping to wait for the server.
func Open(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database URL (DATABASE_URL): %w", err)
	}
	cfg.MaxConns = 16
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	lock := 2 * time.Second
	if o.LockTimeout > 0 {
		lock = o.LockTimeout
	}
	name := "onefold"
	if o.Name != "" {
		name = o.Name
	}
	cfg.MaxConnLifetime = 30 * time.Minute
	cfg.MaxConnLifetimeJitter = 5 * time.Minute
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = name
	params["statement_timeout"] = fmt.Sprint(max(5*time.Second, lock+time.Second).Milliseconds())
	params["lock_timeout"] = fmt.Sprint(lock.Milliseconds())
	params["idle_in_transaction_session_timeout"] = "10000"
	params["client_connection_check_interval"] = "1000"
	params["jit"] = "off" // short statements are not worth compiling, and not every server has the library for it
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	return pool, nil
}

const (
	maxTries     = 5
	finishWithin = 5 * time.Second // COMMIT or rollback
)

// InTx runs fn in one transaction and commits. The whole function runs again if IsRetryable says so (at most
// five times, with jitter), so it must have no effect outside tx. ErrCommitUnknown is never retried here.
// A cancelled ctx stops waiting statements but never the rollback, nor a COMMIT that has nothing else before it: cutting that
// would only make its outcome unknown. A panic of fn passes through after the rollback.
func InTx(ctx context.Context, db DB, fn func(tx pgx.Tx) error) error {
	var err error
	for try := range maxTries {
		if err = once(ctx, db, fn); !IsRetryable(err) {
			return err
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(10<<try))) * time.Millisecond) //nolint:gosec // jitter, not a secret
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
	return err
}

func once(ctx context.Context, db DB, fn func(tx pgx.Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	done := false
	defer func() { // also when fn panics: the connection and its locks go back
		if done {
			return
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		_ = tx.Rollback(clean)
	}()
	if err := fn(tx); err != nil {
		return err
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	err = commitError(tx.Commit(finish))
	done = err == nil
	return err
}

// commitError tells a COMMIT that the server refused from one whose answer was lost.
func commitError(err error) error {
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer), errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("commit: %w", err)
	default:
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
}

// SQLSTATE returns the five-character code of the server's error; "" for anything else.
func SQLSTATE(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// Constraint returns the name of the constraint that refused a row; "" for any other error.
func Constraint(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.ConstraintName
	}
	return ""
}

// IsRetryable reports a serialization failure (40001), a deadlock (40P01), or PostgreSQL's stumble over a row of which an updater is
// just rolling back: one part of it sees the abort a moment before the other (XX000, "new multixact has more than one updating
// member"; seen with 15.18 on a busy machine). Nothing happened; run the transaction again.
func IsRetryable(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	return answer.Code == "40001" || answer.Code == "40P01" ||
		answer.Code == "XX000" && strings.Contains(answer.Message, "more than one updating member")
}

// IsLockTimeout reports that a row lock or a twin's unfinished insert was waited for in vain (55P03).
func IsLockTimeout(err error) bool { return SQLSTATE(err) == "55P03" }

// IsTransient reports a failure of the moment, which says nothing about what was asked: unreachable, retryable, or a lock that
// was waited for in vain.
func IsTransient(err error) bool { return IsUnavailable(err) || IsRetryable(err) || IsLockTimeout(err) }

// IsUnavailable reports that the database could not be reached or is shutting down, as opposed to refusing the statement.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // whatever the server says at the door (too many clients, not accepting connections…)
		return true
	}
	code := SQLSTATE(err)
	if code == "" {
		return errors.Is(err, ErrCommitUnknown) || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) || isCutOff(err)
	}
	switch code[:2] {
	case "08", "53", "57", "58":
		return true
	}
	return code == "25P03" // it ended a session that stood still in a transaction: nothing of it happened
}

// isCutOff reports that an established connection ended without a word of the server, as when its process is killed.
func isCutOff(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network) ||
		pgconn.SafeToRetry(err)
}
