package operator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
)

// atOnce presses everything at the same moment: each press stands before its write until all of them do.
func (b *bench) atOnce(t *testing.T, presses ...operator.Press) (errs []error) {
	t.Helper()
	tx, err := b.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `LOCK cases, case_notes IN SHARE ROW EXCLUSIVE MODE`)
	require.NoError(t, err)
	errs = make([]error, len(presses))
	var all sync.WaitGroup
	for i, p := range presses {
		all.Go(func() { _, errs[i] = b.desk.Press(t.Context(), p) })
	}
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= len(presses)
	}, 10*time.Second, 5*time.Millisecond, "everybody waits to write")
	require.NoError(t, tx.Rollback(t.Context()))
	all.Wait()
	return errs
}

// CASES C12 c: two operators edit one case at once. a, b: e2e/cases_postgres_test.go.
func TestC12_TwoOperatorsEditOneCase(t *testing.T) {
	t.Parallel()
	t.Run("c: note, status and the rest at once: nothing is lost", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		order := b.flagged(t, 1)[0]
		bob := b.person(t, account.Operator)
		text := func(s string) operator.Input { return operator.Input{Text: s, Was: new(string)} }
		presses := []operator.Press{
			b.press(account.Support, operator.AddNote, order.String()), b.press(account.Operator, operator.AddNote, order.String()),
			b.press(account.Support, operator.SetTicket, order.String(), text("T-1")), b.press(account.Operator, operator.SetTags, order.String(), text("vip, late")),
			b.press(account.Approver, operator.Assign, order.String(), operator.Input{Assignee: bob.ID}),
			b.press(account.Admin, operator.Snooze, order.String(), operator.Input{Until: time.Now().Add(time.Hour)}),
		}
		settled := make(chan error, 1)
		go func() {
			_, err := b.desk.Press(t.Context(), b.press(account.Operator, operator.SettleReview, order.String()))
			settled <- err
		}()
		for _, err := range b.atOnce(t, presses...) {
			require.NoError(t, err)
		}
		require.NoError(t, <-settled)
		var ticket, tags string
		paymenttest.Read(t, b.db, `SELECT ticket, array_to_string(tags, ' ') FROM cases WHERE object_id = $1`, []any{order}, &ticket, &tags)
		require.Equal(t, []string{"T-1", "late vip"}, []string{ticket, tags})
		assignee, snoozed := b.given(t, order)
		require.Equal(t, bob.ID, assignee.UUID)
		require.True(t, snoozed)
		require.Equal(t, 2, b.count(t, `SELECT count(*) FROM case_notes WHERE object_id = $1`, order))
		require.Zero(t, b.count(t, `SELECT count(*) FROM orders WHERE id = $1 AND needs_review`, order))
		require.Equal(t, 7, b.count(t, `SELECT count(*) FROM audit_actions WHERE object_id = $1 AND outcome = 'DONE'`, order.String()))
		// Each line tells of its own change only, and one of them of the case's beginning.
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_rows WHERE table_name = 'cases' AND before IS NULL`))
		require.Equal(t, 3, b.count(t, `SELECT count(*) FROM audit_rows WHERE table_name = 'cases' AND before IS NOT NULL
			AND (SELECT count(*) FROM jsonb_object_keys(after) AS k WHERE k NOT IN ('updated_at', 'snoozed_at')) = 1`))
	})
	t.Run("c: both edit the same field: one is told", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		object := uuid.NewString()
		b.done(t, b.press(account.Support, operator.SetTags, object, operator.Input{Text: "vip"}))
		was := "vip"
		errs := b.atOnce(t, b.press(account.Support, operator.SetTags, object, operator.Input{Text: "vip late", Was: &was}),
			b.press(account.Operator, operator.SetTags, object, operator.Input{Text: "vip angry", Was: &was}))
		if errs[0] == nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[1])
		require.ErrorContains(t, errs[0], "Somebody else has changed it")
		require.Equal(t, []string{"DONE", "DONE", "REFUSED"}, b.audit(t, object))
		for _, name := range []operator.Name{operator.SetTicket, operator.Assign} {
			stale := b.press(account.Support, name, object, operator.Input{Text: "T-2", Assignee: b.people[account.Admin].ID, Was: &was})
			require.Equal(t, "CASE_CHANGED", b.refused(t, stale), name)
		}
	})
}
