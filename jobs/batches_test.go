package jobs

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/reconcile"
	"onefold/domain/store"
)

func (b *bench) desk(t *testing.T, role account.Role) (*operator.Desk, account.User) {
	t.Helper()
	who := account.User{ID: uuid.New(), Role: role}
	who.Email = who.ID.String() + "@shop.example"
	_, err := b.db.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, who.ID, who.Email, who.Role)
	require.NoError(t, err)
	run := &operation.Runner{DB: b.db, Retention: time.Hour, Wait: 2 * time.Second}
	return &operator.Desk{Operations: run, Wake: func() {}}, who
}

// A confirmed batch is carried on by whatever workers there are, also when all of its jobs are lost on the way.
func TestABatchRunsByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk, who := b.desk(t, account.Operator)
	var ids []uuid.UUID
	for range 60 {
		ids = append(ids, paymenttest.NewOrder(t, b.db, paymenttest.Wish{}).ID)
	}
	_, err := b.db.Exec(t.Context(), `UPDATE orders SET needs_review = true, review_reason = 'x'`)
	require.NoError(t, err)
	id, err := desk.Preview(t.Context(), who, operator.Wish{Action: operator.SettleReview, Objects: ids})
	require.NoError(t, err)
	require.NoError(t, desk.Confirm(t.Context(), who, id, "checked", 60))

	relay := b.process(t, 0)
	relay.cfg.Step = desk.Step
	b.round(t, relay)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM river_job WHERE kind = 'run_batch'`))
	_, err = b.db.Exec(t.Context(), `DELETE FROM river_job`)
	require.NoError(t, err)
	b.round(t, relay)
	require.Zero(t, b.count(t, `SELECT count(*) FROM river_job WHERE kind = 'run_batch'`), "not due before the lease ends")
	_, err = b.db.Exec(t.Context(), `UPDATE batches SET next_attempt_at = now()`)
	require.NoError(t, err)
	b.stepping = desk.Step
	b.start(t, 2)
	b.start(t, 2)
	b.until(t, "the batch ends", `SELECT status = 'DONE' FROM batches`)
	require.Equal(t, 60, b.count(t, `SELECT count(*) FROM batch_items WHERE status = 'DONE'`))
	require.Equal(t, 60, b.count(t, `SELECT count(*) FROM audit_actions WHERE action = 'settle_review' AND outcome = 'DONE'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
}

// A run makes the next look happen now, and its answers are written down without anybody asking.
func TestARunIsAnsweredByTheWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		book()
		return provider.Payment{}, provider.Errorf(provider.Unknown, "connection closed")
	}
	var reachable atomic.Bool
	b.provider.OnFind = func(_ context.Context, _ int, found provider.Payment, err error) (provider.Payment, error) {
		if reachable.Load() {
			return found, err
		}
		return provider.Payment{}, provider.Errorf(provider.NotSent, "connection refused")
	}
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.start(t, 2)
	b.until(t, "it isn't known", `SELECT status = 'UNKNOWN' FROM payments`)
	look := func() reconcile.Run {
		_, err := b.db.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() + interval '1 hour' WHERE status = 'PROCESSING' AND lease_expires_at IS NULL`)
		require.NoError(t, err)
		id := uuid.New()
		require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
			_, err := reconcile.Start(t.Context(), tx, reconcile.Request{ID: id, By: operation.System, Scope: reconcile.One, Objects: []uuid.UUID{o.PaymentID}})
			return err
		}))
		b.until(t, "the run ends", `SELECT finished_at IS NOT NULL FROM reconcile_runs WHERE id = $1`, id)
		run, _, err := reconcile.Find(t.Context(), b.db, id, 1)
		require.NoError(t, err)
		return run
	}
	require.Equal(t, 1, look().Unreachable)
	reachable.Store(true)
	require.Equal(t, 1, look().Changed)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM reconcile_runs WHERE scope = 'schedule'`), "the hour's own run was begun, once")
}
