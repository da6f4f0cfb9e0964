package operator_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// What never gets as far as its press is told, too.
func TestRefusalsOfBatchesAreInTheAudit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who := b.people[account.Support]
	id, err := b.desk.Preview(t.Context(), who, operator.Wish{Action: operator.Reconcile, Objects: []uuid.UUID{b.unknown(t, true).PaymentID}})
	require.NoError(t, err)
	for _, reason := range []string{"", "a\xffb", "a\x00b"} {
		_, err = b.desk.Look(t.Context(), who, id, reason, 0)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%q", reason)
	}
	_, err = b.desk.Look(t.Context(), b.person(t, account.Support), id, "because", 0)
	require.Equal(t, fault.NotFound, fault.KindOf(err), "somebody else's")
	require.Equal(t, fault.NotFound, fault.KindOf(b.desk.Steer(t.Context(), who, id, "explode")))
	_, err = b.desk.RetryFailed(t.Context(), who, id)
	require.Equal(t, fault.NotFound, fault.KindOf(err), "it hasn't ended")
	for range 2 {
		_, err = b.desk.Look(t.Context(), who, id, "because", 0)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"DONE", "REFUSED", "REFUSED", "REFUSED", "REFUSED", "REFUSED"}, b.audit(t, id.String()), "previewed, then five that did nothing")
	require.Equal(t, []string{"DONE", "REPLAYED"}, b.audit(t, operator.Several))
}

// Text that the database can't hold is a refusal like any other, not a failure that leaves no line.
func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	object := uuid.NewString()
	for _, text := range []string{"a\xffb", "a\x00b"} {
		note := b.press(account.Support, operator.AddNote, object)
		note.Reason = text
		for _, p := range []operator.Press{
			note, b.press(account.Support, operator.SetTicket, object, operator.Input{Text: text}), b.press(account.Support, operator.SetTags, object, operator.Input{Text: "a\x00" + text}),
		} {
			require.Equal(t, "VALIDATION_FAILED", b.refused(t, p), "%s %q", p.Action, text)
		}
	}
	require.Equal(t, 6, b.count(t, `SELECT count(*) FROM audit_actions WHERE object_id = $1 AND outcome = 'REFUSED'`, object))
	require.Equal(t, "NOT_FOUND", b.refused(t, b.press(account.Operator, operator.Silence, "NO-NAME")))
	require.Equal(t, []string{"REFUSED"}, b.audit(t, "NO-NAME"))
}

// A line of the audit can't be removed: what a saved page was asked isn't in it.
func TestTheAuditOfAViewTellsThePageOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.desk.SaveView(t.Context(), b.people[account.Support], "mine", "/console/search?q=anna%40example.com", true))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE detail = '{"address": "/console/search", "shared": true}'`))
}
