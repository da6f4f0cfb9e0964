package payment_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

// An authentic event names our reference and an ID under which the provider knows nothing, before any answer told us the right one.
func TestAWrongIDIsCorrectedByOurReference(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.executor.Handlers[payment.WatchPayment] = payment.Watcher{Provider: b.provider}.Handler()
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		book()
		return provider.Payment{}, errReset
	}
	b.execute(t)
	wrong := b.said(provider.Pending)
	wrong.ID = "pay_elsewhere"
	b.hear(t, wrong)
	require.Equal(t, payment.Pending, b.facts(t).Payment)

	b.look(t)
	var id, url string
	paymenttest.Read(t, b.db, `SELECT provider_payment_id, confirmation_url FROM payments WHERE id = $1`, []any{b.order.PaymentID}, &id, &url)
	require.Equal(t, b.said(provider.Pending).ID, id)
	require.Equal(t, "https://pay.example/"+b.order.Reference(), url)
	require.Equal(t, payment.Pending, b.facts(t).Payment, "it is still open")

	b.provider.Say(b.order.Reference(), provider.Succeeded)
	b.look(t)
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	b.journaledAll(t)

	wrong.Status = provider.Failed
	status, reason := b.hear(t, wrong)
	require.Equal(t, []any{"QUARANTINED", "second_provider_payment"}, []any{string(status), reason}, "the lie goes on and changes nothing")
	require.Equal(t, payment.Succeeded, b.facts(t).Payment)
}

// look lets the watching operation have its next look now.
func (b *bench) look(t *testing.T) {
	t.Helper()
	var id operation.ID
	paymenttest.Read(t, b.db, `UPDATE operations SET next_attempt_at = now() WHERE type = 'WATCH_PAYMENT' AND order_id = $1 RETURNING id`,
		[]any{b.order.ID}, &id)
	require.NoError(t, b.executor.Execute(t.Context(), id))
}
