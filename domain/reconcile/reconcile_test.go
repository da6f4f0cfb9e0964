package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/reconcile"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bench is one order whose payment isn't known: the provider booked it, and the answer was lost.
type bench struct {
	db       store.DB
	provider *paymenttest.Provider
	executor *operation.Executor
	order    paymenttest.Order
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{db: storetest.DB(t), provider: &paymenttest.Provider{}}
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		book()
		return provider.Payment{}, provider.Errorf(provider.Unknown, "connection closed")
	}
	b.executor = &operation.Executor{DB: b.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment: paymenttest.Creator(b.provider).Handler(), payment.WatchPayment: payment.Watcher{Provider: b.provider}.Handler(),
	}}
	b.order = b.unknown(t)
	return b
}

func (b *bench) unknown(t *testing.T) paymenttest.Order {
	t.Helper()
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	require.NoError(t, b.executor.Execute(t.Context(), o.Payment))
	// Its own next look is far away: only a run brings it nearer.
	_, err := b.db.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() + interval '50 minutes' WHERE id = $1`, o.Payment)
	require.NoError(t, err)
	return o
}

func (b *bench) start(t *testing.T, r reconcile.Request) (total int, err error) {
	t.Helper()
	err = store.InTx(t.Context(), b.db, func(tx pgx.Tx) (err error) {
		total, err = reconcile.Start(t.Context(), tx, r)
		return err
	})
	return total, err
}

// look carries on what is due, as relay and workers do.
func (b *bench) look(t *testing.T) {
	t.Helper()
	var due []operation.Due
	require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) (err error) {
		due, err = operation.TakeDue(t.Context(), tx, time.Minute, 100)
		return err
	}))
	for _, d := range due {
		require.NoError(t, b.executor.Execute(t.Context(), d.ID))
	}
}

func (b *bench) record(t *testing.T, id uuid.UUID) (reconcile.Run, []reconcile.Item) {
	t.Helper()
	_, err := reconcile.Record(t.Context(), b.db)
	require.NoError(t, err)
	run, items, err := reconcile.Find(t.Context(), b.db, id, 100)
	require.NoError(t, err)
	return run, items
}

func one(o paymenttest.Order) reconcile.Request {
	return reconcile.Request{ID: uuid.New(), By: operation.System, Scope: reconcile.One, Objects: []uuid.UUID{o.PaymentID}}
}

func TestARunFindsWhatTheProviderKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := one(b.order)
	total, err := b.start(t, r)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	run, items := b.record(t, r.ID)
	require.Nil(t, run.FinishedAt, "nobody has looked yet")
	require.Zero(t, run.Done)
	require.Empty(t, items[0].Result)

	b.look(t)
	run, items = b.record(t, r.ID)
	require.NotNil(t, run.FinishedAt)
	require.Equal(t, 1, run.Changed)
	require.Equal(t, "UNKNOWN", items[0].Before)
	require.Equal(t, "PENDING", items[0].After)
	require.Equal(t, "CHANGED", items[0].Result)
	require.Len(t, b.provider.Booked(), 1)
}

func TestAnItemTellsNoAnswerFromNoKnowledge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.provider.OnFind = func(context.Context, int, provider.Payment, error) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.NotSent, "connection refused")
	}
	r := one(b.order)
	_, err := b.start(t, r)
	require.NoError(t, err)
	b.look(t)
	run, items := b.record(t, r.ID)
	require.Equal(t, 1, run.Unreachable)
	require.Equal(t, "UNREACHABLE", items[0].Result)
	require.Equal(t, "UNKNOWN", items[0].After)

	b.provider.OnFind = func(context.Context, int, provider.Payment, error) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.InProgress, "still running there")
	}
	r = one(b.order)
	_, err = b.start(t, r)
	require.NoError(t, err)
	b.look(t)
	run, _ = b.record(t, r.ID)
	require.Equal(t, 1, run.Unchanged, "asked and answered: not known there either")
}

func TestAnAnswerFromBeforeIsNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := one(b.order)
	_, err := b.start(t, r)
	require.NoError(t, err)
	run, _ := b.record(t, r.ID)
	require.Zero(t, run.Done, "the try before the run isn't its answer")

	// A try that runs while the run begins is one.
	_, err = b.db.Exec(t.Context(), `UPDATE operations SET attempt = attempt + 1, lease_expires_at = now() + interval '1 minute' WHERE id = $1`, b.order.Payment)
	require.NoError(t, err)
	during := one(b.order)
	_, err = b.start(t, during)
	require.NoError(t, err)
	paymenttest.MakeDue(t, b.db)
	b.look(t)
	run, _ = b.record(t, during.ID)
	require.NotNil(t, run.FinishedAt)
}

func TestPressedTwiceIsOneRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := one(b.order)
	_, err := b.start(t, r)
	require.NoError(t, err)
	_, err = b.start(t, r)
	require.ErrorContains(t, err, "reconcile_runs_pkey")
	b.look(t)
	b.look(t)
	run, items := b.record(t, r.ID)
	again, itemsAgain := b.record(t, r.ID)
	require.Equal(t, run, again)
	require.Equal(t, items, itemsAgain)
}

func TestWhatIsFinalIsSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.look(t)
	paymenttest.MakeDue(t, b.db)
	b.look(t) // found: pending
	b.provider.Say(b.order.Reference(), provider.Succeeded)
	paymenttest.MakeDue(t, b.db)
	b.look(t) // watched: succeeded
	r := one(b.order)
	_, err := b.start(t, r)
	require.NoError(t, err)
	run, items := b.record(t, r.ID)
	require.Equal(t, 1, run.Skipped)
	require.Equal(t, "SUCCEEDED", items[0].Before)
	require.NotNil(t, run.FinishedAt)
}

func TestAPendingPaymentIsAskedByItsWatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paymenttest.MakeDue(t, b.db)
	b.look(t)
	b.provider.Say(b.order.Reference(), provider.Succeeded)
	r := one(b.order)
	_, err := b.start(t, r)
	require.NoError(t, err)
	b.look(t)
	run, items := b.record(t, r.ID)
	require.Equal(t, 1, run.Changed, "%+v", items)
	require.Equal(t, "SUCCEEDED", items[0].After)
}

func TestManyAndAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second, third := b.unknown(t), b.unknown(t)
	total, err := b.start(t, reconcile.Request{ID: uuid.New(), By: operation.System, Scope: reconcile.Selected, Objects: []uuid.UUID{second.PaymentID, third.PaymentID}})
	require.NoError(t, err)
	require.Equal(t, 2, total)
	_, err = b.start(t, reconcile.Request{ID: uuid.New(), By: operation.System, Scope: reconcile.Selected, Objects: []uuid.UUID{second.PaymentID, uuid.New()}})
	require.Equal(t, fault.NotFound, fault.KindOf(err), "one of them is nothing")

	all := reconcile.Request{ID: uuid.New(), By: operation.System, Scope: reconcile.Matching}
	total, err = b.start(t, all)
	require.NoError(t, err)
	require.Equal(t, 3, total)
	b.look(t)
	run, _ := b.record(t, all.ID)
	require.Equal(t, 3, run.Changed)

	none := reconcile.Request{ID: uuid.New(), By: operation.System, Scope: reconcile.Matching, Kind: "refund"}
	total, err = b.start(t, none)
	require.NoError(t, err)
	require.Zero(t, total)
	run, _ = b.record(t, none.ID)
	require.NotNil(t, run.FinishedAt, "an empty run is finished")
	runs, err := reconcile.Latest(t.Context(), b.db, 10)
	require.NoError(t, err)
	require.Len(t, runs, 3)
}

func TestTheScheduleStartsOneRunAPeriod(t *testing.T) {
	t.Parallel()
	b := setup(t)
	done := make(chan error)
	for range 5 {
		go func() { done <- reconcile.RunScheduled(context.WithoutCancel(t.Context()), b.db) }()
	}
	for range 5 {
		require.NoError(t, <-done)
	}
	require.NoError(t, reconcile.RunScheduled(t.Context(), b.db))
	runs, err := reconcile.Latest(t.Context(), b.db, 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, reconcile.Schedule, runs[0].Scope)
	require.Equal(t, 1, runs[0].Total)
	require.Empty(t, runs[0].ByEmail)
	now := time.Date(2026, 11, 30, 1, 59, 59, 0, time.UTC)
	require.Equal(t, reconcile.ScheduledID(now), reconcile.ScheduledID(now.Add(-59*time.Minute)))
	require.NotEqual(t, reconcile.ScheduledID(now), reconcile.ScheduledID(now.Add(time.Second)))
}
