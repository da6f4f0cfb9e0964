package operator_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
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
	id, err := b.desk.Preview(t.Context(), who, operator.Wish{Action: operator.SettleReview, Objects: append(ids, uuid.New()), Filter: "all matching"})
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
	require.Equal(t, []string{"DONE", "REFUSED", "DONE", "REPLAYED"}, b.audit(t, id.String()), "previewed, started without a reason, started, pressed again")
}

func TestABatchPausesStopsAndRetriesWhatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.people[account.Operator]
	ids := b.flagged(t, 60)
	id, err := b.desk.Preview(t.Context(), who, operator.Wish{Action: operator.SettleReview, Objects: ids})
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
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE object_id = $1 AND action = 'batch_resume' AND outcome = 'REPLAYED'`, id))
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
	_, err := b.desk.Preview(t.Context(), b.people[account.Support], operator.Wish{Action: operator.SettleReview, Objects: ids})
	require.Equal(t, fault.Forbidden, fault.KindOf(err))
	_, err = b.desk.Preview(t.Context(), b.people[account.Admin], operator.Wish{Action: operator.Refund, Objects: ids})
	require.Equal(t, fault.NotFound, fault.KindOf(err), "money isn't sent back in bulk")
	_, err = b.desk.Preview(t.Context(), b.people[account.Admin], operator.Wish{Action: operator.SettleReview})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	id, err := b.desk.Preview(t.Context(), b.people[account.Operator], operator.Wish{Action: operator.SettleReview, Objects: ids})
	require.NoError(t, err)
	require.Equal(t, fault.NotFound, fault.KindOf(b.desk.Confirm(t.Context(), b.person(t, account.Operator), id, "mine", 0)), "somebody else's")
	require.NoError(t, b.desk.Confirm(t.Context(), b.people[account.Operator], id, "mine", 0))
	// Whoever loses the role meanwhile does nothing any more.
	b.exec(t, `UPDATE users SET role = 'viewer' WHERE id = $1`, b.people[account.Operator].ID)
	require.NoError(t, b.desk.Step(t.Context(), id))
	require.Equal(t, 1, b.batch(t, id).Failed)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
}

// given reads who looks after a thing, and whether it is hidden from its queue.
func (b *bench) given(t *testing.T, object uuid.UUID) (assignee uuid.NullUUID, snoozed bool) {
	t.Helper()
	paymenttest.Read(t, b.db, `SELECT max(assignee::text)::uuid, coalesce(bool_or(snoozed_until > now()), false) FROM cases WHERE object_id = $1`, []any{object}, &assignee, &snoozed)
	return assignee, snoozed
}

func TestABatchAssignsAndSnoozesWithWhatItWasTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who, bob := b.people[account.Support], b.people[account.Viewer]
	ids := append(b.flagged(t, 2), uuid.New()) // two orders, and a thing without one
	run := func(w operator.Wish) operator.Batch {
		id, err := b.desk.Preview(t.Context(), who, w)
		require.NoError(t, err)
		require.Equal(t, "PREVIEW", b.batch(t, id).Status)
		for range 2 { // pressed twice, run twice
			require.NoError(t, b.desk.Confirm(t.Context(), who, id, "his week", 0))
			require.NoError(t, b.desk.Step(t.Context(), id))
		}
		return b.batch(t, id)
	}
	first := run(operator.Wish{Action: operator.Assign, Objects: ids, Input: operator.Input{Assignee: bob.ID}})
	require.Equal(t, []int{3, 3, 0}, []int{first.Total, first.Done, first.Failed})
	require.Equal(t, bob.Email, first.Assignee)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	second := run(operator.Wish{Action: operator.Snooze, Objects: ids, Input: operator.Input{Until: until}})
	require.Equal(t, 3, second.Done)
	require.True(t, until.Equal(second.Input.Until))
	for _, id := range ids {
		assignee, snoozed := b.given(t, id)
		require.Equal(t, bob.ID, assignee.UUID)
		require.True(t, snoozed)
		require.Equal(t, []string{"DONE", "DONE"}, b.audit(t, id.String()), "a line for each row of each batch")
	}
	require.Equal(t, []string{"DONE", "DONE", "REPLAYED"}, b.audit(t, first.ID.String()), "previewed, started, pressed again")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE object_id = $1 AND detail @> jsonb_build_object('assignee', $2::text)`, first.ID, bob.Email))
	run(operator.Wish{Action: operator.Assign, Objects: ids})
	assignee, _ := b.given(t, ids[0])
	require.False(t, assignee.Valid, "nobody, and the other column stays")

	for field, w := range map[string]operator.Wish{
		"assignee": {Action: operator.Assign, Objects: ids, Input: operator.Input{Assignee: b.people[account.Shopper].ID}},
		"until":    {Action: operator.Snooze, Objects: ids, Input: operator.Input{Until: time.Now().Add(31 * 24 * time.Hour)}},
	} {
		_, err := b.desk.Preview(t.Context(), who, w)
		e, ok := fault.Of(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, field, e.Fields[0].Field)
	}
	// What was right when it was previewed may not be any more.
	late, err := b.desk.Preview(t.Context(), who, operator.Wish{Action: operator.Snooze, Objects: ids, Input: operator.Input{Until: until}})
	require.NoError(t, err)
	b.exec(t, `UPDATE batches SET input = jsonb_build_object('Until', '2026-01-01T00:00:00Z') WHERE id = $1`, late)
	require.Equal(t, fault.Invalid, fault.KindOf(b.desk.Confirm(t.Context(), who, late, "later", 0)))
	require.Equal(t, []string{"DONE", "REFUSED"}, b.audit(t, late.String()))
	gone, err := b.desk.Preview(t.Context(), who, operator.Wish{Action: operator.Assign, Objects: ids, Input: operator.Input{Assignee: bob.ID}})
	require.NoError(t, err)
	require.NoError(t, b.desk.Confirm(t.Context(), who, gone, "his week", 0))
	b.exec(t, `UPDATE users SET role = 'shopper' WHERE id = $1`, bob.ID)
	require.NoError(t, b.desk.Step(t.Context(), gone))
	require.Equal(t, 3, b.batch(t, gone).Failed, "no thing is given to somebody who can't see it")
	again, err := b.desk.RetryFailed(t.Context(), who, gone)
	require.NoError(t, err)
	require.Equal(t, bob.ID, b.batch(t, again).Input.Assignee, "a retry was told the same")
}
