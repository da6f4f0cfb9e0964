package operator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

func (b *bench) event(t *testing.T, id, payload string) inbox.Receipt {
	t.Helper()
	r, err := inbox.Receive(trace.Start(t.Context(), ""), b.db, paymenttest.Name, provider.Event{ID: id, Type: "payment.succeeded", ObjectID: "pay_1"}, []byte(payload))
	require.NoError(t, err)
	return r
}

func TestAQuarantinedEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.event(t, "evt_1", "{}")
	b.exec(t, `UPDATE incoming_events SET status = 'QUARANTINED', reason = 'amount_mismatch', processed_at = now(), next_attempt_at = NULL, attempts = 3`)
	id := r.ID.String()
	b.done(t, b.press(account.Operator, operator.Reprocess, id))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED' AND attempts = 0 AND next_attempt_at <= now()`))
	b.exec(t, `UPDATE incoming_events SET status = 'APPLIED', processed_at = now(), next_attempt_at = NULL`)
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.Reprocess, id)), "it is dealt with")
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.SettleEvent, id)))

	// Another payload under a known ID is never applied, but people may say that they have seen it.
	other := b.event(t, "evt_1", `{"other":true}`).ID.String()
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.Reprocess, other)))
	b.done(t, b.press(account.Operator, operator.SettleEvent, other))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM incoming_events WHERE id = $1 AND settled_at IS NOT NULL AND status = 'QUARANTINED'`, other))
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.SettleEvent, other)), "settled")
}

func TestAParkedOutboxEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	var id string
	paymenttest.Read(t, b.db, `SELECT id::text FROM outbox_events WHERE order_id = $1 AND event_type = 'ORDER_PAID'`, []any{o.ID}, &id)
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.Redispatch, id)), "dispatched")
	b.exec(t, `UPDATE outbox_events SET dispatched_at = NULL, parked_at = now(), attempts = 8 WHERE id = $1::text::uuid`, id)
	require.Equal(t, "FORBIDDEN", b.refused(t, b.press(account.Operator, operator.SettleOutbox, id)), "skipping takes an approver")
	p := b.press(account.Operator, operator.Redispatch, id)
	b.done(t, p)
	require.True(t, b.done(t, p).Replayed)
	require.Equal(t, "ACTION_WAIT", b.refused(t, b.press(account.Operator, operator.Redispatch, id)), "due by itself")
	b.work(t)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM outbox_events WHERE id = $1::text::uuid AND dispatched_at IS NOT NULL AND parked_at IS NULL`, id))
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM licenses`), "a second dispatch gives nothing twice")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM bonus_entries`))
	require.Len(t, b.mail.Accepted(), 1)
}

// TestC33_ALicenceMailAgain: an operator's wish is an intent of its own; a repeat of it isn't.
func TestC33_ALicenceMailAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	require.Len(t, b.mail.Accepted(), 1)
	p := b.press(account.Support, operator.ResendMail, o.ID.String())
	b.done(t, p)
	require.Equal(t, "ACTION_WAIT", b.refused(t, b.press(account.Support, operator.ResendMail, o.ID.String())), "one is on its way")
	b.work(t)
	require.True(t, b.done(t, p).Replayed)
	b.work(t)
	mails := b.mail.Accepted()
	require.Len(t, mails, 2)
	require.Equal(t, mails[0].Text, mails[1].Text, "the same keys")
	require.NotEqual(t, mails[0].ID, mails[1].ID)
	b.done(t, b.press(account.Support, operator.ResendMail, o.ID.String()))
	b.work(t)
	require.Len(t, b.mail.Accepted(), 3)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM licenses`))
	require.Equal(t, "FULFILLED", b.order(t, o.ID))
}

func TestAMailThatCouldNotBeSentIsReplacedByAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mail.OnSend = func(_ context.Context, n int, accept func()) error {
		if n == 1 {
			return &provider.Error{Kind: provider.Rejected, Code: "550", Err: errors.New("no such mailbox")}
		}
		accept()
		return nil
	}
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{Email: "ann@example.com"})
	b.work(t)
	b.provider.Say(o.Reference(), provider.Succeeded)
	paymenttest.MakeDue(t, b.db)
	b.work(t)
	require.Equal(t, "FULFILLED", b.order(t, o.ID))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM operations op WHERE status = 'FAILED' AND NOT `+fulfilment.Superseded))
	b.done(t, b.press(account.Support, operator.ResendMail, o.ID.String()))
	b.work(t)
	require.Zero(t, b.count(t, `SELECT count(*) FROM operations op WHERE status = 'FAILED' AND NOT `+fulfilment.Superseded))
}

func TestAFailureIsSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	var id string
	paymenttest.Read(t, b.db, `SELECT id::text FROM operations WHERE order_id = $1 AND type = 'SEND_NOTIFICATION'`, []any{o.ID}, &id)
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.SettleFailure, id)))
	b.exec(t, `UPDATE operations SET status = 'FAILED', failure_code = 'MAIL_REFUSED' WHERE id = $1::text::uuid`, id)
	b.done(t, b.press(account.Operator, operator.SettleFailure, id))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM operations WHERE id = $1::text::uuid AND settled_at IS NOT NULL`, id))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_rows WHERE row_id = $1 AND after ? 'settled_at' AND (SELECT count(*) FROM jsonb_object_keys(after)) = 1`, id))
}

func TestAReviewIsSettledAndComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.paid(t)
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.SettleReview, o.ID.String())))
	for range 2 {
		b.exec(t, `UPDATE orders SET needs_review = true, review_reason = 'amount_mismatch' WHERE id = $1`, o.ID)
		b.done(t, b.press(account.Operator, operator.SettleReview, o.ID.String()))
		require.Zero(t, b.count(t, `SELECT count(*) FROM orders WHERE needs_review`))
	}
}

func TestAnOperatorCancels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, &provider.Error{Kind: provider.Rejected, Code: "card_declined"}
	}
	b.work(t)
	p := b.press(account.Operator, operator.CancelOrder, o.ID.String())
	require.Equal(t, "FORBIDDEN", b.refused(t, operator.Press{Actor: b.people[account.Support], Action: p.Action, Object: p.Object, Key: p.Key, Reason: p.Reason}))
	b.desk.Operations.Wait = 1
	require.Equal(t, "OPERATION_IN_PROGRESS", b.refused(t, p), "begun; the executor carries it on")
	b.work(t)
	require.Equal(t, "CANCELED", b.order(t, o.ID))
	require.True(t, b.done(t, p).Replayed)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM audit_actions WHERE outcome = 'DONE' AND action = 'cancel_order'`))
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Operator, operator.CancelOrder, o.ID.String())))
}

func TestTwoOrdersAlikeAreShownNeverBlocked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.paid(t), b.paid(t)
	twin := func(hash string) {
		for _, o := range []paymenttest.Order{first, second} {
			b.exec(t, `INSERT INTO operations (id, user_id, type, key, request_hash, status, resource_type, resource_id, trace_id, completed_at)
				SELECT operation_id, user_id, 'CREATE_ORDER', id::text, $2 || CASE WHEN $2 = 'differs' THEN id::text ELSE '' END, 'COMPLETED', 'order', id::text, 't', now() FROM orders WHERE id = $1
				ON CONFLICT (id) DO UPDATE SET request_hash = excluded.request_hash`, o.ID, hash)
		}
		b.exec(t, `INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id) VALUES ($1, $2, 'ORDER_PLACED', $3, 't')`, uuid.New(), uuid.NewString(), second.ID)
		b.work(t)
	}
	twin("differs")
	require.Zero(t, b.count(t, `SELECT count(*) FROM possible_duplicates`))
	twin("same") // other users, the same mail address
	twin("same")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM possible_duplicates WHERE order_id = $1 AND earlier_id = $2`, second.ID, first.ID))

	require.Equal(t, "VALIDATION_FAILED", b.refused(t, b.press(account.Support, operator.JudgeDuplicate, second.ID.String())))
	p := b.press(account.Support, operator.JudgeDuplicate, second.ID.String(), operator.Input{Text: checkout.OnPurpose})
	b.done(t, p)
	twin("same")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM possible_duplicates WHERE verdict = 'on_purpose' AND settled_by = $1`, b.people[account.Support].ID), "it doesn't return once settled")
	require.Equal(t, "ACTION_UNSAFE", b.refused(t, b.press(account.Support, operator.JudgeDuplicate, second.ID.String(), operator.Input{Text: checkout.TechnicalRetry})))
}
