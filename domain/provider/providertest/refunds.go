package providertest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/provider"
)

func (h Harness) paid(t *testing.T, minor int64) provider.Payment {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(minor))
	require.NoError(t, err)
	h.Pay(t, made.ID)
	got, err := h.Payments.GetPayment(t.Context(), made.ID)
	require.NoError(t, err)
	return got
}

func (h Harness) back(paid provider.Payment, minor int64) provider.CreateRefund {
	return provider.CreateRefund{
		Key: uuid.NewString(), Reference: uuid.NewString(), PaymentID: paid.ID, Amount: h.amount(minor),
	}
}

func refund(t *testing.T, h Harness) {
	t.Helper()
	in := h.back(h.paid(t, 1000), 1000)
	first, err := h.Payments.CreateRefund(t.Context(), in)
	require.NoError(t, err)
	require.NotEmpty(t, first.ID)
	require.Equal(t, in.PaymentID, first.PaymentID)
	require.Equal(t, in.Reference, first.Reference)
	require.Equal(t, in.Amount, first.Amount)
	again, err := h.Payments.CreateRefund(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	found, err := h.Payments.FindRefund(t.Context(), in.Reference)
	require.NoError(t, err)
	require.Equal(t, first.ID, found.ID)
	h.requireEffects(t, 1, 1, 0)
}

func refundPartial(t *testing.T, h Harness) {
	t.Helper()
	paid := h.paid(t, 1000)
	for range 2 { // twice the same on purpose: two keys, two refunds
		_, err := h.Payments.CreateRefund(t.Context(), h.back(paid, 300))
		require.NoError(t, err)
	}
	over := h.back(paid, 401)
	_, err := h.Payments.CreateRefund(t.Context(), over)
	require.NotEmpty(t, refusal(t, provider.Rejected, err).Code)
	_, err = h.Payments.CreateRefund(t.Context(), over)
	requireKind(t, provider.Rejected, err)
	_, err = h.Payments.CreateRefund(t.Context(), h.back(paid, 400))
	require.NoError(t, err)
	_, err = h.Payments.CreateRefund(t.Context(), h.back(paid, 1))
	requireKind(t, provider.Rejected, err)
	h.requireEffects(t, 1, 3, 0)
}

func refundUnpaid(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(1000))
	require.NoError(t, err)
	_, err = h.Payments.CreateRefund(t.Context(), h.back(made, 1000))
	requireKind(t, provider.Rejected, err)
	h.requireEffects(t, 1, 0, 0)
}

func refundLost(t *testing.T, h Harness) {
	t.Helper()
	in := h.back(h.paid(t, 1000), 1000)
	h.Inject(t, CreateRefund, Drop)
	before := h.Exchanges(t)
	_, err := h.Payments.CreateRefund(t.Context(), in)
	requireKind(t, provider.Unknown, err)
	require.Equal(t, before+1, h.Exchanges(t), "one call is one exchange")
	found, err := h.Payments.FindRefund(t.Context(), in.Reference)
	require.NoError(t, err)
	again, err := h.Payments.CreateRefund(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, found.ID, again.ID)
	h.requireEffects(t, 1, 1, 0)
}

func refundOtherInputs(t *testing.T, h Harness) {
	t.Helper()
	in := h.back(h.paid(t, 1000), 300)
	_, err := h.Payments.CreateRefund(t.Context(), in)
	require.NoError(t, err)
	in.Amount.Minor = 301
	_, err = h.Payments.CreateRefund(t.Context(), in)
	requireKind(t, provider.KeyReused, err)
	h.requireEffects(t, 1, 1, 0)
}
