package operation_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store/storetest"
)

func TestRunTwiceThenWithOtherContent(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	r := runner(db)
	first, err := r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	require.NoError(t, err)
	require.False(t, first.Replayed)

	again, err := r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.Result, again.Result)
	require.Equal(t, first.TraceID, again.TraceID)

	_, err = r.Run(t.Context(), claimOf("K", "v1:b"), effect)
	e, _ := fault.Of(err)
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", e.Code)
	require.Equal(t, fault.KeyReused, e.Kind)
	require.Equal(t, first.ID.String(), e.OperationID)

	require.Equal(t, 1, effects(t, db))
	require.Equal(t, 1, rows(t, db))
	for _, kind := range []string{"operation.replayed", "operation.key_reused"} {
		require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = $1 AND operation_id = $2`, kind, first.ID))
	}
}

func TestScopeIsUserTypeTargetAndKey(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	base := claimOf("K", "v1:a")
	others := []operation.Claim{base, base, base, base, base}
	others[1].Identity.User = uuid.NameSpaceURL
	others[2].Identity.Type = "OTHER"
	others[3].Identity.Target = "order:1"
	others[4].Identity.Key = "k"
	seen := map[string]bool{}
	for _, c := range others {
		out, err := runner(db).Run(t.Context(), c, effect)
		require.NoError(t, err)
		require.False(t, out.Replayed)
		seen[out.Result.Body] = true
	}
	require.Len(t, seen, len(others))
	require.Equal(t, len(others), effects(t, db))
}

func TestFiftyTwinsAreOneEffect(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	outs, errs := make([]operation.Outcome, 50), make([]error, 50)
	together(50, func(i int) { outs[i], errs[i] = runner(db).Run(t.Context(), claimOf("K", "v1:a"), effect) })
	firsts := 0
	for i := range outs {
		require.NoError(t, errs[i])
		require.Equal(t, outs[0].Result, outs[i].Result)
		if !outs[i].Replayed {
			firsts++
		}
	}
	require.Equal(t, 1, firsts)
	require.Equal(t, 1, effects(t, db))
	require.Equal(t, 49, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = 'operation.replayed'`))
}

// A winner that refuses binds nothing: each of its twins may try, and none of them is told that the key was used otherwise.
func TestTwinsOfARolledBackWinnerTryThemselves(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for round := range 30 {
		key := uuid.NewString()
		var tries atomic.Int32
		errs := make([]error, 12)
		together(len(errs), func(i int) {
			_, errs[i] = runner(db).Run(t.Context(), claimOf(key, "v1:a"), func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
				if n := tries.Add(1); n < 12 {
					return operation.Result{}, fault.Validation()
				}
				return effect(tx, op)
			})
		})
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
				continue
			}
			require.Equal(t, fault.Invalid, fault.KindOf(err), "round %d: %v", round, err)
		}
		require.Equal(t, 1, done)
	}
	require.Equal(t, 30, effects(t, db))
}

func TestErrorsBindNothing(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for _, refusal := range []error{
		fault.Validation(fault.Field{Field: "x"}), fault.Missing("thing"), fault.New(fault.Conflict, "CART_CHANGED", "x"),
		fault.New(fault.Unavailable, "SOLD_OUT", "a final code of another kind"), errors.New("defect"),
	} {
		_, err := runner(db).Run(t.Context(), claimOf("K", "v1:a"), func(pgx.Tx, *operation.Running) (operation.Result, error) {
			return operation.Result{}, refusal
		})
		require.ErrorIs(t, err, refusal)
		require.Zero(t, rows(t, db))
	}
	out, err := runner(db).Run(t.Context(), claimOf("K", "v1:other content"), effect)
	require.NoError(t, err)
	require.False(t, out.Replayed)
}

func TestFinalRefusalIsTheKeysResult(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	runs := 0
	refuse := func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		runs++
		_, err := effect(tx, op)
		require.NoError(t, err)
		return operation.Result{}, fault.New(fault.Conflict, "SOLD_OUT", "None left.")
	}
	first, err := runner(db).Run(t.Context(), claimOf("K", "v1:a"), refuse)
	require.NoError(t, err)
	require.Equal(t, "SOLD_OUT", first.Failure.Code)
	require.False(t, first.Replayed)
	for range 2 {
		again, err := runner(db).Run(t.Context(), claimOf("K", "v1:a"), effect)
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, first.Failure, again.Failure)
	}
	_, err = runner(db).Run(t.Context(), claimOf("K", "v1:b"), effect)
	require.Equal(t, fault.KeyReused, fault.KindOf(err))
	require.Equal(t, 1, runs)
	require.Zero(t, effects(t, db), "what the refused try did is rolled back")
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = 'operation.failed'`))
}

func TestTwinsOfAFinalRefusal(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	outs, errs := make([]operation.Outcome, 20), make([]error, 20)
	together(20, func(i int) {
		outs[i], errs[i] = runner(db).Run(t.Context(), claimOf("K", "v1:a"), func(pgx.Tx, *operation.Running) (operation.Result, error) {
			return operation.Result{}, fault.New(fault.Conflict, "SOLD_OUT", "None left.")
		})
	})
	for i := range outs {
		require.NoError(t, errs[i])
		require.Equal(t, outs[0].Failure, outs[i].Failure)
	}
	require.Equal(t, 1, rows(t, db))
}

// While the first request runs, other content is refused at once and the same content waits for a bounded time.
func TestWhileTheFirstRuns(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	r := runner(db)
	r.Wait = 300 * time.Millisecond
	running, finish, ended := make(chan struct{}), make(chan struct{}), make(chan operation.Outcome)
	go func() {
		out, err := r.Run(t.Context(), claimOf("K", "v1:a"), func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
			close(running)
			<-finish
			return effect(tx, op)
		})
		if err == nil {
			ended <- out
		}
		close(ended)
	}()
	<-running

	start := time.Now()
	_, err := r.Run(t.Context(), claimOf("K", "v1:b"), effect)
	require.Equal(t, fault.KeyReused, fault.KindOf(err))
	require.Less(t, time.Since(start), r.Wait, "it didn't wait")

	start = time.Now()
	_, err = r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	e, _ := fault.Of(err)
	require.Equal(t, "OPERATION_IN_PROGRESS", e.Code)
	require.Positive(t, e.RetryAfter)
	require.NotEmpty(t, e.OperationID)
	require.GreaterOrEqual(t, time.Since(start), r.Wait)
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = 'operation.in_progress'`))

	close(finish)
	first := <-ended
	require.NotEqual(t, uuid.Nil, first.ID)
	again, err := r.Run(t.Context(), claimOf("K", "v1:a"), effect)
	require.NoError(t, err)
	require.Equal(t, first.Result, again.Result)
	require.Equal(t, 1, effects(t, db))
}

func TestAWaitingTwinGetsTheWinnersResult(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"winner commits": nil, "winner rolls back": fault.Validation()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.DB(t)
			running, finish := make(chan struct{}), make(chan struct{})
			winner, twin := make(chan error), make(chan operation.Outcome)
			go func() {
				_, err := runner(db).Run(t.Context(), claimOf("K", "v1:a"), func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
					close(running)
					<-finish
					out, _ := effect(tx, op)
					return out, refusal
				})
				winner <- err
			}()
			<-running
			go func() {
				out, _ := runner(db).Run(t.Context(), claimOf("K", "v1:a"), effect)
				twin <- out
			}()
			blocked(t, db, 1)
			close(finish)
			require.ErrorIs(t, <-winner, refusal)
			out := <-twin
			require.NotEmpty(t, out.Result.Body)
			require.Equal(t, refusal == nil, out.Replayed)
			require.Equal(t, 1, effects(t, db))
		})
	}
}

// A row lock that somebody else holds is not a twin: the answer is 503, and the key stays free.
func TestLockTimeoutInWorkBindsNothing(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	_, err := db.Exec(t.Context(), `INSERT INTO promo_codes (code, percent_off, max_uses) VALUES ('HELD', 10, 1)`)
	require.NoError(t, err)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `UPDATE promo_codes SET uses = 1`)
	require.NoError(t, err)

	needsIt := func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '50ms'`); err != nil {
			return operation.Result{}, err
		}
		if _, err := tx.Exec(t.Context(), `UPDATE promo_codes SET uses = 1`); err != nil {
			return operation.Result{}, err
		}
		return effect(tx, op)
	}
	_, err = runner(db).Run(t.Context(), claimOf("K", "v1:a"), needsIt)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Zero(t, rows(t, db))
	require.NoError(t, holder.Rollback(t.Context()))
	out, err := runner(db).Run(t.Context(), claimOf("K", "v1:a"), needsIt)
	require.NoError(t, err)
	require.False(t, out.Replayed)
}
