package refund_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/refund"
)

// C23: one refund booked twice, or the running total taken as the amount. The steps build on each other.
func TestC23_OneRefundIsBookedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.fulfilled(t)
	var first []byte
	t.Run("1 the webhook is faster than our commit", func(t *testing.T) {
		called, open := make(chan struct{}), make(chan struct{})
		b.provider.called, b.provider.open = called, open
		_, err := b.ask(t, id, "two", "2.00")
		require.NoError(t, err)
		ids, done := b.running(t, refund.CreateRefund), make(chan error, 1)
		go func() { done <- b.executor.Execute(t.Context(), ids[0]) }()
		<-called
		first = b.hook(t)
		status, _ := b.hear(t, first)
		require.Equal(t, inbox.Applied, status)
		close(open)
		require.NoError(t, <-done)
		require.Equal(t, facts{
			Order: "PARTIALLY_REFUNDED", Payments: "PARTIALLY_REFUNDED", Refunded: "200", Refunds: "SUCCEEDED", Operations: "COMPLETED",
		}, b.facts(t, id))
		require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'operation.already_settled'`))
	})
	t.Run("2 redelivered", func(t *testing.T) {
		before := b.facts(t, id)
		b.hear(t, first)
		status, _ := b.hear(t, again(t, first))
		require.Equal(t, inbox.NoChange, status)
		require.Equal(t, before, b.facts(t, id))
	})
	t.Run("3 and 4 a cumulative figure, before the first is redelivered", func(t *testing.T) {
		b.refund(t, id, "3.00")
		second := reworded(t, b.hook(t), nil, map[string]any{"refundedTotal": map[string]any{"amount": "5.00", "currency": "RUB"}})
		status, _ := b.hear(t, second)
		require.Equal(t, inbox.NoChange, status, "the answer was faster")
		b.hear(t, again(t, first))
		f := b.facts(t, id)
		require.Equal(t, []string{"500", "SUCCEEDED SUCCEEDED"}, []string{f.Refunded, f.Refunds})
	})
	t.Run("5 exactly as much again, on purpose", func(t *testing.T) {
		b.refund(t, id, "3.00")
		b.hear(t, b.hook(t))
		require.Equal(t, "800", b.facts(t, id).Refunded)
		b.clean(t)
	})
	t.Run("6 more than is left", func(t *testing.T) {
		before := b.facts(t, id)
		for range 2 {
			_, err := b.ask(t, id, "three too many", "3.00")
			require.Equal(t, "REFUND_EXCEEDS_PAYMENT", code(t, err))
		}
		require.Equal(t, before, b.facts(t, id))
		require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE key = 'three too many'`), "nothing is bound to the key")
		require.Len(t, b.booked(t), 3)
		licenses, points, entries := b.given(t, id)
		require.Equal(t, []int{2, 10, 1}, []int{licenses, points, entries}, "a part takes nothing back")
	})
	t.Run("7 made in the provider's dashboard", func(t *testing.T) {
		b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"2.00","currency":"RUB"}}`)
		body := b.hook(t)
		status, _ := b.hear(t, body)
		require.Equal(t, inbox.Applied, status)
		for range 2 {
			status, _ = b.hear(t, again(t, body))
			require.Equal(t, inbox.NoChange, status)
		}
		require.Equal(t, facts{
			Order: "REFUNDED", Payments: "REFUNDED", Refunded: "1000", Refunds: "SUCCEEDED SUCCEEDED SUCCEEDED SUCCEEDED",
			Operations: "COMPLETED COMPLETED COMPLETED COMPLETED",
		}, b.facts(t, id))
		require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM refunds WHERE external AND amount_minor = 200`))
		require.Equal(t, []string{"2.00", "3.00", "3.00", "2.00"}, b.booked(t))
		for range 2 {
			b.relay(t)
			b.work(t, fulfilment.ReverseEffects)
		}
		licenses, points, entries := b.given(t, id)
		require.Equal(t, []int{0, 0, 2}, []int{licenses, points, entries})
		b.clean(t)
	})
}

// Twenty events about one refund made outside, at the same moment.
func TestAnExternalRefundIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"4.00","currency":"RUB"}}`)
	body := b.hook(t)
	events := make([]uuid.UUID, 20)
	for i := range events {
		one := again(t, body)
		e, err := b.provider.Translate(one)
		require.NoError(t, err)
		r, err := inbox.Receive(t.Context(), b.db, "sim", e, one)
		require.NoError(t, err)
		events[i] = r.ID
	}
	errs := make([]error, len(events))
	together(len(events), func(i int) { errs[i] = b.applier.Apply(t.Context(), events[i]) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM incoming_events WHERE event_type = 'refund.succeeded' AND status = 'APPLIED'`))
	require.Equal(t, "400", b.facts(t, id).Refunded)
	b.clean(t)
}

// What outside says too much is set aside, and a person is told.
func TestRefundEventsThatContradict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for reason, object := range map[string]map[string]any{
		"amount_mismatch":        {"amount": map[string]any{"amount": "2.01", "currency": "RUB"}},
		"currency_mismatch":      {"amount": map[string]any{"amount": "2.00", "currency": "USD"}},
		"other_payment_refunded": {"paymentId": "pay_other"},
		"second_provider_refund": {"id": "ref_other"},
	} {
		id := b.paid(t)
		b.refund(t, id, "2.00")
		before := b.facts(t, id)
		status, why := b.hear(t, reworded(t, again(t, b.hook(t)), nil, object))
		require.Equal(t, inbox.Quarantined, status, reason)
		require.Equal(t, reason, why)
		before.Review = reason
		require.Equal(t, before, b.facts(t, id))
	}
	id := b.paid(t)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"10.00","currency":"RUB"}}`)
	body := b.hook(t)
	status, why := b.hear(t, reworded(t, again(t, body), nil, map[string]any{"amount": map[string]any{"amount": "10.01", "currency": "RUB"}}))
	require.Equal(t, []any{inbox.Quarantined, "refund_exceeds_payment"}, []any{status, why})
	require.Equal(t, facts{Order: "PAID", Review: "refund_exceeds_payment", Payments: "SUCCEEDED", Refunded: "0"}, b.facts(t, id))
	status, _ = b.hear(t, body)
	require.Equal(t, inbox.Applied, status, "a contradiction doesn't stop the truth")
	b.relay(t)
	b.work(t, fulfilment.ReverseEffects)
	b.clean(t)
}

// A refund made outside while ours is on its way: ours no longer fits, the provider says so, and a person is told.
func TestOutsideAndOursTogetherAreTooMuch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	_, err := b.ask(t, id, "all", "")
	require.NoError(t, err)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"2.00","currency":"RUB"}}`)
	b.hear(t, b.hook(t))
	require.Equal(t, "refund_exceeds_payment", b.facts(t, id).Review)
	b.clean(t)
	b.work(t, refund.CreateRefund)
	require.Equal(t, facts{
		Order: "PARTIALLY_REFUNDED", Review: "refund_exceeds_payment", Payments: "PARTIALLY_REFUNDED", Refunded: "200",
		Refunds: "FAILED SUCCEEDED", Operations: "FAILED COMPLETED",
	}, b.facts(t, id))
	require.Len(t, b.booked(t), 1)
	b.clean(t)
}

// An event about a refund of a payment that isn't ours waits, and is set aside.
func TestARefundOfAnUnknownPayment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.refund(t, id, "1.00")
	body := reworded(t, again(t, b.hook(t)), nil, map[string]any{"id": "ref_stranger", "paymentId": "pay_stranger", "reference": uuid.NewString()})
	status, reason := b.hear(t, body)
	require.Equal(t, []any{inbox.Received, "waiting_for_object"}, []any{status, reason})
	status, reason = b.hear(t, body)
	require.Equal(t, []any{inbox.Quarantined, "unknown_object"}, []any{status, reason})
}

// Events about refunds at every step of the payment: the payment's own success may come later.
func TestAnExternalRefundBeforeThePaymentsSuccess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.placed(t)
	b.control(t, "/control/payments/"+b.providerID(t, id, 1)+"/succeed", "")
	success := b.hook(t)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"10.00","currency":"RUB"}}`)
	back := b.hook(t)
	status, _ := b.hear(t, back)
	require.Equal(t, inbox.Received, status, "it waits")
	b.hear(t, success)
	status, _ = b.hear(t, back)
	require.Equal(t, inbox.Applied, status)
	require.Equal(t, "REFUNDED", b.facts(t, id).Order)
	b.relay(t)
	b.work(t, fulfilment.ReverseEffects, fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification)
	licenses, points, _ := b.given(t, id)
	require.Zero(t, licenses+points)
	b.clean(t)
}

// C22 for REFUNDED: whatever comes late changes nothing, and says so.
func TestC22_LateNewsOfARefundedOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.placed(t)
	b.control(t, "/control/payments/"+b.providerID(t, id, 1)+"/succeed", "")
	success := b.hook(t)
	b.hear(t, success)
	b.relay(t)
	b.work(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification)
	b.refund(t, id, "")
	b.relay(t)
	b.work(t, fulfilment.ReverseEffects)
	want := b.facts(t, id)
	require.Equal(t, "REFUNDED", want.Order)
	reserved := paymenttest.Count(t, b.db, `SELECT reserved FROM products WHERE id = 'five'`)
	b.hear(t, success)
	for range 2 {
		status, reason := b.hear(t, again(t, success))
		require.Equal(t, []any{inbox.Stale, "payment_is_REFUNDED"}, []any{status, reason})
	}
	status, reason := b.hear(t, reworded(t, again(t, success), map[string]any{"type": "payment.canceled"}, map[string]any{"status": "canceled"}))
	require.Equal(t, []any{inbox.Stale, "payment_is_REFUNDED"}, []any{status, reason})
	b.relay(t)
	b.work(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification, fulfilment.ReverseEffects)
	require.Equal(t, want, b.facts(t, id))
	licenses, points, entries := b.given(t, id)
	require.Equal(t, []int{0, 0, 2}, []int{licenses, points, entries})
	require.Equal(t, reserved, paymenttest.Count(t, b.db, `SELECT reserved FROM products WHERE id = 'five'`))
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM notifications`))
	b.clean(t)
}

// C32 b: cancel, expiry and refund of one order: one reversal, and the balance is back where it was.
func TestC32b_OneReversal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.fulfilled(t)
	b.refund(t, id, "")
	body := b.hook(t)
	_, err := b.desk.Cancel(t.Context(), b.shopper, id, "cancel")
	require.Equal(t, "ORDER_STATE", code(t, err))
	b.exec(t, `INSERT INTO operations (id, user_id, type, key, request_hash, status, order_id, next_attempt_at, trace_id)
		VALUES ($1, $2, 'EXPIRE_ORDER', 'order:expire', 'v1:system', 'PROCESSING', $3, now(), '')`, uuid.New(), operation.System, id)
	b.work(t, "EXPIRE_ORDER")
	for range 3 {
		b.hear(t, again(t, body))
		b.relay(t)
		b.work(t, fulfilment.ReverseEffects)
	}
	licenses, points, entries := b.given(t, id)
	require.Equal(t, []int{0, 0, 2}, []int{licenses, points, entries})
	require.Equal(t, "REFUNDED", b.facts(t, id).Order)
	b.clean(t)
}

// C32 c: the money goes back while the effects still wait. In either order nothing is left, and nothing waits for ever.
func TestC32c_RefundBeforeTheEffects(t *testing.T) {
	t.Parallel()
	effects := []operation.Type{fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification}
	for name, order := range map[string][]operation.Type{
		"effects first":   append(append([]operation.Type{}, effects...), fulfilment.ReverseEffects),
		"reversal first":  append([]operation.Type{fulfilment.ReverseEffects}, effects...),
		"reversal within": {fulfilment.IssueLicenses, fulfilment.ReverseEffects, fulfilment.AccrueBonus, fulfilment.SendNotification},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.paid(t)
			if name == "reversal within" {
				b.work(t, fulfilment.IssueLicenses)
			}
			b.refund(t, id, "")
			b.relay(t)
			b.work(t, order...)
			licenses, points, _ := b.given(t, id)
			require.Zero(t, licenses)
			require.Zero(t, points)
			require.Equal(t, "REFUNDED", b.facts(t, id).Order)
			require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE status = 'PROCESSING' AND type <> 'WATCH_PAYMENT'`))
			require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM notifications`), "a receipt of nothing")
			b.clean(t)
		})
	}
}

// A refund with a reference of our form that we don't know was made by nobody in a dashboard: money isn't booked on its word, also
// when the message is signed.
func TestARefundUnderAForeignReferenceIsNotBooked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	b.control(t, "/v1/refunds", `{"paymentId":"`+b.providerID(t, id, 1)+`","amount":{"amount":"4.00","currency":"RUB"},"reference":"`+uuid.NewString()+`"}`)
	body := b.hook(t)
	var status inbox.Status
	var reason string
	for range 4 {
		status, reason = b.hear(t, body)
	}
	require.Equal(t, inbox.Quarantined, status)
	require.Equal(t, "unknown_object", reason)
	require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM refunds`))
	require.Equal(t, "PAID", b.facts(t, id).Order)
}
