package operator_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// flagged makes n orders under review.
func (b *bench) flagged(t *testing.T, n int) (ids []uuid.UUID) {
	t.Helper()
	for range n {
		o := b.unknown(t, false)
		ids = append(ids, o.ID)
	}
	b.exec(t, `UPDATE orders SET needs_review = true, review_reason = 'amount_mismatch' WHERE id = ANY($1)`, ids)
	return ids
}

func (b *bench) batch(t *testing.T, id uuid.UUID) operator.Batch {
	t.Helper()
	batch, _, err := operator.FindBatch(t.Context(), b.db, id, 1)
	require.NoError(t, err)
	return batch
}

func TestABatchDoesTheFrozenSetOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.people[account.Operator]
	ids := b.flagged(t, 30)
	b.exec(t, `UPDATE orders SET needs_review = false, review_reason = NULL WHERE id = $1`, ids[0])
	id, err := b.desk.Preview(t.Context(), who, operator.SettleReview, append(ids, uuid.New()), "all matching")
	require.NoError(t, err)
	batch := b.batch(t, id)
	require.Equal(t, "PREVIEW", batch.Status)
	require.Equal(t, 30, batch.Total, "what doesn't exist isn't in the set")
	require.Equal(t, 1, batch.Skipped, "settled already")
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.Equal(t, 29, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`), "a preview does nothing")

	require.Error(t, b.desk.Confirm(t.Context(), who, id, "", 29), "a reason is needed")
	require.NoError(t, b.desk.Confirm(t.Context(), who, id, "checked with the bank", 0))
	require.NoError(t, b.desk.Confirm(t.Context(), who, id, "pressed twice", 0))
	b.exec(t, `UPDATE orders SET needs_review = false, review_reason = NULL WHERE id = $1`, ids[1]) // changed since the preview
	var steps sync.WaitGroup
	for range 3 { // a job that runs twice, and a rescued one
		steps.Go(func() {
			for range 3 {
				_ = b.desk.Step(t.Context(), id)
			}
		})
	}
	steps.Wait()
	require.NoError(t, b.desk.Step(t.Context(), id))
	batch = b.batch(t, id)
	require.Equal(t, "DONE", batch.Status)
	require.Equal(t, []int{28, 2, 0}, []int{batch.Done, batch.Skipped, batch.Failed})
	require.Zero(t, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
	require.Equal(t, 28, b.count(t, `SELECT count(*) FROM audit_actions WHERE action = 'settle_review' AND outcome = 'DONE' AND reason = 'checked with the bank'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE action = 'batch'`))
}

func TestABatchPausesStopsAndRetriesWhatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.people[account.Operator]
	ids := b.flagged(t, 60)
	id, err := b.desk.Preview(t.Context(), who, operator.SettleReview, ids, "")
	require.NoError(t, err)
	err = b.desk.Confirm(t.Context(), who, id, "because", 59)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "more than 50: their number must be typed")
	require.NoError(t, b.desk.Confirm(t.Context(), who, id, "because", 60))
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.NoError(t, b.desk.Steer(t.Context(), who, id, "pause"))
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.Equal(t, 25, b.batch(t, id).Done)
	require.NoError(t, b.desk.Steer(t.Context(), who, id, "resume"))
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.NoError(t, b.desk.Steer(t.Context(), who, id, "stop"))
	require.NoError(t, b.desk.Steer(t.Context(), who, id, "resume"), "harmless")
	require.NoError(t, b.desk.Step(t.Context(), id))
	batch := b.batch(t, id)
	require.Equal(t, "STOPPED", batch.Status)
	require.Equal(t, 10, batch.Waiting())

	b.exec(t, `UPDATE batch_items SET status = 'FAILED', code = 'INTERNAL', done_at = now() WHERE batch_id = $1 AND status = 'WAITING'`, id)
	again, err := b.desk.RetryFailed(t.Context(), who, id)
	require.NoError(t, err)
	twice, err := b.desk.RetryFailed(t.Context(), who, id)
	require.NoError(t, err)
	require.Equal(t, again, twice)
	require.NoError(t, b.desk.Confirm(t.Context(), who, again, "because", 0))
	require.NoError(t, b.desk.Step(t.Context(), again))
	require.Equal(t, 10, b.batch(t, again).Done)
	require.Zero(t, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
}

func TestWhoMayRunABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.flagged(t, 1)
	_, err := b.desk.Preview(t.Context(), b.people[account.Support], operator.SettleReview, ids, "")
	require.Equal(t, fault.Forbidden, fault.KindOf(err))
	_, err = b.desk.Preview(t.Context(), b.people[account.Admin], operator.Refund, ids, "")
	require.Equal(t, fault.NotFound, fault.KindOf(err), "money isn't sent back in bulk")
	_, err = b.desk.Preview(t.Context(), b.people[account.Admin], operator.SettleReview, nil, "")
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	id, err := b.desk.Preview(t.Context(), b.people[account.Operator], operator.SettleReview, ids, "")
	require.NoError(t, err)
	require.Equal(t, fault.NotFound, fault.KindOf(b.desk.Confirm(t.Context(), b.person(t, account.Operator), id, "mine", 0)), "somebody else's")
	require.NoError(t, b.desk.Confirm(t.Context(), b.people[account.Operator], id, "mine", 0))
	// Whoever loses the role meanwhile does nothing any more.
	b.exec(t, `UPDATE users SET role = 'viewer' WHERE id = $1`, b.people[account.Operator].ID)
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.Equal(t, 1, b.batch(t, id).Failed)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
}
