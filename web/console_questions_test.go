package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/web"
)

// The questions that support asks. Each test starts at the search box, with whatever the customer has, and finds the answer on the
// page that it leads to, at most one link further on.

// listening is a floor whose pages can read what the scripted provider said.
func listening(t *testing.T) *floor {
	t.Helper()
	var handlers *web.Handlers
	f := newFloor(t, func(h *web.Handlers) { handlers, h.OrderTTL = h, 24*time.Hour })
	handlers.Providers[f.provider.Name()] = f.provider
	return f
}

// asks pastes a text into the search box and follows where it leads.
func (s *shop) asks(pasted string) *goquery.Document {
	s.t.Helper()
	a := s.get("/console/search?q="+url.QueryEscape(pasted), "")
	require.Equal(s.t, http.StatusSeeOther, a.Status, pasted)
	return s.page(a.Header.Get("Location"), http.StatusOK)
}

func told(doc *goquery.Document, id string) string {
	return strings.Join(strings.Fields(doc.Find(testID(id)).Text()), " ")
}

func TestQuestion_WasIChargedTwice(t *testing.T) {
	t.Parallel()
	f := listening(t)
	token := f.shopper()
	id := f.order(token, "twice?", pixel).placed(t)
	f.order(token, "twice?", pixel)
	f.work()
	f.deliver("evt-1", id, provider.Succeeded)
	f.deliver("evt-1", id, provider.Succeeded)
	f.work()
	doc := f.as(account.Viewer).asks("twice?")
	require.Regexp(t, `^Charged once: \d+\.\d\d RUB\.$`, told(doc, "money-line"))
	require.Contains(t, told(doc, "story-en"), "You were not charged twice.")
	require.Contains(t, told(doc, "story-ru"), "Двойного списания не было.")
	require.Contains(t, told(doc, "story-en"), "reached us 2 times")
	require.Contains(t, doc.Find(testID("story-en")+" [data-copy]").AttrOr("data-copy", ""), "You were not charged twice.")

	f.exec(`INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, provider_payment_id, succeeded_at)
		SELECT gen_random_uuid(), order_id, 2, gen_random_uuid(), status, amount_minor, currency, provider, 'k', 'pay_2', now() FROM payments`)
	doc = f.as(account.Viewer).asks("twice?")
	require.Equal(t, "bad", doc.Find(testID("verdict")).AttrOr("data-verdict", ""))
	require.Contains(t, told(doc, "money-line"), "Charged more than once")
	require.Contains(t, told(doc, "violations"), "Promise 3 A paid order has exactly one successful payment of its amount")
	require.Contains(t, told(doc, "violations"), "with 2 succeeded payments of")
}

func TestQuestion_WhyTwoOrders(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	token := f.shopper()
	a, b := f.order(token, "tab-1", pixel).placed(t), f.order(token, "tab-2", pixel).placed(t)
	f.write(`INSERT INTO possible_duplicates (order_id, earlier_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, b, a)
	v := f.as(account.Viewer)
	doc := v.asks("tab-2")
	require.Equal(t, "/console/intents/"+a, doc.Find(testID("twin")).AttrOr("href", ""))
	require.Contains(t, told(doc, "twins"), "earlier, under another key")
	require.Contains(t, told(doc, "twin-verdict"), "Nobody has judged it yet.")
	back := v.page(doc.Find(testID("twin")).AttrOr("href", ""), http.StatusOK)
	require.Equal(t, "/console/intents/"+b, back.Find(testID("twin")).AttrOr("href", ""))
}

func TestQuestion_DidTheProviderGetIt(t *testing.T) {
	t.Parallel()
	f := listening(t)
	id := f.order(f.shopper(), "got-it", pixel).placed(t)
	v := f.as(account.Viewer)
	require.Contains(t, told(v.asks("got-it"), "got"), "Nothing has been sent")
	f.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.Unknown, "no answer")
	}
	f.work()
	doc := v.asks("got-it")
	require.Contains(t, told(doc, "got"), "no answer says whether it arrived")
	require.Contains(t, told(doc, "sides"), "under one key")
	f.provider.OnCreate = nil
	paymenttest.MakeDue(t, f.db)
	f.work()
	doc = v.asks("got-it")
	require.Contains(t, told(doc, "got"), "The provider has it.")
	require.Contains(t, told(doc, "sides-words"), "Both sides agree.")

	f.deliver("evt-got", id, provider.Succeeded) // not applied yet
	doc = v.asks("got-it")
	require.Contains(t, told(doc, "sides-words"), "The states differ.")
	require.Contains(t, told(doc, "money-line"), "Taken at the provider, not recorded here for")
	require.Contains(t, told(doc, "theirs"), "Succeeded")
}

func TestQuestion_WhereDidTheWebhookGo(t *testing.T) {
	t.Parallel()
	f := listening(t)
	id := f.placed("hook")
	f.deliver("evt_hook_1", id, provider.Succeeded)
	f.deliver("evt_hook_1", id, provider.Succeeded)
	f.work()
	f.deliver("evt_hook_2", id, provider.Succeeded)
	f.work()
	doc := f.as(account.Viewer).asks("evt_hook_1")
	rows := doc.Find(testID("hook"))
	require.Equal(t, 2, rows.Length())
	require.Equal(t, "APPLIED", rows.First().AttrOr("data-state", ""))
	require.Contains(t, rows.First().Text(), "2 deliveries")
	require.Contains(t, rows.First().Text(), "Changed the payment.")
	require.Contains(t, rows.Last().Text(), "We knew it already.")
	anchor := rows.First().Find("a").AttrOr("href", "")
	require.Equal(t, "inbox.received", doc.Find(anchor).AttrOr("data-kind", ""), "its line in the timeline")
}

func TestQuestion_WhyWasThisRefused(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	token := f.shopper()
	f.order(token, "reused", pixel).placed(t)
	require.Equal(t, http.StatusConflict, f.order(token, "reused", strings.Replace(pixel, `"quantity":1`, `"quantity":2`, 1)).Status)
	doc := f.as(account.Viewer).asks("reused")
	fields := doc.Find(testID("reuse") + " tbody tr")
	require.Equal(t, 1, fields.Length(), told(doc, "reuses"))
	require.Contains(t, fields.AttrOr("data-field", ""), "items.")
	require.Equal(t, []string{"1", "2"}, fields.Find("td").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) }))

	f.exec(`UPDATE products SET on_hand = reserved`)
	require.Equal(t, http.StatusConflict, f.order(token, "sold-out", pixel).Status)
	doc = f.as(account.Viewer).asks("sold-out")
	require.Contains(t, told(doc, "reasons"), "OUT_OF_STOCK")
	require.Contains(t, told(doc, "story-en"), "sold out")
	require.Contains(t, told(doc, "story-en"), "You were not charged.")
}

func TestQuestion_WhoPressedWhatAndWhy(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	id := f.sold("pressed")
	staff, err := account.Create(t.Context(), f.db, "olga@shop.test", password, account.Operator)
	require.NoError(t, err)
	f.write(`INSERT INTO audit_actions (id, user_id, role, action, object_type, object_id, order_id, reason, outcome, operation_id, trace_id) VALUES
		(gen_random_uuid(), $1, 'operator', 'refund', 'order', $2::uuid::text, $2, 'damaged', 'DONE', gen_random_uuid(), repeat('b', 32))`, staff.ID, id)
	f.write(`INSERT INTO case_notes (id, object_id, user_id, text) VALUES (gen_random_uuid(), $2, $1, 'waits for a photo')`, staff.ID, id)
	doc := f.as(account.Viewer).asks("pressed")
	require.Contains(t, told(doc, "pressed-by"), "by olga@shop.test (operator)")
	require.Equal(t, "damaged", told(doc, "pressed-why"))
	require.Contains(t, told(doc, "notes"), "waits for a photo")
	only := f.as(account.Viewer).page(doc.Find(testID("lanes")+" [data-lane=operator]").AttrOr("href", ""), http.StatusOK)
	require.Equal(t, 1, only.Find(testID("timeline")+" .entry").Length())
}

func TestQuestion_WhatHappensNextAndWhen(t *testing.T) {
	t.Parallel()
	f := listening(t)
	f.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.Unknown, "no answer")
	}
	f.placed("next?")
	doc := f.as(account.Viewer).asks("next?")
	require.Contains(t, told(doc, "next-line"), "Next: Next look at the provider")
	require.NotZero(t, doc.Find(testID("next-line")+" time[datetime]").Length())
	planned := doc.Find(testID("timeline-next"))
	require.Equal(t, "reconcile", planned.First().AttrOr("data-next", ""))
	require.Equal(t, 1, doc.Find("[data-next=expire]").Length())
	last := doc.Find(testID("timeline") + " > li").Last()
	require.True(t, last.HasClass("next"), "the timeline ends with the future")
	require.Equal(t, 1, doc.Find(testID("now")).Length())
}

func TestQuestion_IsItSafeToPress(t *testing.T) {
	t.Parallel()
	f := listening(t)
	f.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.Unknown, "no answer")
	}
	id := f.placed("safe?")
	operator := f.as(account.Operator)
	doc := operator.asks("safe?")
	for name, want := range map[string][]string{
		"reconcile":    {"SAFE", "lookup_first", "act"},
		"cancel_order": {"WAIT", "payment_unknown", ""},
		"refund":       {"UNSAFE", "no_money", ""},
		"resend_mail":  {"UNSAFE", "not_paid", ""},
	} {
		verdict, button := doc.Find(testID("verdict-"+name)), doc.Find(testID("act-"+name))
		require.Equal(t, 1, verdict.Length(), name)
		require.Equal(t, want[0], verdict.AttrOr("data-verdict", ""), name)
		require.Equal(t, want[1], verdict.AttrOr("data-guard", ""), name)
		require.NotEmpty(t, strings.TrimSpace(verdict.Find(".guard-words").Text()), name)
		require.Equal(t, want[2] == "", button.AttrOr("aria-disabled", "") == "true", name)
	}
	require.Equal(t, http.StatusConflict, operator.press("cancel_order", id).Status, "the server says so, too")
	require.Equal(t, 1, f.count(`SELECT count(*) FROM orders WHERE status = 'AWAITING_PAYMENT'`))
}

func TestQuestion_WhatCanBeRefunded(t *testing.T) {
	t.Parallel()
	f := listening(t)
	id := f.sold("refundable")
	v := f.as(account.Viewer)
	doc := v.asks("refundable")
	total := told(doc, "money-captured")
	require.Equal(t, total, told(doc, "money-left"))
	f.write(`INSERT INTO refunds (id, order_id, payment_id, operation_id, status, amount_minor, currency, reason, provider, provider_key)
		SELECT gen_random_uuid(), $1, id, gen_random_uuid(), 'SUBMITTING', 100, currency, 'x', provider, 'k' FROM payments`, id)
	doc = v.asks("refundable")
	require.Equal(t, "1.00 RUB", told(doc, "money-way"))
	require.NotEqual(t, total, told(doc, "money-left"))
	require.Contains(t, told(doc, "money-line"), "1.00 RUB is on its way back.")
}

func TestTimelineViewIsInItsAddress(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	id := f.sold("view")
	v, address := f.as(account.Viewer), "/console/intents/"+id
	kinds := func(doc *goquery.Document) []string {
		return doc.Find(testID("timeline") + " .entry").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-lane", "") })
	}
	whole := v.page(address, http.StatusOK)
	all := kinds(whole)
	newest := kinds(v.page(address+"?order=newest", http.StatusOK))
	require.Len(t, newest, len(all))
	require.Equal(t, all[0], newest[len(newest)-1])
	some := kinds(v.page(address+"?lane=inbox&lane=mail", http.StatusOK))
	require.NotEmpty(t, some)
	require.Subset(t, []string{"inbox", "mail"}, some)
	require.Equal(t, 1, v.page(address+"?lane=operator", http.StatusOK).Find(testID("timeline-none")).Length())
	trace := whole.Find(testID("only-trace")).First().AttrOr("href", "")
	one := v.page(trace, http.StatusOK)
	require.Equal(t, 1, one.Find(testID("trace-filter")).Length())
	require.Less(t, len(kinds(one)), len(all))
	for _, bad := range []string{"?lane=elsewhere", "?lane=db&lane=db", "?order=best", "?trace=x", "?older=5m", "?order=newest&order=oldest"} {
		require.Equal(t, 1, v.page(address+bad, http.StatusBadRequest).Find(testID("error-page")).Length(), bad)
	}
	entry := whole.Find(testID("timeline") + " .entry[id]").First()
	require.Equal(t, "#"+entry.AttrOr("id", ""), entry.Find(".entry-at a").AttrOr("href", ""), "a row can be linked")
}

func TestEvidenceIsWholeAndMasked(t *testing.T) {
	t.Parallel()
	f := listening(t)
	id := f.sold("evidence")
	v := f.as(account.Viewer)
	shown := v.page("/console/intents/"+id, http.StatusOK) // before the export, which is an entry itself
	a := v.get("/console/intents/"+id+".json", "")
	require.Equal(t, 1, f.count(`SELECT count(*) FROM audit_actions WHERE action = 'export' AND object_id = $1`, id))
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Header.Get("Content-Type"), "application/json")
	var e map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &e))
	require.Equal(t, "onefold.intent/1", e["schema"])
	require.NotEmpty(t, e["generatedAt"])
	for _, member := range []string{"intent", "verdict", "identities", "money", "payments", "events", "keyReuses", "possibleDuplicates", "timeline", "next", "notes", "explanation"} {
		require.Contains(t, e, member)
		require.NotNil(t, e[member], member)
	}
	require.Equal(t, "ok", e["verdict"].(map[string]any)["state"])
	require.Equal(t, "/console/intents/"+id+".json", shown.Find(testID("export-json")).AttrOr("href", ""))
	require.GreaterOrEqual(t, len(e["timeline"].([]any)), shown.Find(testID("timeline")+" .entry:not(.next)").Length())

	en, ru := v.get("/console/intents/"+id+".txt", ""), v.get("/console/intents/"+id+".txt?lang=ru", "")
	require.Contains(t, en.Header.Get("Content-Type"), "text/plain")
	require.Contains(t, en.Body, "You were not charged twice.")
	require.Contains(t, ru.Body, "Двойного списания не было.")
	var key string
	require.NoError(t, f.db.QueryRow(t.Context(), `SELECT license_key FROM licenses WHERE order_id = $1`, id).Scan(&key))
	for _, body := range []string{a.Body, en.Body, ru.Body} {
		require.NotContains(t, body, key)
		require.NotContains(t, body, "shopper@")
	}
	require.Equal(t, http.StatusNotFound, v.get("/console/intents/"+strings.Repeat("0", 8)+"-0000-0000-0000-000000000000.json", "").Status)
	require.NotEqual(t, http.StatusOK, f.as(account.Shopper).get("/console/intents/"+id+".json", "").Status)
}

func TestAnEnquiryHasItsPage(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	a := f.do(http.MethodPost, "/api/leads", `{"name":"Anna Secret","email":"anna@example.com","message":"Hello there"}`, "Authorization", "Bearer "+f.shopper(), "Idempotency-Key", "ask-1")
	require.Equal(t, http.StatusCreated, a.Status, a.Body)
	var made struct{ LeadID string }
	require.NoError(t, json.Unmarshal([]byte(a.Body), &made))
	doc := f.as(account.Viewer).asks(made.LeadID)
	require.Contains(t, doc.Find("h1").Text(), "Enquiry")
	require.Equal(t, made.LeadID, told(doc, "identity-lead"))
	for _, secret := range []string{"Secret", "anna@example.com", "Hello there"} {
		require.NotContains(t, doc.Text(), secret)
	}
}

func TestSearchGroupsAndOffersWhatIsNear(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.placed("near-key-1")
	v := f.as(account.Viewer)
	doc := v.page("/go/near-key-9", http.StatusNotFound)
	require.Contains(t, told(doc, "search-near"), "near-key-1")
	require.NotZero(t, doc.Find(testID("searched")+" li").Length())
	f.placed("both")
	f.write(`UPDATE incoming_events SET event_id = 'both'`)
	f.placed("both")
	doc = v.page("/go/both", http.StatusOK)
	require.Equal(t, "key", doc.Find(testID("search-group")).First().AttrOr("data-kind", ""))
	require.Equal(t, 2, doc.Find(testID("search-match")).Length())
}
