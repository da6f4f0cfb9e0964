package providertest

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/provider"
)

var someBody = []byte(`{"id":"evt_1","text":"Ёж \u0000"}`)

func signature(t *testing.T, h Harness) {
	t.Helper()
	now := time.Now()
	for _, by := range []Signer{Good, Next, Several} {
		require.NoError(t, h.Payments.Authenticate(h.Sign(someBody, now, by), someBody, now), by)
	}
	for _, by := range []Signer{Bad, None, Mangled} {
		requireKind(t, provider.Auth, h.Payments.Authenticate(h.Sign(someBody, now, by), someBody, now))
	}
	twice := h.Sign(someBody, now, Good)
	for name, values := range twice {
		twice[name] = append(values, values...)
	}
	requireKind(t, provider.Auth, h.Payments.Authenticate(twice, someBody, now))
}

func signatureTime(t *testing.T, h Harness) {
	t.Helper()
	if h.Rules.Tolerance == 0 {
		t.Skip("signatures carry no time")
	}
	now := time.Now().Truncate(time.Second)
	header := h.Sign(someBody, now, Good)
	for _, drift := range []time.Duration{-h.Rules.Tolerance, 0, h.Rules.Tolerance} {
		require.NoError(t, h.Payments.Authenticate(header, someBody, now.Add(drift)), drift)
	}
	for _, drift := range []time.Duration{-h.Rules.Tolerance - time.Second, h.Rules.Tolerance + time.Second} {
		requireKind(t, provider.Auth, h.Payments.Authenticate(header, someBody, now.Add(drift)))
	}
}

// signatureBody: the bytes as they came are what is signed.
func signatureBody(t *testing.T, h Harness) {
	t.Helper()
	now := time.Now()
	header := h.Sign(someBody, now, Good)
	for i := range someBody {
		other := bytes.Clone(someBody)
		other[i] ^= 1
		requireKind(t, provider.Auth, h.Payments.Authenticate(header, other, now))
	}
	requireKind(t, provider.Auth, h.Payments.Authenticate(header, append(bytes.Clone(someBody), ' '), now))
	requireKind(t, provider.Auth, h.Payments.Authenticate(header, nil, now))
}

func translate(t *testing.T, h Harness) {
	t.Helper()
	paid := h.paid(t, 1000)
	back, err := h.Payments.CreateRefund(t.Context(), h.back(paid, 300))
	require.NoError(t, err)
	for _, sample := range h.Samples {
		body, want := sample.Body(paid, back), sample.Want(paid, back)
		got, err := h.Payments.Translate(body)
		require.NoError(t, err, "%s: %s", sample.Name, body)
		require.NotEmpty(t, got.ID, sample.Name)
		require.False(t, got.CreatedAt.IsZero(), sample.Name)
		want.ID, want.CreatedAt = got.ID, got.CreatedAt
		require.Equal(t, want, got, sample.Name)
		again, err := h.Payments.Translate(body)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
}

func translateNonsense(t *testing.T, h Harness) {
	t.Helper()
	for _, body := range append([][]byte{nil, {}, []byte("{"), []byte("null"), []byte("[]"), []byte("\xff"), []byte("{}")}, h.Nonsense...) {
		_, err := h.Payments.Translate(body)
		requireKind(t, provider.Garbage, err)
	}
}
