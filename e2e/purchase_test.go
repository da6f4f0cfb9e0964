//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const sold = "lumen-notes"

// scene is a demo with a browser in front of it.
type scene struct {
	*demo
	browser context.Context //nolint:containedctx // it is the browser
}

func TestPeopleBuyInTheBrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t) // first: without one there is nothing to start
	s := &scene{demo: openDemo(t), browser: browser}
	// One after the other: some of them break the provider for everybody.
	for _, story := range []struct {
		name string
		tell func(s *scene, v *visitor)
	}{
		{"a guest buys a licence", guestBuys},
		{"a guest buys without scripts", guestBuysWithoutScripts},
		{"a guest buys with the keyboard alone", guestBuysWithKeyboard},
		{"a double click on Pay is one order", doubleClick},
		{"a double click on Pay without scripts is one order", doubleClickWithoutScripts},
		{"reload and Back after the order lead to the order", reloadAndBack},
		{"two tabs of one basket are one order", twoTabs},
		{"a second tab with other details is told so", otherDetails},
		{"a basket that changed meanwhile is shown again", basketChanged},
		{"a declined payment is paid with another card", declined},
		{"an unknown payment offers nothing to pay", unknown},
		{"a lost answer is repeated by the page", lostAnswer},
		{"what was typed wrong is said and kept", brokenForm},
		{"a shopper signs in and keeps the basket", signsIn},
		{"support finds the intent by any of its IDs", findsIntent},
	} {
		t.Run(story.name, func(t *testing.T) {
			story.tell(s, s.visit(t))
		})
	}
	eventually(t, "every paid order is fulfilled", func() bool { return s.count(`SELECT count(*) FROM orders WHERE status = 'PAID'`) == 0 })
	run(t, "", s.observer.env(), "check")
	assertLedger(s.observer, s.sim.ledger(), 0)
	assertHealthyLog(s.observer, s.process)
}

func (s *scene) visit(t *testing.T) *visitor {
	t.Helper()
	return visit(t, s.browser, s.file.Web)
}

func someone() string { return "guest-" + uuid.NewString() + "@example.org" }

// fillBasket puts one licence into the basket and goes to the form.
func fillBasket(v *visitor) {
	v.t.Helper()
	v.goTo("/")
	v.do(chromedp.Click(chromedp.CSS(`[data-testid="product-`+sold+`"] [data-testid="add-to-basket"]`), chromedp.NodeVisible))
	eventually(v.t, "the basket counts one", func() bool { return v.now("basket-count") == "1" })
	v.click("basket-link")
	v.arrive("/cart")
	v.click("checkout-button")
	v.arrive("/checkout/")
}

// order fills the form and presses Pay; it returns the order's ID.
func placeOrder(v *visitor, email string) string {
	v.t.Helper()
	fillBasket(v)
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	return path.Base(v.at())
}

// payAtProvider goes to the hosted page, pays and comes back.
func payAtProvider(v *visitor) {
	v.t.Helper()
	v.until("AWAITING_PAYMENT")
	v.click("continue-to-payment")
	v.see("pay-succeed")
	v.click("pay-succeed")
	v.arrive("/orders/")
}

func (s *scene) requireBought(v *visitor, id, email string) {
	v.t.Helper()
	v.until("FULFILLED")
	require.Contains(v.t, look(v, chromedp.Text(chromedp.CSS("main"))), "Payment received")
	key := v.text("license-key")
	require.Equal(v.t, s.text(`SELECT license_key FROM licenses WHERE order_id = $1`, id), key)
	require.Equal(v.t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
	v.goTo(s.sim.base + "/mailbox")
	v.do(chromedp.Click(chromedp.CSS(`[data-testid="mail"]`), chromedp.NodeVisible)) // the newest
	letter := v.text("letter")
	require.Contains(v.t, letter, email)
	require.Contains(v.t, letter, key)
}

func guestBuys(s *scene, v *visitor) {
	email := someone()
	id := placeOrder(v, email)
	payAtProvider(v)
	s.requireBought(v, id, email)
}

func guestBuysWithoutScripts(s *scene, v *visitor) {
	email := someone()
	v.withoutScripts()
	id := placeOrder(v, email)
	payAtProvider(v)
	s.requireBought(v, id, email)
}

func guestBuysWithKeyboard(s *scene, v *visitor) {
	t := v.t
	email := someone()
	v.goTo("/")
	v.tabTo("add-to-basket", "product-"+sold)
	v.presses(kb.Enter)
	eventually(t, "the basket counts one", func() bool { return v.now("basket-count") == "1" })
	v.goTo("/") // the focus starts at the top
	v.tabTo("basket-link", "")
	v.presses(kb.Enter)
	v.arrive("/cart")
	v.tabTo("checkout-button", "")
	v.presses(kb.Enter)
	v.arrive("/checkout/")
	v.tabTo("email", "")
	v.presses(email)
	v.tabTo("pay-button", "")
	v.presses(kb.Enter)
	v.arrive("/orders/")
	id := path.Base(v.at())
	v.until("AWAITING_PAYMENT")
	v.tabTo("continue-to-payment", "")
	v.presses(kb.Enter)
	v.see("pay-succeed")
	v.tabTo("pay-succeed", "")
	v.presses(kb.Enter)
	v.arrive("/orders/")
	s.requireBought(v, id, email)
}

func doubleClick(s *scene, v *visitor) {
	t := v.t
	email := someone()
	fillBasket(v)
	v.fill("email", email)
	v.do(chromedp.DoubleClick(testid("pay-button"), chromedp.NodeVisible))
	v.arrive("/orders/")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
	id := path.Base(v.at())
	payAtProvider(v)
	s.requireBought(v, id, email)
}

func doubleClickWithoutScripts(s *scene, v *visitor) {
	t := v.t
	email := someone()
	v.withoutScripts()
	fillBasket(v)
	v.fill("email", email)
	v.do(chromedp.DoubleClick(testid("pay-button"), chromedp.NodeVisible))
	v.arrive("/orders/")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
}

func reloadAndBack(s *scene, v *visitor) {
	t := v.t
	email := someone()
	fillBasket(v)
	form := v.at()
	v.do(chromedp.Reload())
	require.Equal(t, form, v.at(), "a reload keeps the key")
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	id := path.Base(v.at())
	v.do(chromedp.Reload())
	require.Equal(t, id, path.Base(v.at()))
	v.do(chromedp.NavigateBack())
	v.arrive("/orders/" + id)
	require.Zero(t, v.has(`[data-testid="pay-button"]`), "the form is never shown again")
	v.goTo(strings.TrimPrefix(form, v.base))
	v.arrive("/orders/" + id)
	payAtProvider(v)
	v.until("FULFILLED")
	v.do(chromedp.Reload())
	v.see("license-key")
	v.do(chromedp.NavigateBack()) // to the provider's page: it is paid, nothing to pay twice
	require.Zero(t, v.has(`[data-testid="pay-succeed"]`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
}

func twoTabs(s *scene, v *visitor) {
	t := v.t
	email := someone()
	fillBasket(v)
	form := v.at()
	second := v.another()
	second.goTo("/checkout")
	require.Equal(t, form, second.at(), "both tabs carry the same key")
	second.fill("email", email)
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	second.click("pay-button")
	second.arrive("/orders/")
	require.Equal(t, v.at(), second.at())
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
}

// otherDetails: a second tab sends the same basket with another address after it was ordered.
func otherDetails(s *scene, v *visitor) {
	t := v.t
	email := someone()
	fillBasket(v)
	second := v.another()
	second.expect("status of 409")
	second.goTo("/checkout")
	second.fill("email", someone())
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	second.click("pay-button")
	second.see("conflict-other")
	require.Contains(t, second.text("conflict-other"), email)
	second.click("open-order")
	second.arrive("/orders/")
	require.Equal(t, v.at(), second.at())
}

// basketChanged: what is paid is what the page showed.
func basketChanged(s *scene, v *visitor) {
	t := v.t
	email := someone()
	v.expect("status of 409")
	fillBasket(v)
	v.fill("email", email)
	second := v.another()
	second.goTo("/products/copper-ledger")
	second.click("add-to-basket")
	eventually(t, "the basket counts two", func() bool { return second.now("basket-count") == "2" })
	v.click("pay-button")
	v.see("conflict-basket")
	require.Zero(t, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
	v.click("continue-checkout")
	v.arrive("/checkout/")
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	require.Equal(t, 249000+329990, s.count(`SELECT total_minor FROM orders WHERE email = $1`, email))
}

func declined(s *scene, v *visitor) {
	t := v.t
	email := someone()
	id := placeOrder(v, email)
	v.until("AWAITING_PAYMENT")
	v.click("continue-to-payment")
	v.see("pay-cancel")
	v.click("pay-cancel")
	v.arrive("/orders/" + id)
	v.until("DECLINED")
	require.Contains(t, v.text("order-status"), "did not go through")
	v.click("retry-payment")
	payAtProvider(v)
	s.requireBought(v, id, email)
	require.Equal(t, []string{"1 CANCELED", "2 SUCCEEDED"}, s.texts(`SELECT attempt || ' ' || status FROM payments WHERE order_id = $1 ORDER BY attempt`, id))
}

func unknown(s *scene, v *visitor) {
	t := v.t
	email := someone()
	mends := []func(){
		s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1}),
		s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0}),
		s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0}),
	}
	id := placeOrder(v, email)
	v.until("UNKNOWN")
	words := v.text("order-status")
	require.Contains(t, words, "confirming your payment")
	require.Contains(t, words, "do not need to pay again")
	require.Zero(t, v.has(`[data-testid="continue-to-payment"], [data-testid="retry-payment"], [data-testid="pay-button"]`), "no way to pay")
	v.see("check-again")
	v.goTo("/orders/" + id + "/pay")
	v.arrive("/orders/" + id)
	for _, mend := range mends {
		mend()
	}
	payAtProvider(v)
	s.requireBought(v, id, email)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM payments WHERE order_id = $1`, id))
}

// lostAnswer: the shop stops answering for a while; the page tries again with the same key and ends at the one order.
func lostAnswer(s *scene, v *visitor) {
	t := v.t
	email := someone()
	v.expect("Failed to load resource") // that is the point
	v.expect("htmx:")
	fillBasket(v)
	v.fill("email", email)
	release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, sold)
	v.click("pay-button")
	eventually(t, "the page says that it tries again", func() bool { return v.now("retry-status") != "" })
	release()
	v.arrive("/orders/")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email))
}

func brokenForm(s *scene, v *visitor) {
	t := v.t
	v.expect("status of 422")
	fillBasket(v)
	form := v.at()
	v.fill("name", "Ann Example")
	v.fill("email", "not an address")
	v.click("pay-button")
	v.see("error-summary")
	require.Equal(t, form, v.at())
	require.Equal(t, []string{"not an address", "Ann Example"}, []string{
		look(v, chromedp.Value(chromedp.CSS(`[name="email"]`))), look(v, chromedp.Value(chromedp.CSS(`[name="name"]`))),
	})
	email := someone()
	v.fill("email", email)
	v.click("pay-button")
	v.arrive("/orders/")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE email = $1`, email), "the key was still open")
}

func signsIn(s *scene, v *visitor) {
	t := v.t
	v.expect("status of 422")
	fillBasket(v)
	u := s.file.Users[1]
	v.goTo("/sign-in")
	v.fill("email", u.Email)
	v.fill("password", "wrong")
	v.presses(kb.Enter)
	v.see("error-summary")
	v.signIn(u.Email, u.Password)
	v.see("account")
	require.Equal(t, "1", v.text("basket-count"), "the basket came along")
	v.click("basket-link")
	v.arrive("/cart")
	v.click("checkout-button")
	v.arrive("/checkout/")
	require.Equal(t, u.Email, look(v, chromedp.Value(chromedp.CSS(`[name="email"]`))))
	v.click("pay-button")
	v.arrive("/orders/")
	id := path.Base(v.at())
	payAtProvider(v)
	s.requireBought(v, id, u.Email)
	v.goTo("/orders")
	v.see("order-row")
	stranger := s.visit(t)
	stranger.expect("status of 404")
	stranger.goTo("/orders/" + id)
	require.NotContains(t, look(stranger, chromedp.Text(chromedp.CSS("body"))), fmt.Sprint(s.count(`SELECT number FROM orders WHERE id = $1`, id)))
}

func (v *visitor) signIn(email, password string) {
	v.t.Helper()
	v.goTo("/sign-in")
	v.fill("email", email)
	v.fill("password", password)
	v.presses(kb.Enter)
	eventually(v.t, "signed in", func() bool { return !strings.Contains(v.at(), "/sign-in") })
	v.do(chromedp.WaitReady(chromedp.CSS("main")))
}

// findsIntent: whatever ID a customer, a provider or a log line names, it leads to the one page about the purchase.
func findsIntent(s *scene, v *visitor) {
	t := v.t
	key := newKey()
	a := s.place(key)
	require.Equal(t, 201, a.status, "%s", a)
	o := decode[order](t, a)
	eventually(t, "the payment is there", func() bool {
		return s.count(`SELECT count(*) FROM payments WHERE order_id = $1 AND status = 'PENDING'`, o.OrderID) == 1
	})
	s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE order_id = $1`, o.OrderID), "succeed")
	eventually(t, "the order is fulfilled", func() bool {
		return s.count(`SELECT count(*) FROM orders WHERE id = $1 AND status = 'FULFILLED'`, o.OrderID) == 1
	})
	for _, u := range s.file.Users {
		if u.Role == "support" {
			v.signIn(u.Email, u.Password)
		}
	}
	number := fmt.Sprint(s.count(`SELECT number FROM orders WHERE id = $1`, o.OrderID))
	for kind, id := range map[string]string{
		"order": o.OrderID.String(), "operation": o.OperationID.String(), "idempotency key": key, "payment": o.last().PaymentID.String(),
		"provider's payment": s.text(`SELECT provider_payment_id FROM payments WHERE order_id = $1`, o.OrderID),
		"provider's event":   s.text(`SELECT event_id FROM incoming_events WHERE order_id = $1 LIMIT 1`, o.OrderID),
		"trace":              a.header.Get("Trace-Id"),
		"job":                fmt.Sprint(s.count(`SELECT job_id FROM journal WHERE order_id = $1 AND job_id IS NOT NULL LIMIT 1`, o.OrderID)),
	} {
		v.goTo("/go/" + id)
		require.Contains(t, v.at(), "/console/intents/", "%s %s", kind, id)
		require.Contains(t, v.text("intent-title"), number, "%s %s", kind, id)
		require.Positive(t, v.has(`[data-testid="timeline"] > li`), kind)
	}
}
