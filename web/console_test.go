package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/trace"
	"onefold/web"
)

// floor is a shop with its back room: a scripted provider and workers driven by hand.
type floor struct {
	*shop
	provider *paymenttest.Provider
	executor *operation.Executor
	applier  *payment.Applier
}

func newFloor(t *testing.T, options ...option) *floor {
	t.Helper()
	f := &floor{provider: &paymenttest.Provider{}}
	f.shop = newShop(t, append(options, func(h *web.Handlers) { h.Desk.Provider = paymenttest.Name })...)
	f.executor = &operation.Executor{DB: f.db, Lease: time.Minute, Owner: "test", Handlers: map[operation.Type]operation.Handler{
		payment.CreatePayment:    paymenttest.Creator(f.provider).Handler(),
		fulfilment.IssueLicenses: fulfilment.License(),
		fulfilment.AccrueBonus:   fulfilment.Bonus(),
		fulfilment.SendNotification: fulfilment.Mail{
			Mailer: &paymenttest.Mailer{}, Domain: "shop.test", OrderURL: func(id uuid.UUID) string { return "http://shop.test/orders/" + id.String() },
		}.Handler(),
	}}
	f.applier = &payment.Applier{DB: f.db, Providers: map[string]provider.Payments{paymenttest.Name: f.provider}}
	return f
}

func (f *floor) ids(sql string, args ...any) []uuid.UUID {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), sql, args...)
	require.NoError(f.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(f.t, err)
	return ids
}

const jobID = 4711

// work carries on everything that is due, as the relay and its workers would.
func (f *floor) work() {
	f.t.Helper()
	ctx := journal.WithJob(f.t.Context(), jobID)
	for range 4 {
		require.NoError(f.t, store.InTx(ctx, f.db, func(tx pgx.Tx) error {
			events, err := outbox.TakeDue(ctx, tx, 100)
			if err != nil {
				return err
			}
			var paid []outbox.Event
			var ids []uuid.UUID
			for _, e := range events {
				if ids = append(ids, e.ID); e.Type == outbox.OrderPaid {
					paid = append(paid, e)
				}
			}
			if len(paid) > 0 {
				if err := fulfilment.Plan(ctx, tx, paid); err != nil {
					return err
				}
			}
			return outbox.Dispatched(ctx, tx, ids)
		}))
		for _, id := range f.ids(`SELECT id FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= now() AND type NOT IN ('WATCH_PAYMENT', 'EXPIRE_ORDER')`) {
			require.NoError(f.t, f.executor.Execute(ctx, id))
		}
		for _, id := range f.ids(`SELECT id FROM incoming_events WHERE status = 'RECEIVED' ORDER BY received_at`) {
			require.NoError(f.t, f.applier.Apply(ctx, id))
		}
	}
}

// deliver receives a webhook; the other floor of the house applies it.
func (f *floor) deliver(eventID, orderID string, status provider.Status) {
	f.t.Helper()
	id := f.ids(`SELECT id FROM payments WHERE order_id = $1 ORDER BY attempt DESC LIMIT 1`, orderID)[0]
	f.provider.Say(id.String(), status)
	said, err := f.provider.FindPayment(f.t.Context(), id.String())
	require.NoError(f.t, err)
	e, body := paymenttest.Webhook(eventID, said)
	_, err = inbox.Receive(trace.Start(f.t.Context(), ""), f.db, paymenttest.Name, e, body)
	require.NoError(f.t, err)
}

// placed is an order with a payment page.
func (f *floor) placed(key string) (orderID string) {
	f.t.Helper()
	orderID = f.order(f.shopper(), key, pixel).placed(f.t)
	f.work()
	return orderID
}

// sold is an order that went all the way.
func (f *floor) sold(key string) (orderID string) {
	f.t.Helper()
	orderID = f.placed(key)
	f.deliver("evt:"+key+"/1", orderID, provider.Succeeded)
	f.work()
	return orderID
}

// write is exec with parameters.
func (s *shop) write(sql string, args ...any) {
	s.t.Helper()
	_, err := s.db.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
}

// as is a browser signed in with a role; "" is nobody.
func (s *shop) as(role account.Role) *shop {
	s.t.Helper()
	b := s.browser()
	if role == "" {
		return b
	}
	id := uuid.New()
	s.write(`INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, id, fmt.Sprintf("%s-%s@example.com", role, id), role)
	token, err := account.StartSession(context.WithoutCancel(s.t.Context()), s.db, id)
	require.NoError(s.t, err)
	address, err := url.Parse(s.base)
	require.NoError(s.t, err)
	b.client.Jar.SetCookies(address, []*http.Cookie{{Name: "onefold_session", Value: token, Path: "/"}})
	return b
}

// page asserts the status and reads the page.
func (s *shop) page(path string, status int) *goquery.Document {
	s.t.Helper()
	a := s.get(path, "")
	require.Equal(s.t, status, a.Status, "%s: %s", path, a.Header.Get("Location"))
	require.Equal(s.t, "no-store", a.Header.Get("Cache-Control"), path)
	require.Contains(s.t, a.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';", path)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.Body))
	require.NoError(s.t, err)
	require.Zero(s.t, doc.Find("[style], style, script:not([src])").Length(), path)
	return doc
}

func testID(id string) string { return "[data-testid=" + id + "]" }

// seen are the data-ids of a list's rows.
func seen(doc *goquery.Document, rows string) []string {
	return doc.Find(testID(rows)).Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-id", "") })
}

func TestListsShowTheirRowsByEveryFilter(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	sold, open := f.sold("key-1"), f.placed("key-2")
	f.write(`UPDATE outbox_events SET parked_at = now(), dispatched_at = NULL, last_error = 'mail to anna@example.com failed' WHERE order_id = $1`, open)
	v := f.as(account.Viewer)
	for _, l := range []struct{ address, rows, sql string }{
		{"/console/operations", "operation-row", `SELECT id FROM operations`},
		{"/console/operations?state=COMPLETED", "operation-row", `SELECT id FROM operations WHERE status = 'COMPLETED'`},
		{"/console/operations?state=PROCESSING", "operation-row", `SELECT id FROM operations WHERE status = 'PROCESSING'`},
		{"/console/operations?type=CREATE_ORDER", "operation-row", `SELECT id FROM operations WHERE type = 'CREATE_ORDER'`},
		{"/console/operations?type=CREATE_ORDER&state=FAILED", "operation-row", `SELECT id FROM operations WHERE false`},
		{"/console/operations?state=STUCK", "operation-row", `SELECT id FROM operations WHERE false`},
		{"/console/payments", "payment-row", `SELECT id FROM payments`},
		{"/console/payments?state=SUCCEEDED", "payment-row", `SELECT id FROM payments WHERE status = 'SUCCEEDED'`},
		{"/console/payments?state=UNKNOWN", "payment-row", `SELECT id FROM payments WHERE false`},
		{"/console/payments?provider=stripe", "payment-row", `SELECT id FROM payments WHERE false`},
		{"/console/orders", "order-row", `SELECT id FROM orders`},
		{"/console/orders?state=AWAITING_PAYMENT", "order-row", `SELECT id FROM orders WHERE status = 'AWAITING_PAYMENT'`},
		{"/console/orders?state=IN_REVIEW&lang=ru", "order-row", `SELECT id FROM orders WHERE needs_review`},
		{"/console/orders?state=EXPIRED", "order-row", `SELECT id FROM orders WHERE false`},
		{"/console/inbox?state=APPLIED&type=payment.succeeded", "inbox-row", `SELECT id FROM incoming_events`},
		{"/console/inbox?type=nothing", "inbox-row", `SELECT id FROM incoming_events WHERE false`},
		{"/console/outbox?state=PARKED", "outbox-row", `SELECT id FROM outbox_events WHERE parked_at IS NOT NULL`},
		{"/console/outbox?type=ORDER_PAID&limit=200&lang=ru", "outbox-row", `SELECT id FROM outbox_events WHERE event_type = 'ORDER_PAID'`},
	} {
		var want []string
		for _, id := range f.ids(l.sql) {
			want = append(want, id.String())
		}
		doc := v.page(l.address, http.StatusOK)
		require.ElementsMatch(t, want, seen(doc, l.rows), l.address)
		require.Equal(t, len(want) == 0, doc.Find(testID("empty")).Length() == 1, "a sentence instead of rows: %s", l.address)
		require.Equal(t, 1, doc.Find("h1").Length())
	}
	doc := v.page("/console/outbox?state=PARKED", http.StatusOK)
	require.Contains(t, doc.Text(), "mail to a•••@example.com failed")
	row := v.page("/console/payments?state=SUCCEEDED", http.StatusOK).Find(testID("payment-row"))
	require.Equal(t, "/console/intents/"+sold, row.Find(".row-link").AttrOr("href", ""))
	require.Contains(t, row.Text(), "RUB")
}

func TestListsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.sold("key-1")
	v := f.as(account.Viewer)
	for query, named := range map[string]string{
		"state=GONE": "state=GONE", "state=COMPLETED&state=FAILED": "state=", "older=5m": "older=5m", "limit=51": "limit=51", "cursor=abc": "cursor=abc",
		"State=FAILED": "State=FAILED", "state=%00": "state=", "type=%3Cb%3E": "type=<b>", "%3Cscript%3E=1": "<script>=1", "state=;": "?", "provider=elsewhere": "provider=elsewhere",
	} {
		for _, list := range []string{"operations", "payments", "inbox", "outbox"} {
			if list == "inbox" && strings.HasPrefix(query, "type=") {
				continue // any word of a provider
			}
			doc := v.page("/console/"+list+"?"+query, http.StatusBadRequest)
			require.Equal(t, 1, doc.Find(testID("error-page")).Length())
			require.Contains(t, doc.Find(testID("error-page")).Text(), named, query)
			require.Zero(t, doc.Find("table").Length(), "no list at all")
			require.Zero(t, doc.Find("b, main script").Length())
		}
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	token := f.shopper()
	for i := range 30 {
		f.order(token, fmt.Sprintf("key-%d", i), pixel).placed(t)
	}
	v := f.as(account.Viewer)
	first := v.page("/console/operations?type=CREATE_ORDER&state=COMPLETED&limit=25", http.StatusOK)
	require.Zero(t, first.Find(testID("pager-newer")).Length())
	f.order(token, "meanwhile", pixel).placed(t)
	older := first.Find(testID("pager-older")).AttrOr("href", "")
	second := v.page(older, http.StatusOK)
	require.Len(t, seen(first, "operation-row"), 25)
	require.Len(t, seen(second, "operation-row"), 5)
	require.NotSubset(t, seen(first, "operation-row"), seen(second, "operation-row"))
	require.Zero(t, second.Find(testID("pager-older")).Length())
	back := v.page(second.Find(testID("pager-newer")).AttrOr("href", ""), http.StatusOK)
	require.Equal(t, seen(first, "operation-row"), seen(back, "operation-row"), "a row that came meanwhile moves nothing")
	require.Equal(t, 1, back.Find(testID("pager-newer")).Length())
	for _, part := range []string{"type=CREATE_ORDER", "state=COMPLETED", "limit=25"} {
		require.Contains(t, older, part)
	}
}

func TestTheOverviewCountsWhatItsListsShow(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	v := f.as(account.Viewer)
	calm := v.page("/console", http.StatusOK)
	tiles := calm.Find(".tile").Length()
	require.GreaterOrEqual(t, tiles, 6)
	require.Equal(t, tiles, calm.Find(".tile.calm").Length())
	require.Zero(t, calm.Find("#rail-work .pill").Length())
	f.sold("key-1")
	f.placed("key-2")
	f.exec(`UPDATE payments SET status = 'UNKNOWN', updated_at = now() - interval '20 minutes' WHERE status = 'PENDING'`)
	f.exec(`UPDATE operations SET created_at = now() - interval '20 minutes', next_attempt_at = next_attempt_at - interval '1 hour'`)
	f.exec(`UPDATE operations SET status = 'FAILED', failure_code = 'X' WHERE type = 'ACCRUE_BONUS'`)
	f.exec(`UPDATE incoming_events SET status = 'QUARANTINED'`)
	f.exec(`UPDATE outbox_events SET dispatched_at = NULL, parked_at = now() WHERE event_type = 'ORDER_PAID'`)
	f.exec(`UPDATE orders SET needs_review = true, review_reason = 'x' WHERE status = 'FULFILLED'`)
	doc := v.page("/console", http.StatusOK)
	require.NotZero(t, doc.Find(testID("operation-row")).Length())
	waiting := 0
	doc.Find(".tile").Each(func(_ int, tile *goquery.Selection) {
		list := v.page(tile.AttrOr("href", ""), http.StatusOK)
		require.Equal(t, tile.AttrOr("data-count", ""), fmt.Sprint(list.Find(testID("work-row")).Length()), tile.Text())
		if tile.AttrOr("data-count", "") != "0" {
			waiting++
		}
	})
	require.GreaterOrEqual(t, waiting, 6)
	require.Equal(t, waiting, doc.Find("#rail-work .pill").Length())
	require.Equal(t, 2, doc.Find("#rail-work .pill.over").Length(), "unknown and stuck past their limits; the others have just begun to wait")
}
