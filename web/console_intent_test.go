package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
)

func TestTheIntentPageTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	token := f.shopper()
	id := f.order(token, "story", pixel).placed(t)
	for range 3 {
		f.order(token, "story", pixel)
	}
	f.work()
	f.deliver("evt-story", id, provider.Succeeded)
	f.deliver("evt-story", id, provider.Succeeded)
	f.work()
	v := f.as(account.Viewer)
	doc := v.page("/console/intents/"+id, http.StatusOK)
	require.Equal(t, "ok", doc.Find(testID("verdict")).AttrOr("data-verdict", ""), doc.Find(testID("reasons")).Text())
	require.Equal(t, "4 attempts → 1 order\u00a0· 1 charge\u00a0· 3 effects", doc.Find(testID("verdict-sum")).Text())
	require.Contains(t, doc.Find(testID("verdict")).Text(), "operations_identity × 3")
	require.Contains(t, doc.Find(testID("verdict")).Text(), "one_row_per_event × 1")
	require.Equal(t, 4, doc.Find(testID("diagram")+" .d-attempt").Length())
	require.Equal(t, 3, doc.Find(testID("diagram")+" .d-stop").Length())
	require.Equal(t, 3, doc.Find(testID("diagram")+" .d-effect").Length())
	for _, kind := range []string{"order.awaiting_payment", "operation.replayed", "payment.succeeded", "inbox.repeated", "license.issued", "mail.sent", "order.fulfilled"} {
		require.NotZero(t, doc.Find(testID("timeline")+" [data-kind='"+kind+"']").Length(), kind)
	}
	require.Equal(t, id, doc.Find(testID("identity-order")).Text())
	require.Equal(t, "story", doc.Find(testID("identity-key")).First().Text())
	require.Contains(t, doc.Find(testID("facts")).Text(), "RUB")

	byOperation := f.ids(`SELECT operation_id FROM orders WHERE id = $1`, id)[0]
	require.Equal(t, id, v.page("/console/intents/"+byOperation.String(), http.StatusOK).Find(testID("identity-order")).Text())
	var key string
	require.NoError(t, f.db.QueryRow(t.Context(), `SELECT license_key FROM licenses WHERE order_id = $1`, id).Scan(&key))
	require.NotContains(t, doc.Text(), key)
	require.Contains(t, doc.Find(testID("identity-license")).Text(), "•••")
	for _, nowhere := range []string{uuid.NewString(), "x", "%00", strings.Repeat("1", 3000)} {
		require.Equal(t, 1, v.page("/console/intents/"+nowhere, http.StatusNotFound).Find(testID("error-page")).Length())
	}
}

func TestTheIntentPageNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.Unknown, "no answer for anna@example.com")
	}
	id := f.placed("lost")
	doc := f.as(account.Viewer).page("/console/intents/"+id, http.StatusOK)
	require.Equal(t, "unknown", doc.Find(testID("verdict")).AttrOr("data-verdict", ""))
	require.Contains(t, doc.Find(testID("reasons")).Text(), "hasn’t said whether the payment exists")
	require.NotZero(t, doc.Find(testID("timeline-next")).Length())
	require.NotContains(t, doc.Text(), "anna@example.com")
	ru := f.as(account.Viewer).page("/console/intents/"+id+"?lang=ru", http.StatusOK)
	require.Contains(t, ru.Find(testID("verdict")).Text(), "Исход пока неизвестен")
}

// kinds are an ID of each kind of one sold order.
func (f *floor) kinds(orderID string) map[string]string {
	f.t.Helper()
	out := map[string]string{"order": orderID, "job": strconv.Itoa(jobID)}
	for kind, sql := range map[string]string{
		"number": `SELECT number::text FROM orders WHERE id = $1`, "operation": `SELECT operation_id::text FROM orders WHERE id = $1`,
		"key":       `SELECT o.key FROM operations o JOIN orders r ON r.operation_id = o.id WHERE r.id = $1`,
		"inner key": `SELECT key FROM operations WHERE order_id = $1 AND type = 'CREATE_PAYMENT'`,
		"payment":   `SELECT id::text FROM payments WHERE order_id = $1`, "provider's payment": `SELECT provider_payment_id FROM payments WHERE order_id = $1`,
		"provider's event": `SELECT event_id FROM incoming_events WHERE order_id = $1`, "event": `SELECT id::text FROM incoming_events WHERE order_id = $1`,
		"outbox": `SELECT id::text FROM outbox_events WHERE order_id = $1 LIMIT 1`,
		"trace":  `SELECT o.trace_id FROM operations o JOIN orders r ON r.operation_id = o.id WHERE r.id = $1`,
	} {
		var id string
		require.NoError(f.t, f.db.QueryRow(f.t.Context(), sql, orderID).Scan(&id), kind)
		out[kind] = id
	}
	return out
}

func TestEveryKindOfIDLeadsToTheIntent(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	id := f.sold("checkout:a+b/7?x=1#2%")
	v, want := f.as(account.Viewer), "/console/intents/"+id
	for kind, value := range f.kinds(id) {
		leads := func(address string) {
			t.Helper()
			a := v.get(address, "")
			require.Equal(t, http.StatusSeeOther, a.Status, "%s: %s", kind, address)
			require.Equal(t, want, a.Header.Get("Location"), "%s: %s", kind, address)
		}
		leads("/go/" + url.PathEscape(value))
		leads("/console/search?q=" + url.QueryEscape(value))
		leads("/console/search?q=" + url.QueryEscape("  “"+value+"”\n"))
		if !strings.ContainsAny(value, "?#%") {
			leads("/go/" + value)
			leads("/go/https://onefold.test/somewhere/" + url.PathEscape(value))
			leads("/go/https://onefold.test/somewhere?id=" + url.QueryEscape(value))
			leads("/go/" + url.PathEscape("https://onefold.test/orders/"+url.PathEscape(value)+"?x=y"))
		}
	}
}

func TestSearchSaysWhatItFound(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	v := f.as(account.Viewer)
	a, b := f.placed("shared"), f.placed("shared") // two shoppers, one key
	doc := v.page("/go/shared", http.StatusOK)
	require.Equal(t, 2, doc.Find(testID("search-match")).Length())
	links := doc.Find(testID("search-match") + " a").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("href", "") })
	require.ElementsMatch(t, []string{"/console/intents/" + a, "/console/intents/" + b}, links)
	require.Equal(t, "shared", doc.Find("#search").AttrOr("value", ""))

	for address, status := range map[string]int{
		"/console/search?q=nothing": 200, "/go/nothing": 404, "/go/%00": 404, "/go/%ff": 404, "/go/%3Cimg%20src=x%3E": 404,
		"/console/search?q=" + strings.Repeat("9", 400): 200,
	} {
		doc := v.page(address, status)
		require.Equal(t, 1, doc.Find(testID("search-none")).Length(), address)
		require.Zero(t, doc.Find("main img").Length())
	}
	require.Zero(t, v.page("/console/search", http.StatusOK).Find(testID("search-none")).Length())

	f.exec(`INSERT INTO incoming_events (id, provider, event_id, event_type, object_id, payload, payload_hash, status, reason, trace_id, processed_at, next_attempt_at)
		SELECT gen_random_uuid(), 'sim', 'evt_nobody', 'payment.succeeded', 'pay_x', '{}', decode('00', 'hex'), 'QUARANTINED', 'unknown_object', repeat('a', 32), now(), NULL`)
	doc = v.page("/go/evt_nobody", http.StatusOK)
	require.Equal(t, "/console/inbox?state=QUARANTINED", doc.Find(testID("search-match")+" a").AttrOr("href", ""))
	inbox := v.page("/console/inbox?state=QUARANTINED", http.StatusOK)
	require.Equal(t, 1, inbox.Find(testID("inbox-row")).Length())
	require.Equal(t, http.StatusOK, v.get(inbox.Find(".row-link").AttrOr("href", ""), "").Status)
}

func TestNothingShownIsMarkup(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	const evil = `"><img src=x onerror=alert(1)><script>alert(1)</script>`
	id := f.sold("key-1")
	for _, sql := range []string{
		`UPDATE operations SET key = $1, last_error = $1, failure_code = $1, resource_type = $1, resource_id = $1 WHERE type <> 'CREATE_PAYMENT'`,
		`UPDATE payments SET failure_code = $1, provider_payment_id = $1`,
		`UPDATE orders SET review_reason = $1, needs_review = true, email = 'a@' || $1`, `UPDATE order_items SET name = $1`,
		`UPDATE incoming_events SET event_id = $1, event_type = $1, reason = $1`,
		`UPDATE outbox_events SET last_error = $1`, `UPDATE licenses SET license_key = 'A-' || $1`,
		`UPDATE journal SET detail = jsonb_build_object('from', $1::text, 'to', $1::text, 'guard', $1::text, $1, $1)`, `UPDATE journal SET kind = 'x.' || $1 WHERE kind = 'mail.sent'`,
	} {
		f.write(sql, evil)
	}
	v := f.as(account.Viewer)
	for _, address := range []string{
		"/console", "/console/operations", "/console/payments", "/console/orders", "/console/inbox", "/console/outbox", "/console/intents/" + id,
		"/console/search?q=" + url.QueryEscape(evil+"x"), "/console/operations?state=" + url.QueryEscape(evil), "/console/nothing/" + url.PathEscape(evil),
		"/console/sign-in?return=" + url.QueryEscape(evil),
	} {
		a := v.get(address, "")
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.Body))
		require.NoError(t, err)
		require.Zero(t, doc.Find("img, [onerror], body script:not([src^='/assets/htmx.min.'])").Length(), address)
		if strings.HasPrefix(address, "/console/intents") {
			require.Contains(t, doc.Find("main").Text(), evil)
		}
	}
}
