package refund_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/refund"
)

// look carries refunds on as if their time had come.
func (b *bench) look(t *testing.T) {
	t.Helper()
	paymenttest.MakeDue(t, b.db)
	b.work(t, refund.CreateRefund)
}

func unknown() facts {
	return facts{Order: "PAID", Payments: "SUCCEEDED", Refunded: "0", Refunds: "UNKNOWN", Operations: "PROCESSING"}
}

func refunded() facts {
	return facts{Order: "REFUNDED", Payments: "REFUNDED", Refunded: "1000", Refunds: "SUCCEEDED", Operations: "COMPLETED"}
}

// C14 f, a: booked, and the answer lost. The next look adopts it.
func TestC14f_TheAnswerIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.fault(t, "refunds.create", "drop_after")
	b.refund(t, id, "")
	require.Equal(t, unknown(), b.facts(t, id))
	_, err := b.ask(t, id, "another", "1.00")
	require.Equal(t, "REFUND_EXCEEDS_PAYMENT", code(t, err), "what may have happened is spent")
	b.clean(t)
	b.look(t)
	require.Equal(t, refunded(), b.facts(t, id))
	require.Len(t, b.booked(t), 1)
	status, _ := b.hear(t, b.hook(t))
	require.Equal(t, inbox.NoChange, status)
	b.relay(t)
	b.work(t, fulfilment.ReverseEffects)
	b.clean(t)
}

// C14 f, b: the lookup sees nothing yet, and the same key is busy there.
func TestC14f_TheSameKeyIsBusy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.fault(t, "refunds.create", "drop_after", `,"times":1`)
	b.refund(t, id, "")
	b.fault(t, "refunds.get", "not_found", `,"times":2`)
	b.fault(t, "refunds.create", "busy", `,"times":1`)
	b.look(t)
	require.Equal(t, unknown(), b.facts(t, id))
	b.look(t)
	require.Equal(t, refunded(), b.facts(t, id), "the same key found the first call's refund")
	require.Len(t, b.booked(t), 1)
}

// C14 f, c: the same error for that key for ever, and the refund is booked. The lookup finds it.
func TestC14f_StickyErrorBooked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.fault(t, "refunds.create", "error_sticky", `,"booked":true,"status":500`)
	b.refund(t, id, "")
	require.Equal(t, unknown(), b.facts(t, id))
	b.look(t)
	require.Equal(t, refunded(), b.facts(t, id))
	require.Len(t, b.booked(t), 1)
}

// C14 f, d: the same error for ever, and nothing is booked. Only conclusive lookups end it; then the money may be sent again.
func TestC14f_StickyErrorNothingBooked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.executor.ConclusiveAfter = time.Nanosecond
	id := b.paid(t)
	b.fault(t, "refunds.create", "error_sticky", `,"status":500,"times":1`)
	b.refund(t, id, "")
	for range 2 {
		b.look(t)
		require.Equal(t, unknown(), b.facts(t, id))
	}
	for range 3 {
		b.look(t)
	}
	require.Equal(t, facts{Order: "PAID", Payments: "SUCCEEDED", Refunded: "0", Refunds: "FAILED", Operations: "FAILED"}, b.facts(t, id))
	require.Empty(t, b.booked(t))
	b.clean(t)
	b.refund(t, id, "")
	f := b.facts(t, id)
	require.Equal(t, []string{"REFUNDED", "FAILED SUCCEEDED"}, []string{f.Order, f.Refunds})
	require.Len(t, b.booked(t), 1)
}

// C15 for refunds: "not found" and an outage prove nothing.
func TestC15_NotFoundIsNoProof(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.fault(t, "refunds.create", "drop_after", `,"times":1`)
	b.refund(t, id, "")
	b.fault(t, "refunds.get", "not_found", `,"times":3`)
	b.fault(t, "refunds.create", "error_before", `,"times":3,"status":503`)
	for range 3 {
		b.look(t)
		require.Equal(t, unknown(), b.facts(t, id))
	}
	errs := make([]error, 2)
	paymenttest.MakeDue(t, b.db)
	ids := b.running(t, refund.CreateRefund)
	together(2, func(i int) { errs[i] = b.newExecutor().Execute(t.Context(), ids[0]) })
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.Equal(t, refunded(), b.facts(t, id))
	require.Len(t, b.booked(t), 1)
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_REFUNDED'`))
}

// The worker dies between the call and the record. The next owner adopts what the call left; the dead one, if it comes back,
// changes nothing.
func TestTheNextOwnerAdopts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	called, open := make(chan struct{}), make(chan struct{})
	b.provider.called, b.provider.open = called, open
	_, err := b.ask(t, id, "k", "")
	require.NoError(t, err)
	ids, done := b.running(t, refund.CreateRefund), make(chan error, 1)
	go func() { done <- b.executor.Execute(t.Context(), ids[0]) }()
	<-called
	require.NoError(t, b.newExecutor().Execute(t.Context(), ids[0]), "the lease still holds: nothing happens")
	require.Equal(t, "SUBMITTING", b.facts(t, id).Refunds)
	paymenttest.MakeDue(t, b.db)
	require.NoError(t, b.newExecutor().Execute(t.Context(), ids[0]))
	require.Equal(t, refunded(), b.facts(t, id))
	close(open)
	require.NoError(t, <-done)
	require.Equal(t, refunded(), b.facts(t, id))
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'operation.late_owner'`))
	require.Len(t, b.booked(t), 1)
	b.relay(t)
	b.work(t, fulfilment.ReverseEffects)
	b.clean(t)
}

// The provider refuses: known, nothing moved, and the money may be sent another time.
func TestARefusedRefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.fault(t, "refunds.create", "reject")
	b.refund(t, id, "")
	require.Equal(t, facts{Order: "PAID", Payments: "SUCCEEDED", Refunded: "0", Refunds: "FAILED", Operations: "FAILED"}, b.facts(t, id))
	var why string
	paymenttest.Read(t, b.db, `SELECT failure_code FROM refunds`, nil, &why)
	require.NotEmpty(t, why)
	b.clean(t)
}

// A refund that the provider hasn't decided is looked at until it has; whichever comes first, the webhook or the look.
func TestARefundThatTakesItsTime(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"succeed", "fail"} {
		for _, by := range []string{"webhook", "look"} {
			t.Run(end+" by "+by, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				id := b.paid(t)
				b.fault(t, "refunds.create", "pending")
				b.refund(t, id, "")
				waiting := facts{Order: "PAID", Payments: "SUCCEEDED", Refunded: "0", Refunds: "SUBMITTING", Operations: "PROCESSING"}
				for range 2 {
					require.Equal(t, waiting, b.facts(t, id))
					b.clean(t)
					b.look(t)
				}
				var providerID string
				paymenttest.Read(t, b.db, `SELECT provider_refund_id FROM refunds`, nil, &providerID)
				b.control(t, "/control/refunds/"+providerID+"/"+end, "")
				body := b.hook(t)
				if by == "look" {
					b.look(t)
				}
				for range 2 {
					b.hear(t, again(t, body))
				}
				b.look(t)
				want := refunded()
				if end == "fail" {
					want = facts{Order: "PAID", Payments: "SUCCEEDED", Refunded: "0", Refunds: "FAILED", Operations: "FAILED"}
				}
				require.Equal(t, want, b.facts(t, id))
				b.relay(t)
				b.work(t, fulfilment.ReverseEffects)
				b.clean(t)
			})
		}
	}
}

// The provider takes back what it said: no step back, and a person looks where the money is.
func TestALateFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.refund(t, id, "4.00")
	before := b.facts(t, id)
	failure := reworded(t, b.hook(t), map[string]any{"type": "refund.failed"}, map[string]any{"status": "failed"})
	for range 2 {
		status, reason := b.hear(t, again(t, failure))
		require.Equal(t, []any{inbox.Stale, "refund_is_SUCCEEDED"}, []any{status, reason})
	}
	before.Review = "refund_failed_after_succeeded"
	require.Equal(t, before, b.facts(t, id))
}

// An answer about another amount is no answer: nothing is booked, a person is told, and the money counts as spent.
func TestAnAnswerThatContradicts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	_, err := b.ask(t, id, "k", "4.00")
	require.NoError(t, err)
	reference := ""
	paymenttest.Read(t, b.db, `SELECT id::text FROM refunds`, nil, &reference)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"3.00","currency":"RUB"},"reference":"`+reference+`"}`)
	b.exec(t, `UPDATE operations SET sent_at = now() WHERE type = 'CREATE_REFUND'`) // as if an earlier call had done it
	b.work(t, refund.CreateRefund)
	require.Equal(t, facts{
		Order: "PAID", Review: "amount_mismatch", Payments: "SUCCEEDED", Refunded: "0", Refunds: "UNKNOWN", Operations: "FAILED",
	}, b.facts(t, id))
	_, err = b.ask(t, id, "rest", "6.01")
	require.Equal(t, "REFUND_EXCEEDS_PAYMENT", code(t, err))
	b.clean(t)
}
