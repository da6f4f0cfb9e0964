package web_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const paid = `{"id":"evt_1","type":"payment.succeeded","createdAt":"2025-01-02T03:04:05Z","object":{"id":"pay_1","reference":"ref_1",` +
	`"status":"succeeded","amount":{"amount":"49.90","currency":"RUB"}}}`

// signature as the simulator makes it (CONTRACT section 4).
func signature(secret, body string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

func (s *shop) webhook(body string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, "/webhooks/sim", body, "Onefold-Signature", signature(webhookSecret, body, time.Now()))
}

func TestAWebhookIsKeptOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for delivery := 1; delivery <= 3; delivery++ {
		a := s.webhook(paid)
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.JSONEq(t, fmt.Sprintf(`{"received":true,"deliveries":%d}`, delivery), a.Body)
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED' AND deliveries = 3`))
	require.EqualValues(t, 3, s.wakes.Load())

	// Another payload under the same ID never replaces the first.
	other := strings.Replace(paid, "49.90", "0.01", 1)
	for range 2 {
		require.Equal(t, http.StatusOK, s.webhook(other).Status)
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM incoming_events WHERE status = 'QUARANTINED'`))
	require.Equal(t, 2, s.count(`SELECT count(*) FROM incoming_events`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED' AND payload = convert_to($1, 'UTF8')`, paid))
}

func TestWebhooksThatAreNotAuthentic(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := time.Now()
	good := signature(webhookSecret, paid, now)
	for name, headers := range map[string][]string{
		"none":          nil,
		"empty":         {"Onefold-Signature", ""},
		"other secret":  {"Onefold-Signature", signature("guess", paid, now)},
		"empty secret":  {"Onefold-Signature", signature("", paid, now)},
		"other body":    {"Onefold-Signature", signature(webhookSecret, paid+" ", now)},
		"too old":       {"Onefold-Signature", signature(webhookSecret, paid, now.Add(-302*time.Second))},
		"too new":       {"Onefold-Signature", signature(webhookSecret, paid, now.Add(302*time.Second))},
		"time replaced": {"Onefold-Signature", fmt.Sprintf("t=%d,%s", now.Unix()+1, strings.SplitN(good, ",", 2)[1])},
		"no v1":         {"Onefold-Signature", fmt.Sprintf("t=%d", now.Unix())},
		"two headers":   {"Onefold-Signature", good, "Onefold-Signature", good},
		"nonsense":      {"Onefold-Signature", "\x7f,=,;"},
		"bearer token":  {"Authorization", "Bearer " + webhookSecret},
	} {
		s.do(http.MethodPost, "/webhooks/sim", paid, headers...).refused(t, http.StatusUnauthorized, "UNAUTHENTICATED", name)
	}
	s.do(http.MethodPost, "/webhooks/sim", "no event", "Onefold-Signature", signature("guess", "no event", now)).
		refused(t, http.StatusUnauthorized, "UNAUTHENTICATED", "authenticity comes before understanding")
	require.Zero(t, s.count(`SELECT count(*) FROM incoming_events`))
	require.Zero(t, s.wakes.Load())
	// Several v1: one that fits is enough, while a secret is being replaced.
	several := strings.Replace(good, ",v1=", ",v1="+strings.Repeat("0", 64)+",v1=", 1)
	require.Equal(t, http.StatusOK, s.do(http.MethodPost, "/webhooks/sim", paid, "Onefold-Signature", several).Status)
}

func TestWebhooksThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, body := range map[string]string{
		"empty": "", "no JSON": "payment=succeeded", "a list": "[]", "null": "null", "no ID": strings.Replace(paid, `"id":"evt_1",`, "", 1),
		"no object":     `{"id":"evt_1","type":"payment.succeeded"}`,
		"NUL in the ID": strings.Replace(paid, "evt_1", `evt\u0000`, 1),
		"no UTF-8":      strings.Replace(paid, "evt_1", "evt_\xff", 1),
		"odd amount":    strings.Replace(paid, "49.90", "-49.9", 1),
		"odd currency":  strings.Replace(paid, "RUB", "???", 1),
		"odd status":    strings.Replace(paid, `"status":"succeeded"`, `"status":"perhaps"`, 1),
	} {
		s.webhook(body).refused(t, http.StatusBadRequest, "MALFORMED_BODY", name)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM incoming_events`))
	// Of a kind that nothing depends on: kept, so that a person can look.
	require.Equal(t, http.StatusOK, s.webhook(`{"id":"evt_2","type":"payout.created","object":{"id":"po_1"}}`).Status)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM incoming_events`))
}

func TestTheLimitOfAWebhook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fits := paid[:len(paid)-1] + strings.Repeat(" ", 256<<10-len(paid)) + "}"
	require.Len(t, fits, 256<<10)
	require.Equal(t, http.StatusOK, s.webhook(fits).Status)
	s.webhook(fits+" ").refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	s.webhook(strings.Repeat(" ", 5<<20)).refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	s.do(http.MethodPost, "/webhooks/nobody", paid).refused(t, http.StatusNotFound, "NOT_FOUND")
}

func TestEqualWebhooksAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.listen()
	for _, a := range together(t, 40, func(int) (answer, error) {
		return s.try(http.MethodPost, "/webhooks/sim", paid, "Onefold-Signature", signature(webhookSecret, paid, time.Now()))
	}) {
		require.Equal(t, http.StatusOK, a.Status, a.Body)
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM incoming_events WHERE deliveries = 40`))
}
