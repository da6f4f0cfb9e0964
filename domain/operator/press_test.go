package operator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
)

func TestAnActionIsDoneOncePerForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	p := b.press(account.Support, operator.Reconcile, o.PaymentID.String())
	first := b.done(t, p)
	again := b.done(t, p)
	require.False(t, first.Replayed)
	require.True(t, again.Replayed)
	require.Equal(t, first.Result, again.Result)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM reconcile_runs`))
	require.Equal(t, []string{"DONE", "REPLAYED"}, b.audit(t, o.PaymentID.String()))

	changed := p
	changed.Reason = "another one"
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", b.refused(t, changed))
	require.Equal(t, []string{"DONE", "REPLAYED", "REFUSED"}, b.audit(t, o.PaymentID.String()))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM reconcile_runs`))
}

func TestTwoPressesAtOneMomentAreOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	p := b.press(account.Support, operator.Reconcile, o.PaymentID.String())
	var done sync.WaitGroup
	start, failed := make(chan struct{}), make(chan error, 8)
	for range 8 {
		done.Go(func() {
			<-start
			_, err := b.desk.Press(context.WithoutCancel(t.Context()), p)
			failed <- err
		})
	}
	close(start)
	done.Wait()
	for range 8 {
		require.NoError(t, <-failed)
	}
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM reconcile_runs`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE outcome = 'DONE'`))
	require.Equal(t, 7, b.count(t, `SELECT count(*) FROM audit_actions WHERE outcome = 'REPLAYED'`))
}

func TestAFormOutlivesItsOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	p := b.press(account.Support, operator.Reconcile, o.PaymentID.String())
	b.done(t, p)
	b.exec(t, `DELETE FROM operations WHERE type = 'OPERATOR_RECONCILE'`) // as retention does
	require.Equal(t, "IDEMPOTENCY_KEY_EXPIRED", b.refused(t, p))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM reconcile_runs`))
}

// nothing is an object of an action's form that doesn't exist.
func nothing(k operator.Kind) string {
	switch k.Object {
	case "job":
		return "999999999"
	case "alarm":
		return "no_such_alarm"
	}
	return uuid.NewString()
}

// Every action, as every role: the server decides, whatever a page shows.
func TestRolesDecide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, k := range operator.Kinds() {
		object := nothing(k)
		for role, who := range b.people {
			p := b.press(role, k.Name, object)
			code := b.refusedOrDone(t, p)
			if who.Role.AtLeast(k.Role) {
				require.NotEqual(t, "FORBIDDEN", code, "%s as %s", k.Name, role)
				continue
			}
			require.Equal(t, "FORBIDDEN", code, "%s as %s", k.Name, role)
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE user_id = $1 AND action = $2 AND outcome = 'REFUSED' AND code = 'FORBIDDEN'`, who.ID, k.Name))
		}
	}
}

func (b *bench) refusedOrDone(t *testing.T, p operator.Press) string {
	t.Helper()
	_, err := b.desk.Press(t.Context(), p)
	e, _ := fault.Of(err)
	if err == nil || e == nil {
		require.NoError(t, err)
		return ""
	}
	return e.Code
}

func TestAReasonIsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, k := range operator.Kinds() {
		if !k.Reason {
			continue
		}
		p := b.press(account.Admin, k.Name, nothing(k))
		p.Reason = " \t"
		require.Equal(t, "VALIDATION_FAILED", b.refused(t, p), k.Name)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, k := range operator.Kinds() {
		for _, object := range []string{"", "nonsense", "'; --", uuid.NewString(), "999999999"} {
			if k.Object == "case" && object == "" || (k.Object == "case" && uuid.Validate(object) == nil) {
				continue // words about any ID are welcome
			}
			require.Equal(t, "NOT_FOUND", b.refused(t, b.press(account.Admin, k.Name, object)), "%s %q", k.Name, object)
		}
	}
}

func TestALiveLeaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	b.exec(t, `UPDATE operations SET lease_expires_at = now() + interval '40 seconds', attempt = 7 WHERE id = $1`, o.Payment)
	p := b.press(account.Operator, operator.Recover, o.Payment.String())
	require.Equal(t, "ACTION_WAIT", b.refused(t, p))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM operations WHERE id = $1 AND attempt = 7 AND lease_expires_at > now()`, o.Payment))

	b.exec(t, `UPDATE operations SET lease_expires_at = now() - interval '1 second' WHERE id = $1`, o.Payment)
	b.done(t, p) // the refusal bound nothing to the form
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM operations WHERE id = $1 AND next_attempt_at <= now() AND attempt = 7`, o.Payment))
	b.work(t)
	require.Equal(t, "PENDING", b.payment(t, o.PaymentID))
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.Recover, o.Payment.String())))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_rows WHERE table_name = 'operations' AND before ? 'lease_expires_at' AND after ->> 'lease_expires_at' IS NULL`))
}

func TestOffersShowWhatThePressWouldFind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	offers, err := operator.Offers(t.Context(), b.db, b.people[account.Support], "payment", o.PaymentID.String())
	require.NoError(t, err)
	found := map[operator.Name]operator.Offer{}
	for _, offer := range offers {
		found[offer.Name] = offer
	}
	require.Equal(t, operator.Safe, found[operator.Reconcile].Verdict)
	require.True(t, found[operator.Reconcile].Allowed)
	require.Equal(t, operator.Wait, found[operator.SettlePayment].Verdict)
	require.Equal(t, "finds_out_by_itself", found[operator.SettlePayment].Guard)
	require.False(t, found[operator.SettlePayment].Allowed)
	require.Equal(t, operator.Unsafe, found[operator.SettleOrphan].Verdict)
}

func TestTheAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.unknown(t, true)
	b.done(t, b.press(account.Operator, operator.Recover, o.Payment.String()))
	for _, sql := range []string{
		`UPDATE audit_actions SET reason = 'x'`, `DELETE FROM audit_actions`, `TRUNCATE audit_actions CASCADE`,
		`UPDATE audit_rows SET before = NULL`, `DELETE FROM audit_rows`, `TRUNCATE audit_rows`,
	} {
		_, err := b.db.Exec(t.Context(), sql)
		require.Equal(t, "42501", store.SQLSTATE(err), sql)
	}
}

func TestWordsAboutAThing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	note := b.press(account.Support, operator.AddNote, o.ID.String())
	b.done(t, note)
	b.done(t, note)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM case_notes WHERE object_id = $1 AND text = 'because'`, o.ID))

	b.done(t, b.press(account.Support, operator.Assign, o.ID.String(), operator.Input{Assignee: b.people[account.Operator].ID}))
	require.Equal(t, "VALIDATION_FAILED", b.refused(t, b.press(account.Support, operator.Assign, o.ID.String(), operator.Input{Assignee: b.people[account.Shopper].ID})))
	b.done(t, b.press(account.Support, operator.SetTicket, o.ID.String(), operator.Input{Text: "  HELP-17 "}))
	b.done(t, b.press(account.Support, operator.SetTags, o.ID.String(), operator.Input{Text: "Bank, vip bank"}))
	until := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	b.done(t, b.press(account.Support, operator.Snooze, o.ID.String(), operator.Input{Until: until}))
	require.Equal(t, "VALIDATION_FAILED", b.refused(t, b.press(account.Support, operator.Snooze, o.ID.String(), operator.Input{Until: time.Now().Add(-time.Hour)})))
	var ticket string
	var tags []string
	var assignee uuid.UUID
	var snoozed time.Time
	paymenttest.Read(t, b.db, `SELECT ticket, tags, assignee, snoozed_until FROM cases WHERE object_id = $1`, []any{o.ID}, &ticket, &tags, &assignee, &snoozed)
	require.Equal(t, "HELP-17", ticket)
	require.Equal(t, []string{"bank", "vip"}, tags)
	require.Equal(t, b.people[account.Operator].ID, assignee)
	require.WithinDuration(t, until, snoozed, 0)
	b.done(t, b.press(account.Support, operator.Snooze, o.ID.String()))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM cases WHERE snoozed_until IS NULL`))
}
