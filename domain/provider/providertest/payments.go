package providertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/provider"
)

func (h Harness) order(minor int64) provider.CreatePayment {
	reference := uuid.NewString()
	return provider.CreatePayment{
		Key: uuid.NewString(), Reference: reference, Amount: h.amount(minor), ReturnURL: "http://127.0.0.1:1/orders/1",
		Description: "Order 5814 — “Ёлка” & <b>", Metadata: map[string]string{"orderId": "5814"},
	}
}

func (h Harness) requireEffects(t *testing.T, payments, refunds, shipments int) {
	t.Helper()
	p, r, s := h.Effects(t)
	require.Equal(t, [3]int{payments, refunds, shipments}, [3]int{p, r, s}, "payments, refunds, shipments at the provider")
}

func requireKind(t *testing.T, kind provider.Kind, err error) {
	t.Helper()
	var e *provider.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
}

// refusal is requireKind for a test that looks closer.
func refusal(t *testing.T, kind provider.Kind, err error) (e *provider.Error) {
	t.Helper()
	requireKind(t, kind, err)
	require.ErrorAs(t, err, &e)
	return e
}

func create(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	got, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	require.NotEmpty(t, got.ID)
	require.NotEmpty(t, got.ConfirmationURL)
	require.Equal(t, in.Reference, got.Reference)
	require.Equal(t, in.Amount, got.Amount)
	require.Equal(t, provider.Pending, got.Status)
	require.Empty(t, got.FailureCode)
	require.WithinDuration(t, time.Now(), got.CreatedAt, time.Minute)
	h.requireEffects(t, 1, 0, 0)
}

func createReplay(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	first, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	for range 3 {
		again, err := h.Payments.CreatePayment(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	h.requireEffects(t, 1, 0, 0)
}

func createOtherInputs(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	_, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	in.Amount.Minor++
	_, err = h.Payments.CreatePayment(t.Context(), in)
	requireKind(t, provider.KeyReused, err)
	h.requireEffects(t, 1, 0, 0)
}

func createOtherKey(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	first, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	in.Key, in.Reference = uuid.NewString(), uuid.NewString()
	second, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	h.requireEffects(t, 2, 0, 0)
}

func createParallel(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	const callers = 16
	ids := make([]string, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			out, err := h.Payments.CreatePayment(t.Context(), in)
			ids[i], errs[i] = out.ID, err
		})
	}
	wg.Wait()
	final, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	for i, err := range errs {
		if err != nil {
			requireKind(t, provider.InProgress, err)
			continue
		}
		require.Equal(t, final.ID, ids[i])
	}
	h.requireEffects(t, 1, 0, 0)
}

// createLost: the work is done and the answer is lost. The call says so, in time, without trying again; a lookup and a repeat
// find what was made.
func createLost(fault Fault) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		t.Helper()
		_, err := h.Payments.CreatePayment(t.Context(), h.order(100)) // so that the next call meets a used connection
		require.NoError(t, err)
		h.Inject(t, CreatePayment, fault)
		before := h.Exchanges(t)
		in := h.order(4990)
		start := time.Now()
		_, err = h.Payments.CreatePayment(t.Context(), in)
		requireKind(t, provider.Unknown, err)
		require.Less(t, time.Since(start), h.Timeout+2*time.Second)
		require.Equal(t, before+1, h.Exchanges(t), "one call is one exchange")

		found, err := h.Payments.FindPayment(t.Context(), in.Reference)
		require.NoError(t, err)
		require.Equal(t, in.Amount, found.Amount)
		again, err := h.repeat(t, in)
		require.NoError(t, err)
		require.Equal(t, found.ID, again.ID)
		h.requireEffects(t, 2, 0, 0)
	}
}

// repeat creates again, and waits out a provider that still holds the key for the call before.
func (h Harness) repeat(t *testing.T, in provider.CreatePayment) (out provider.Payment, err error) {
	t.Helper()
	for range 100 {
		out, err = h.Payments.CreatePayment(t.Context(), in)
		if provider.KindOf(err) != provider.InProgress {
			return out, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return out, err
}

func createRefused(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	h.Inject(t, CreatePayment, Refused)
	_, err := h.Payments.CreatePayment(t.Context(), in)
	requireKind(t, provider.Unknown, err)
	_, err = h.Payments.FindPayment(t.Context(), in.Reference)
	requireKind(t, provider.NotFound, err)
	_, err = h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	h.requireEffects(t, 1, 0, 0)
}

func createRejected(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	h.Inject(t, CreatePayment, Reject)
	_, err := h.Payments.CreatePayment(t.Context(), in)
	first := refusal(t, provider.Rejected, err)
	require.NotEmpty(t, first.Code)
	_, err = h.Payments.CreatePayment(t.Context(), in)
	require.Equal(t, first.Code, refusal(t, provider.Rejected, err).Code, "a refusal is the key's result")
	h.requireEffects(t, 0, 0, 0)
	in.Key = uuid.NewString()
	_, err = h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	h.requireEffects(t, 1, 0, 0)
}

// createNothing: answers that prove that this call did nothing, and nothing more.
func createNothing(fault Fault) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		t.Helper()
		in := h.order(4990)
		h.Inject(t, CreatePayment, fault)
		_, err := h.Payments.CreatePayment(t.Context(), in)
		e := refusal(t, map[Fault]provider.Kind{
			Limited: provider.RateLimited, Busy: provider.InProgress, Denied: provider.Auth,
		}[fault], err)
		if fault == Limited {
			require.Positive(t, e.RetryAfter)
		}
		h.requireEffects(t, 0, 0, 0)
		_, err = h.Payments.CreatePayment(t.Context(), in)
		require.NoError(t, err)
		h.requireEffects(t, 1, 0, 0)
	}
}

func createNotSent(t *testing.T, h Harness) {
	t.Helper()
	_, err := h.Dead.CreatePayment(t.Context(), h.order(4990))
	requireKind(t, provider.NotSent, err)
	h.requireEffects(t, 0, 0, 0)
}

func createCallerGone(t *testing.T, h Harness) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Payments.CreatePayment(ctx, h.order(4990))
	require.ErrorIs(t, err, context.Canceled, "%v", err)
	requireKind(t, provider.NotSent, err)
	h.requireEffects(t, 0, 0, 0)
}

func get(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(4990))
	require.NoError(t, err)
	got, err := h.Payments.GetPayment(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, made, got)
	h.Pay(t, made.ID)
	got, err = h.Payments.GetPayment(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Succeeded, got.Status)
	_, err = h.Payments.GetPayment(t.Context(), made.ID+"0")
	requireKind(t, provider.NotFound, err)
}

func getFails(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(4990))
	require.NoError(t, err)
	for _, fault := range []Fault{Drop, Broken, Garbage, Hang} {
		h.Inject(t, GetPayment, fault)
		before := h.Exchanges(t)
		_, err = h.Payments.GetPayment(t.Context(), made.ID)
		requireKind(t, provider.Unknown, err)
		require.Equal(t, before+1, h.Exchanges(t), "one call is one exchange")
	}
}

func findNothing(t *testing.T, h Harness) {
	t.Helper()
	_, err := h.Payments.FindPayment(t.Context(), uuid.NewString())
	requireKind(t, provider.NotFound, err)
	_, err = h.Payments.FindRefund(t.Context(), uuid.NewString())
	requireKind(t, provider.NotFound, err)
}

func findVanished(t *testing.T, h Harness) {
	t.Helper()
	in := h.order(4990)
	_, err := h.Payments.CreatePayment(t.Context(), in)
	require.NoError(t, err)
	h.Inject(t, GetPayment, Vanished)
	_, err = h.Payments.FindPayment(t.Context(), in.Reference)
	requireKind(t, provider.NotFound, err)
	_, err = h.Payments.FindPayment(t.Context(), in.Reference)
	require.NoError(t, err)
}

func cancel(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(4990))
	require.NoError(t, err)
	key := uuid.NewString()
	for range 2 {
		got, err := h.Payments.CancelPayment(t.Context(), key, made.ID)
		require.NoError(t, err)
		require.Equal(t, provider.Canceled, got.Status)
		require.NotEmpty(t, got.FailureCode)
	}
	_, err = h.Payments.CancelPayment(t.Context(), uuid.NewString(), made.ID+"0")
	requireKind(t, provider.NotFound, err)
}

func cancelPaid(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(4990))
	require.NoError(t, err)
	h.Pay(t, made.ID)
	got, err := h.Payments.CancelPayment(t.Context(), uuid.NewString(), made.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Succeeded, got.Status)
}

func cancelDropped(t *testing.T, h Harness) {
	t.Helper()
	made, err := h.Payments.CreatePayment(t.Context(), h.order(4990))
	require.NoError(t, err)
	h.Inject(t, CancelPayment, Drop)
	before := h.Exchanges(t)
	_, err = h.Payments.CancelPayment(t.Context(), uuid.NewString(), made.ID)
	requireKind(t, provider.Unknown, err)
	require.Equal(t, before+1, h.Exchanges(t), "one call is one exchange")
	got, err := h.Payments.GetPayment(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, provider.Canceled, got.Status)
}
