//go:build e2e

package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A whole purchase leaves one trace from the request to the last job, every ID, and nothing that is nobody's business.
func TestLogOfAPurchaseTracesItAndHidesSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	trace := strings.ReplaceAll(uuid.NewString(), "-", "")
	key := newKey()
	r, err := http.NewRequest(http.MethodPost, s.api(0, "/orders"), strings.NewReader(`{"items":[{"productId":"`+license+`","quantity":1}],"currency":"RUB",
		"delivery":{"method":"post","address":{"name":"Ann Secretname","line1":"12 Hidden Lane","city":"Nowhereville","postcode":"SEC 123","country":"DE"}}}`))
	require.NoError(t, err)
	r.Header = http.Header{
		"Authorization": {"Bearer " + s.ann.token}, "Idempotency-Key": {key}, "Content-Type": {"application/json"},
		"Traceparent": {"00-" + trace + "-00f067aa0ba902b7-01"},
	}
	response, err := s.http.Do(r)
	require.NoError(t, err)
	_ = response.Body.Close()
	require.Equal(t, 201, response.StatusCode)
	require.Equal(t, trace, response.Header.Get("Trace-Id"))
	o := s.see(order{OrderID: uuid.MustParse(response.Header.Get("Location")[len("/api/orders/"):])})
	s.pay(o)
	done := s.until(o, "FULFILLED")
	s.signIn(s.ann.email, "not the "+s.ann.password)
	s.signIn(s.ann.email, s.ann.password)
	_ = s.must("GET", s.api(0, "/orders/"+o.OrderID.String()), s.ann.token+"x", "", nil)
	s.assertClean(0)

	lines := append(s.web[0].lines(), s.work[0].lines()...)
	requireLine(t, lines, map[string]any{"msg": "request", "path": "/api/orders", "trace_id": trace, "idempotency_key": key, "order_id": o.OrderID.String(), "operation_id": o.OperationID.String()})
	requireLine(t, lines, map[string]any{"msg": "job", "kind": "create_payment", "trace_id": trace, "order_id": o.OrderID.String()})
	// The provider's word is a request with a trace of its own, which leads to the last job.
	applied := requireLine(t, lines, map[string]any{"msg": "job", "kind": "apply_event", "verdict": "APPLIED", "payment_id": o.last().PaymentID.String()})
	requireLine(t, lines, map[string]any{"msg": "request", "path": "/webhooks/sim", "trace_id": applied["trace_id"], "provider_event_id": applied["provider_event_id"]})
	for _, kind := range []string{"issue_licenses", "accrue_bonus", "send_notification"} {
		line := requireLine(t, lines, map[string]any{"msg": "job", "kind": kind, "trace_id": applied["trace_id"], "order_id": o.OrderID.String()})
		require.NotEmpty(t, line["job_id"], kind)
	}
	for _, c := range s.sim.calls("payments.create", o.last().PaymentID) {
		require.Equal(t, trace, c.TraceID, "the provider is called in the same trace")
	}
	for _, id := range []string{trace, applied["trace_id"].(string)} {
		require.Positive(t, s.count(`SELECT count(*) FROM journal WHERE order_id = $1 AND trace_id = $2`, o.OrderID, id), "the journal has both")
	}

	secrets := []string{
		s.ann.token, s.ann.password, s.ann.email, webhookSecret, strings.Repeat("k", 40), "Secretname", "Hidden Lane", "SEC 123",
	}
	secrets = append(secrets, done.Items[0].Licenses...)
	secrets = append(secrets, s.texts(`SELECT password_hash FROM users WHERE password_hash IS NOT NULL`)...)
	logs := s.web[0].log() + s.work[0].log() + s.sim.process.log()
	for _, secret := range secrets {
		require.NotContains(t, logs, secret)
	}
	require.NotRegexp(t, `4242 ?4242|of_[A-Za-z0-9_-]{16,}|\$argon2id|Bearer `, logs)
}

// requireLine finds a line that has all these fields.
func requireLine(t *testing.T, lines []map[string]any, want map[string]any) map[string]any {
	t.Helper()
next:
	for _, l := range lines {
		for name, value := range want {
			if l[name] != value {
				continue next
			}
		}
		return l
	}
	var near []map[string]any
	for _, l := range lines {
		if l["msg"] == want["msg"] && l["kind"] == want["kind"] && (want["path"] == nil || l["path"] == want["path"]) {
			near = append(near, l)
		}
	}
	require.FailNow(t, "no such line", "want %v\nthere are %v", want, near)
	return nil
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// signIn uses the form as a browser without scripts does.
func (s *shop) signIn(email, password string) {
	s.t.Helper()
	page := s.must("GET", "http://"+s.addrs[0]+"/sign-in", "", "", nil)
	found := csrfField.FindStringSubmatch(string(page.body))
	require.NotNil(s.t, found)
	form := strings.NewReplacer("CSRF", found[1], "EMAIL", email, "WORD", strings.ReplaceAll(password, " ", "+")).Replace("csrf=CSRF&email=EMAIL&password=WORD")
	r, err := http.NewRequest(http.MethodPost, "http://"+s.addrs[0]+"/sign-in", strings.NewReader(form))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, cookie := range (&http.Response{Header: page.header}).Cookies() {
		r.AddCookie(cookie)
	}
	response, err := s.http.Do(r)
	require.NoError(s.t, err)
	_ = response.Body.Close()
	require.Less(s.t, response.StatusCode, 500)
}
