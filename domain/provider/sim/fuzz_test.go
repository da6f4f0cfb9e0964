package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"onefold/domain/money"
	"onefold/domain/provider"
	"onefold/domain/provider/providertest"
)

// FuzzSignature: only a header that holds the one right signature and time is ever accepted.
func FuzzSignature(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	body := []byte(`{"id":"evt_1"}`)
	for _, by := range []providertest.Signer{
		providertest.Good, providertest.Next, providertest.Several, providertest.Bad, providertest.Mangled,
	} {
		f.Add(signed(body, now, by).Get("Onefold-Signature"))
	}
	f.Add("t=1800000000,t=1,v1=")
	c := client("http://127.0.0.1:1", 0)
	f.Fuzz(func(t *testing.T, value string) {
		err := c.Authenticate(http.Header{"Onefold-Signature": {value}}, body, now)
		if err != nil {
			require.Equal(t, provider.Auth, provider.KindOf(err))
			return
		}
		lower := strings.ToLower(value)
		found := false
		for stamp := now.Unix() - 300; stamp <= now.Unix()+300; stamp++ {
			text := signed(body, time.Unix(stamp, 0), providertest.Good).Get("Onefold-Signature")
			other := signed(body, time.Unix(stamp, 0), providertest.Next).Get("Onefold-Signature")
			_, right, _ := strings.Cut(text, "v1=")
			_, next, _ := strings.Cut(other, "v1=")
			found = found || strings.Contains(lower, "v1="+right) || strings.Contains(lower, "v1="+next)
		}
		require.True(t, found, value)
	})
}

// FuzzTranslate: whatever comes, the result is Garbage or an event whose IDs can be stored and whose object is whole.
func FuzzTranslate(f *testing.F) {
	paid := provider.Payment{ID: "pay_1", Reference: "r", Amount: money.Amount{Minor: 100, Currency: "RUB"}}
	back := provider.Refund{ID: "ref_1", PaymentID: "pay_1", Amount: money.Amount{Minor: 100, Currency: "RUB"}}
	for _, sample := range samples() {
		f.Add(sample.Body(paid, back))
	}
	for _, body := range nonsense() {
		f.Add(body)
	}
	c := client("http://127.0.0.1:1", 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := c.Translate(body)
		if err != nil {
			require.Equal(t, provider.Garbage, provider.KindOf(err))
			require.Equal(t, provider.Event{}, got)
			return
		}
		require.True(t, json.Valid(body))
		ids := []string{got.ID, got.Type, got.ObjectID}
		if p := got.Object.Payment; p != nil {
			ids = append(ids, p.ID)
			require.Equal(t, got.ObjectID, p.ID)
			require.True(t, money.Valid(p.Amount.Currency))
		}
		if r := got.Object.Refund; r != nil {
			ids = append(ids, r.ID, r.PaymentID)
			require.Equal(t, got.ObjectID, r.ID)
			require.True(t, money.Valid(r.Amount.Currency))
		}
		for _, id := range ids {
			require.NotEmpty(t, id)
			require.LessOrEqual(t, len(id), 255)
			require.True(t, utf8.ValidString(id))
			require.False(t, bytes.ContainsAny([]byte(id), "\x00\n\x7f"))
		}
	})
}
