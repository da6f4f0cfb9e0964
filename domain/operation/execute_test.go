package operation_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

const kind operation.Type = "TEST_CALL"

func enqueue(t *testing.T, db store.DB, key string) operation.ID {
	t.Helper()
	key = t.Name() + "/" + key // tests that share a database must not wait for each other
	b := &pgx.Batch{}
	operation.Enqueue(b, operation.Plan{Type: kind, Key: key, OrderID: uuid.New(), Trace: "00000000000000000000000000000abc"})
	require.NoError(t, db.SendBatch(t.Context(), b).Close())
	return operation.Identity{User: operation.System, Type: kind, Key: key}.ID()
}

// script is a handler whose call is told what to do.
type script struct {
	lookup, send func(ctx context.Context) error
	sends, looks atomic.Int32
	postponed    []operation.Postponement
	noLookup     bool
}

func (s *script) executor(db store.DB) *operation.Executor {
	done := func(ctx context.Context, tx pgx.Tx) (operation.End, error) {
		_, err := tx.Exec(ctx, `INSERT INTO journal (kind, trace_id) VALUES ('test.effect', 'x')`)
		return operation.Done("thing", "1"), err
	}
	h := operation.Handler{External: func(context.Context, pgx.Tx, operation.Operation) (operation.Call, operation.End, error) {
		call := operation.Call{
			Lookup: func(ctx context.Context) (operation.Record, error) {
				s.looks.Add(1)
				return done, s.lookup(ctx)
			},
			Send: func(ctx context.Context) (operation.Record, error) {
				s.sends.Add(1)
				return done, s.send(ctx)
			},
			Postponed: func(_ context.Context, _ pgx.Tx, p operation.Postponement) error {
				s.postponed = append(s.postponed, p)
				return nil
			},
		}
		if s.noLookup {
			call.Lookup = nil
		}
		return call, operation.End{}, nil
	}}
	return &operation.Executor{DB: db, Handlers: map[operation.Type]operation.Handler{kind: h}, Lease: time.Minute, Owner: "test"}
}

func nothingThere(context.Context) error {
	return provider.Errorf(provider.NotFound, "nothing there")
}

type state struct {
	status   string
	attempt  int
	looks    int
	leased   bool
	sent     bool
	due      bool
	lastErr  string
	failure  string
	expected time.Duration
}

func read(t *testing.T, db store.Querier, id operation.ID) (s state) {
	t.Helper()
	var wait float64
	paymenttest.Read(t, db, `SELECT status, attempt, looks, lease_expires_at IS NOT NULL, sent_at IS NOT NULL, next_attempt_at IS NOT NULL,
		coalesce(last_error, ''), coalesce(failure_code, ''), coalesce(extract(epoch FROM next_attempt_at - clock_timestamp()), 0) FROM operations WHERE id = $1`,
		[]any{id}, &s.status, &s.attempt, &s.looks, &s.leased, &s.sent, &s.due, &s.lastErr, &s.failure, &wait)
	s.expected = time.Duration(wait * float64(time.Second))
	return s
}

func journaled(t *testing.T, db store.Querier, id operation.ID, what string) int {
	t.Helper()
	return paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE operation_id = $1 AND kind = $2`, id, what)
}

func TestEnqueueAgainChangesNothing(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	first := enqueue(t, tx, "once")
	require.Equal(t, first, enqueue(t, tx, "once"))
	require.Equal(t, 1, paymenttest.Count(t, tx, `SELECT count(*) FROM operations WHERE id = $1`, first))
	require.Equal(t, state{status: "PROCESSING", due: true}, withoutTime(read(t, tx, first)))
}

func withoutTime(s state) state {
	s.expected, s.lastErr = 0, ""
	return s
}

func TestAnAnswerEndsTheOperation(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: nothingThere, send: func(context.Context) error { return nil }}
	for range 3 { // a repeated job finds it done
		require.NoError(t, s.executor(db).Execute(t.Context(), id))
	}
	require.Equal(t, state{status: "COMPLETED", attempt: 1, sent: true}, withoutTime(read(t, db, id)))
	require.EqualValues(t, 1, s.sends.Load())
	require.Zero(t, s.looks.Load(), "a first try has nothing to look for")
	require.Equal(t, 1, effects(t, db))
	require.Equal(t, 1, journaled(t, db, id, "operation.completed"))
	require.NoError(t, s.executor(db).Execute(t.Context(), uuid.New()), "an operation that is gone is nobody's")
}

func TestUnknownIsLookedUpBeforeItIsRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lookup       error
		status       string
		sends, looks int32
	}{
		"found":            {nil, "COMPLETED", 1, 1},
		"not found":        {provider.Errorf(provider.NotFound, "none"), "PROCESSING", 2, 1},
		"lookup down":      {provider.Errorf(provider.NotSent, "refused"), "PROCESSING", 1, 1},
		"lookup uncertain": {provider.Errorf(provider.Unknown, "reset"), "PROCESSING", 1, 1},
		"lookup limited":   {provider.Errorf(provider.RateLimited, "429"), "PROCESSING", 1, 1},
		"lookup forbidden": {provider.Errorf(provider.Auth, "401"), "PROCESSING", 1, 1},
		"lookup foreign":   {errors.New("a defect of the adapter"), "PROCESSING", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Tx(t)
			id := enqueue(t, db, "once")
			s := &script{
				lookup: func(context.Context) error { return c.lookup },
				send:   func(context.Context) error { return provider.Errorf(provider.Unknown, "reset by peer") },
			}
			require.NoError(t, s.executor(db).Execute(t.Context(), id))
			require.Equal(t, state{status: "PROCESSING", attempt: 1, looks: 1, sent: true, due: true}, withoutTime(read(t, db, id)))
			require.NoError(t, s.executor(db).Execute(t.Context(), id), "a job may come early, the lease is free")
			require.Equal(t, c.status, read(t, db, id).status)
			require.Equal(t, c.sends, s.sends.Load())
			require.Equal(t, c.looks, s.looks.Load())
			for _, p := range s.postponed {
				require.True(t, p.AnyTry, "once sent, it may have happened, whatever a later try proves")
			}
		})
	}
}

func TestOnlyAFirstTryThatDidNothingForgetsThatItWasSent(t *testing.T) {
	t.Parallel()
	for _, k := range []provider.Kind{
		provider.NotSent, provider.RateLimited, provider.Auth, provider.Unknown, provider.InProgress, provider.KeyReused, provider.Garbage, provider.NotFound,
	} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			db := storetest.Tx(t)
			id := enqueue(t, db, "once")
			s := &script{lookup: nothingThere, send: func(context.Context) error { return provider.Errorf(k, "x") }}
			nothing := k == provider.NotSent || k == provider.RateLimited || k == provider.Auth
			require.NoError(t, s.executor(db).Execute(t.Context(), id))
			require.Equal(t, !nothing, read(t, db, id).sent)
			require.NoError(t, s.executor(db).Execute(t.Context(), id))
			require.Equal(t, !nothing, read(t, db, id).sent)
			require.Equal(t, nothing, s.looks.Load() == 0, "nothing to look for if nothing was sent")
			require.Equal(t, operation.Postponement{ThisTry: !nothing, AnyTry: !nothing}, s.postponed[1])
			require.Equal(t, 2, journaled(t, db, id, "operation.postponed"))
		})
	}
}

// A job that waited in its queue longer than the lease finds that the row was carried on meanwhile: it makes no further look.
func TestALeftoverJobIsNotALook(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	lost := func(context.Context) error { return provider.Errorf(provider.Unknown, "lost") }
	s := &script{lookup: lost, send: lost}
	x := s.executor(db)
	id := enqueue(t, db, "k")
	require.NoError(t, x.Execute(t.Context(), id))
	_, err := db.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() + interval '1 hour' WHERE id = $1`, id)
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, x.Execute(t.Context(), id))
	}
	require.EqualValues(t, 1, s.sends.Load())
	require.Zero(t, s.looks.Load())
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT looks FROM operations WHERE id = $1`, id))
}

func TestProvidersAdviceIsHeard(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: nothingThere, send: func(context.Context) error {
		return &provider.Error{Kind: provider.RateLimited, RetryAfter: 90 * time.Second}
	}}
	require.NoError(t, s.executor(db).Execute(t.Context(), id))
	require.InDelta(t, 90, read(t, db, id).expected.Seconds(), 5)
}

// A crash after the lease leaves a row that may have been sent: the next owner looks first.
func TestALeaseThatRanOutIsLookedUp(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: func(context.Context) error { return nil }, send: func(context.Context) error { return nil }}
	_, err := db.Exec(t.Context(), `UPDATE operations SET attempt = 1, sent_at = now(), lease_expires_at = now() + interval '1 hour', next_attempt_at = now()`)
	require.NoError(t, err)
	require.NoError(t, s.executor(db).Execute(t.Context(), id))
	require.Equal(t, 1, read(t, db, id).attempt, "somebody else's lease")
	paymenttest.MakeDue(t, db)
	require.NoError(t, s.executor(db).Execute(t.Context(), id))
	require.Equal(t, "COMPLETED", read(t, db, id).status)
	require.Zero(t, s.sends.Load())
	require.EqualValues(t, 1, s.looks.Load())
}

// A process that was frozen past its lease comes back with an answer: it changes nothing, and says so.
func TestALateOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]error{"second owner ended it": nil, "second owner still waits": provider.Errorf(provider.Unknown, "x")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.DB(t)
			id := enqueue(t, db, "once")
			calling, thaw, late := make(chan struct{}), make(chan struct{}), make(chan error)
			frozen := &script{lookup: nothingThere, send: func(context.Context) error {
				close(calling)
				<-thaw
				return nil
			}}
			go func() { late <- frozen.executor(db).Execute(t.Context(), id) }()
			<-calling
			paymenttest.MakeDue(t, db)
			other := &script{lookup: nothingThere, send: func(context.Context) error { return second }}
			require.NoError(t, other.executor(db).Execute(t.Context(), id))
			before := withoutTime(read(t, db, id))
			close(thaw)
			require.NoError(t, <-late)
			require.Equal(t, before, withoutTime(read(t, db, id)))
			require.Equal(t, 2, before.attempt)
			require.Equal(t, 1, journaled(t, db, id, "operation.late_owner"))
			want := 0
			if second == nil {
				want = 1
			}
			require.Equal(t, want, effects(t, db))
		})
	}
}

func TestAnEventSettlesWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: nothingThere, send: func(context.Context) error {
		return store.InTx(t.Context(), db, func(tx pgx.Tx) error {
			return operation.Settle(t.Context(), tx, operation.Operation{ID: id}, operation.Done("thing", "by event"))
		})
	}}
	require.NoError(t, s.executor(db).Execute(t.Context(), id))
	require.Equal(t, "COMPLETED", read(t, db, id).status)
	require.Zero(t, effects(t, db))
	require.Equal(t, 1, journaled(t, db, id, "operation.already_settled"))
	require.Equal(t, 1, journaled(t, db, id, "operation.completed"))
}

func TestSettlingTwiceKeepsTheFirstEnd(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := enqueue(t, tx, "once")
	op := operation.Operation{ID: id}
	require.NoError(t, operation.Settle(t.Context(), tx, op, operation.End{Status: operation.Failed, FailureCode: "FIRST"}))
	require.NoError(t, operation.Settle(t.Context(), tx, op, operation.Done("thing", "2")))
	require.Equal(t, state{status: "FAILED", failure: "FIRST"}, withoutTime(read(t, tx, id)))
	require.Equal(t, 1, journaled(t, tx, id, "operation.failed"))
	require.Zero(t, journaled(t, tx, id, "operation.completed"))
}

func TestTenJobsOfOneOperationAreOneCall(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: nothingThere, send: func(context.Context) error { return nil }}
	errs := make([]error, 10)
	together(10, func(i int) { errs[i] = s.executor(db).Execute(t.Context(), id) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, s.sends.Load())
	require.Equal(t, 1, effects(t, db))
}

// A worker that is told to stop during the call still keeps what the call taught.
func TestStoppedDuringTheCall(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	id := enqueue(t, db, "once")
	ctx, stop := context.WithCancel(t.Context())
	s := &script{noLookup: true, send: func(ctx context.Context) error {
		stop()
		return provider.Errorf(provider.Unknown, "interrupted: %w", ctx.Err())
	}}
	require.NoError(t, s.executor(db).Execute(ctx, id))
	require.Equal(t, state{status: "PROCESSING", attempt: 1, looks: 1, sent: true, due: true}, withoutTime(read(t, db, id)))
}

func TestAFailingRecordLeavesTheLeaseToRunOut(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	broken := errors.New("database is away")
	h := operation.Handler{External: func(context.Context, pgx.Tx, operation.Operation) (operation.Call, operation.End, error) {
		return operation.Call{Send: func(context.Context) (operation.Record, error) {
			return func(context.Context, pgx.Tx) (operation.End, error) { return operation.End{}, broken }, nil
		}}, operation.End{}, nil
	}}
	x := &operation.Executor{DB: db, Handlers: map[operation.Type]operation.Handler{kind: h}, Lease: time.Minute}
	require.ErrorIs(t, x.Execute(t.Context(), id), broken)
	got := read(t, db, id)
	require.True(t, got.leased && got.sent && got.due)
	require.InDelta(t, 60, got.expected.Seconds(), 5)
	require.NoError(t, x.Execute(t.Context(), id), "leased: nobody calls again before the lease ends")
	require.Equal(t, 1, read(t, db, id).attempt)
}

func TestAnyErrorTextCanBeKept(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	s := &script{lookup: nothingThere, send: func(context.Context) error { return provider.Errorf(provider.Unknown, "garbage \x00\xff") }}
	require.NoError(t, s.executor(db).Execute(t.Context(), id))
	got := read(t, db, id)
	require.Equal(t, 1, got.looks)
	require.Contains(t, got.lastErr, "garbage")
}

func TestAnUnknownTypeStaysDue(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	id := enqueue(t, db, "once")
	x := &operation.Executor{DB: db, Lease: time.Minute}
	require.Error(t, x.Execute(t.Context(), id))
	require.Equal(t, state{status: "PROCESSING", due: true}, withoutTime(read(t, db, id)))
}

func TestTakeDueTwiceIsNotTwice(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for _, key := range []string{"a", "b", "c"} {
		enqueue(t, db, key)
	}
	take := func() (due []operation.Due) {
		require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) (err error) {
			due, err = operation.TakeDue(t.Context(), tx, time.Minute, 2)
			return err
		}))
		return due
	}
	require.Len(t, take(), 2)
	require.Len(t, take(), 1)
	require.Empty(t, take())
	paymenttest.MakeDue(t, db)
	first, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer first.Rollback(t.Context())
	mine, err := operation.TakeDue(t.Context(), first, time.Minute, 2)
	require.NoError(t, err)
	require.Len(t, mine, 2)
	require.Len(t, take(), 1, "a second relay doesn't wait for the first")
}

func TestBackoffGrowsAndStaysBelowAnHour(t *testing.T) {
	t.Parallel()
	for n, base := range map[int]time.Duration{0: 500 * time.Millisecond, 1: time.Second, 7: 64 * time.Second, 13: time.Hour, 1000: time.Hour} {
		for range 100 {
			require.InDelta(t, base.Seconds(), operation.Backoff(n).Seconds(), base.Seconds()*0.21)
		}
	}
}
