package operator_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
)

func TestARefundIsSentOncePerForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	p := b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(40_00), Expected: rub(149_70)})
	require.Equal(t, "refund", b.done(t, p).Result.ResourceType)
	require.True(t, b.done(t, p).Replayed)
	b.work(t)
	require.Equal(t, 1, b.provider.Refunds())
	require.Equal(t, "PARTIALLY_REFUNDED", b.order(t, o.ID))
	require.Equal(t, []string{"DONE", "REPLAYED"}, b.audit(t, o.ID.String()))
}

// TestC37_AStaleFormSendsNothing: two operators open the form, and an old form comes back.
func TestC37_AStaleFormSendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	first := b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(40_00), Expected: rub(149_70)})
	second := b.press(account.Approver, operator.Refund, o.ID.String(), operator.Input{Amount: rub(40_00), Expected: rub(149_70)})
	b.done(t, first)
	require.Equal(t, "BALANCE_CHANGED", b.refused(t, second))
	b.work(t)
	require.Equal(t, "BALANCE_CHANGED", b.refused(t, second), "also an hour later")
	second.Input.Expected = rub(109_70)
	b.done(t, second) // with fresh data it is another wish, under the same form: the refusal bound nothing
	b.work(t)
	require.Equal(t, 2, b.provider.Refunds())
}

func TestMoreThanWasPaidNeverGoesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	b.desk.Limits["RUB"] = 1_000_00
	require.Equal(t, "REFUND_EXCEEDS_PAYMENT", b.refused(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(149_71)})))
	b.done(t, b.press(account.Operator, operator.Refund, o.ID.String())) // all of it
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.Refund, o.ID.String())))
	b.work(t)
	require.Equal(t, "REFUNDED", b.order(t, o.ID))
	require.Equal(t, 1, b.provider.Refunds())
}

func TestAboveTheLimitItTakesTwoPeople(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	// In slices, too: what counts is all that goes back of one payment.
	b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(60_00)}))
	require.Equal(t, "approval", b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(40_01)})).Result.ResourceType)
	b.exec(t, `DELETE FROM approvals`)
	wish := b.press(account.Approver, operator.Refund, o.ID.String(), operator.Input{Amount: rub(80_00)})
	out := b.done(t, wish)
	require.Equal(t, "approval", out.Result.ResourceType)
	require.True(t, b.done(t, wish).Replayed)
	b.work(t)
	require.Equal(t, 1, b.provider.Refunds(), "nothing moves before the second person")

	approval := out.Result.ResourceID
	require.Equal(t, "FORBIDDEN", b.refused(t, b.press(account.Operator, operator.Approve, approval)))
	require.Equal(t, "FOUR_EYES", b.refused(t, b.press(account.Approver, operator.Approve, approval)))
	yes := b.press(account.Admin, operator.Approve, approval)
	require.Equal(t, "refund", b.done(t, yes).Result.ResourceType)
	require.True(t, b.done(t, yes).Replayed)
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Admin, operator.Approve, approval)), "decided")
	b.work(t)
	require.Equal(t, 2, b.provider.Refunds())
	require.Equal(t, "PARTIALLY_REFUNDED", b.order(t, o.ID))

	// The database refuses it, too, whatever the code says.
	_, err := b.db.Exec(t.Context(), `UPDATE approvals SET decided_by = requested_by`)
	require.ErrorContains(t, err, "four_eyes")
}

func TestARejectedWishSendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	approval := b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(120_00)})).Result.ResourceID
	b.done(t, b.press(account.Approver, operator.Reject, approval))
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Admin, operator.Approve, approval)))
	b.work(t)
	require.Zero(t, b.provider.Refunds())
}

// An approval decides on what was asked, with the balance as it was then.
func TestAnApprovalOfAnOldBalanceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	approval := b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(120_00), Expected: rub(149_70)})).Result.ResourceID
	b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(10_00)}))
	require.Equal(t, "BALANCE_CHANGED", b.refused(t, b.press(account.Approver, operator.Approve, approval)))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM approvals WHERE decision IS NULL`), "it can still be rejected")
}

func TestSettlingAnUnknownPayment(t *testing.T) {
	t.Parallel()
	settle := func(t *testing.T, b *bench, o paymenttest.Order, providerID string) string {
		t.Helper()
		b.exec(t, `UPDATE payments SET created_at = created_at - interval '1 hour' WHERE id = $1`, o.PaymentID)
		wish := b.press(account.Operator, operator.SettlePayment, o.PaymentID.String(), operator.Input{Text: providerID})
		approval := b.done(t, wish).Result.ResourceID
		require.Equal(t, "ACTION_WAIT", b.refused(t, b.press(account.Admin, operator.SettlePayment, o.PaymentID.String())), "one proposal at a time")
		b.done(t, b.press(account.Approver, operator.Approve, approval))
		b.work(t)
		var ended string
		paymenttest.Read(t, b.db, `SELECT status || ' ' || coalesce(failure_code, '') FROM operations WHERE type = 'SETTLE_PAYMENT'`, nil, &ended)
		return ended
	}
	t.Run("while it is young it finds out by itself", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		o := b.unknown(t, false)
		require.Equal(t, "ACTION_WAIT", b.refused(t, b.press(account.Operator, operator.SettlePayment, o.PaymentID.String())))
	})
	t.Run("the provider has none", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		o := b.unknown(t, false)
		require.Equal(t, "COMPLETED ", settle(t, b, o, ""))
		require.Equal(t, "FAILED", b.payment(t, o.PaymentID))
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM operations WHERE id = $1 AND status = 'COMPLETED'`, o.Payment), "nobody looks any more")
		require.Equal(t, 1, b.count(t, `SELECT count(*) FROM journal WHERE kind = 'payment.evidence' AND payment_id = $1`, o.PaymentID))
	})
	t.Run("people said none, the provider has it: what it says wins", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		o := b.unknown(t, true)
		b.provider.Say(o.Reference(), provider.Succeeded)
		require.Equal(t, "COMPLETED ", settle(t, b, o, ""))
		require.Equal(t, "SUCCEEDED", b.payment(t, o.PaymentID))
	})
	t.Run("somebody else's payment is not taken for ours", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		other := b.unknown(t, true)
		b.provider.Say(other.Reference(), provider.Succeeded)
		o := b.unknown(t, false)
		theirs := b.provider.Booked()[0].ID
		require.Equal(t, "FAILED reference_mismatch", settle(t, b, o, theirs))
		require.Equal(t, "UNKNOWN", b.payment(t, o.PaymentID))
	})
}

func TestWishesKeepTheirMoneyExactly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	b.done(t, b.press(account.Operator, operator.Refund, o.ID.String(), operator.Input{Amount: rub(120_05)}))
	var input []byte
	paymenttest.Read(t, b.db, `SELECT input FROM approvals`, nil, &input)
	var w struct {
		Amount struct{ Amount, Currency string }
	}
	require.NoError(t, json.Unmarshal(input, &w))
	require.Equal(t, "120.05", w.Amount.Amount)
}
