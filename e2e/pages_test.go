//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// shown is one page of the product in one state. To have another page checked (axe, no sideways scrolling, picture), add a row.
type shown struct {
	name    string
	role    string // who looks: "" is a guest with nothing, "buyer" one with a filled basket, else a role of demo.json
	address func(s *stage) string
	press   func(v *visitor) // what is done after opening; nil for nothing
	expect  string           // complaint of the browser that belongs to it, "" for none
}

func at(address string) func(*stage) string { return func(*stage) string { return address } }

func orderIn(state string) func(*stage) string {
	return func(s *stage) string { return "/orders/" + s.orders[state].OrderID.String() }
}

// shows is for a state that must be the one that is looked at.
func shows(state string) func(*visitor) {
	return func(v *visitor) {
		v.t.Helper()
		require.Equal(v.t, 1, v.has(`[data-testid="order-status"][data-state="`+state+`"]`), state)
	}
}

func intentOf(state string) func(*stage) string {
	return func(s *stage) string { return "/go/" + s.orders[state].OrderID.String() }
}

var pages = []shown{
	{name: "catalogue", address: at("/")},
	{name: "catalogue-found", address: at("/?q=paper&kind=physical&stock=1")},
	{name: "catalogue-none", address: at("/?q=nothing-like-it")},
	{name: "catalogue-yen", address: at("/"), press: func(v *visitor) { v.chooses("JPY") }},
	{name: "product-delivered", address: at("/products/slate-mug"), press: func(v *visitor) { v.chooses("RUB") }},
	{name: "product", address: at("/products/" + sold)},
	{name: "product-sold-out", address: at("/products/aurora-synth")},
	{name: "basket-empty", address: at("/cart")},
	{name: "basket", role: "buyer", address: at("/cart")},
	{name: "basket-changed", role: "buyer", address: func(s *stage) string {
		s.exec(`UPDATE cart_items SET seen_price_minor = 199000 WHERE product_id = $1`, sold)
		return "/cart"
	}},
	{name: "checkout", role: "buyer", address: at("/checkout")},
	{name: "checkout-errors", role: "buyer", address: at("/checkout"), expect: "status of 422", press: func(v *visitor) {
		v.fill("email", "not an address")
		v.click("pay-button")
		v.see("error-summary")
	}},
	{name: "checkout-delivery", role: "carrier", address: at("/checkout")},
	{name: "checkout-delivery-errors", role: "carrier", address: at("/checkout"), expect: "status of 422", press: func(v *visitor) {
		v.click("pay-button")
		v.see("error-summary")
	}},
	{name: "conflict-basket", role: "buyer", address: at("/checkout"), expect: "status of 409", press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=seen]').value = 'lumen-notes 3 2490.00\nslate-mug 1 1290.00', document.querySelector('[name=basket]').value = 'x'`))
		v.fill("email", "ann@example.org")
		v.click("pay-button")
		v.see("conflict-basket")
	}},
	{name: "conflict-other", role: "twin", address: at("/checkout"), expect: "status of 409", press: func(v *visitor) {
		v.fill("email", "ann@example.org")
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=key]').remove(), document.querySelector('[data-testid=checkout-form]').action = localStorage.ordered`))
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid=checkout-form]').submit()`))
		v.see("conflict-other")
	}},
	{name: "conflict-open", role: "twin", address: at("/checkout"), expect: "status of 409", press: func(v *visitor) {
		v.fill("email", "ann@example.org")
		v.click("pay-button")
		v.see("conflict-open")
	}},
	{name: "order-preparing", role: "shopper", address: orderIn("PREPARING"), press: shows("PREPARING")},
	{name: "order-unknown-long", role: "shopper", address: orderIn("UNKNOWN_LONG"), press: shows("UNKNOWN_LONG")},
	{name: "order-paid", role: "shopper", address: orderIn("PAID"), press: shows("PAID")},
	{name: "order-canceled", role: "shopper", address: orderIn("GIVEN UP"), press: shows("CANCELED")},
	{name: "order-awaiting-payment", role: "shopper", address: orderIn("PENDING"), press: shows("AWAITING_PAYMENT")},
	{name: "order-unknown", role: "shopper", address: orderIn("UNKNOWN"), press: shows("UNKNOWN")},
	{name: "order-declined", role: "shopper", address: orderIn("CANCELED"), press: shows("DECLINED")},
	{name: "order-fulfilled", role: "shopper", address: orderIn("SUCCEEDED"), press: shows("FULFILLED")},
	{name: "orders", role: "shopper", address: at("/orders")},
	{name: "orders-empty", address: at("/orders")},
	{name: "order-find", address: orderIn("PENDING"), expect: "status of 404"},
	{name: "sign-in", address: at("/sign-in")},
	{name: "sign-in-wrong", address: at("/sign-in"), expect: "status of 422", press: func(v *visitor) {
		v.fill("email", "nobody@example.com")
		v.fill("password", "wrong\r")
		v.see("error-summary")
	}},
	{name: "account-menu", role: "shopper", address: at("/"), press: func(v *visitor) { v.click("account") }},
	{name: "not-found", address: at("/no/such/page"), expect: "status of 404"},
	{name: "console-sign-in", address: at("/console/sign-in")},
	{name: "console", role: "operator", address: at("/console")},
	{name: "console-week", role: "operator", address: at("/console?range=7d"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('#main details').forEach(d => { d.open = true; })`))
	}},
	{name: "console-alarms", role: "operator", address: at("/console/alarms")},
	{name: "console-alarms-viewer", role: "viewer", address: at("/console/alarms")},
	{name: "console-drills", role: "operator", address: at("/console/drills")},
	{name: "console-prefs", role: "operator", address: at("/console/prefs")},
	{name: "console-views", role: "operator", address: at("/console/views")},
	{name: "console-retention", role: "operator", address: at("/console/retention")},
	{name: "console-users", role: "operator", address: at("/console/users")},
	{name: "console-help", role: "operator", address: at("/console/help")},
	{name: "console-operations", role: "operator", address: at("/console/operations")},
	{name: "console-payments", role: "operator", address: at("/console/payments")},
	{name: "console-orders", role: "operator", address: at("/console/orders")},
	{name: "console-inbox", role: "operator", address: at("/console/inbox")},
	{name: "console-outbox", role: "operator", address: at("/console/outbox")},
	{name: "console-intent-fulfilled", role: "operator", address: intentOf("SUCCEEDED")},
	{name: "console-intent-unknown", role: "operator", address: intentOf("UNKNOWN")},
	{name: "console-intent-lanes", role: "operator", address: func(s *stage) string {
		return "/console/intents/" + s.orders["SUCCEEDED"].OrderID.String() + "?lane=inbox&lane=provider_out&order=newest"
	}},
	{name: "console-intent-raw", role: "operator", address: intentOf("SUCCEEDED"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('details').forEach(d => { d.open = true });0`))
	}},
	{name: "console-intent-revealed", role: "operator", address: func(s *stage) string { return "/console/act/reveal/" + s.orders["SUCCEEDED"].OrderID.String() }, press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=reason]").value = "the customer asked which address we have"`))
		v.click("act-submit")
		v.see("personal")
	}},
	{name: "console-work-unknown", role: "operator", address: at("/console/work/unknown_payments")},
	{name: "console-work-causes", role: "operator", address: at("/console/work/unknown_payments?group=1")},
	{name: "console-work-stuck", role: "operator", address: at("/console/work/stuck_operations")},
	{name: "console-work-empty", role: "operator", address: at("/console/work/failed_jobs")},
	{name: "console-work-duplicates", role: "operator", address: at("/console/work/possible_duplicates")},
	{name: "console-act-refund", role: "operator", address: func(s *stage) string { return "/console/act/refund/" + s.orders["SUCCEEDED"].OrderID.String() }},
	{name: "console-act-broken", role: "operator", expect: "status of 422", address: func(s *stage) string {
		return "/console/act/resend_mail/" + s.orders["SUCCEEDED"].OrderID.String()
	}, press: func(v *visitor) {
		v.click("act-submit")
		v.see("error-summary")
	}},
	{name: "console-act-viewer", role: "viewer", address: func(s *stage) string { return "/console/act/refund/" + s.orders["SUCCEEDED"].OrderID.String() }},
	{name: "console-batch", role: "operator", address: at("/console/work/unknown_payments"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=selected]').checked = true`))
		v.click("bulk-reconcile")
		v.see("batch-form")
	}},
	{name: "console-batch-assign", role: "operator", address: at("/console/work/unknown_payments"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=all]').checked = true`))
		v.click("bulk-assign")
		v.see("batch-input")
	}},
	{name: "console-batch-run", role: "operator", address: at("/console/work/unknown_payments"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=selected]').checked = true`))
		v.click("bulk-assign")
		v.see("batch-form")
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=reason]').value = 'my shift'`))
		v.click("batch-start")
		v.see("batch")
		v.do(chromedp.WaitVisible(chromedp.CSS(`[data-testid=batch][data-status=DONE]`)))
	}},
	{name: "console-act-assign", role: "operator", address: func(s *stage) string { return "/console/act/assign/" + s.orders["SUCCEEDED"].OrderID.String() }},
	{name: "console-batches", role: "operator", address: at("/console/batches")},
	{name: "console-reconcile", role: "operator", address: at("/console/reconcile")},
	{name: "console-audit", role: "operator", address: at("/console/audit"), press: func(v *visitor) {
		v.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('.audit-more').forEach(d => { d.open = true });0`))
	}},
	{name: "console-search", role: "operator", address: at("/console/search")},
	{name: "console-search-near", role: "operator", address: func(s *stage) string {
		return "/console/search?q=" + s.orders["SUCCEEDED"].OrderID.String()[:20]
	}},
	{name: "console-search-none", role: "operator", address: at("/console/search?q=nothing-like-it")},
}

// stage is a demo with an order in every state.
type stage struct {
	*scene
	orders map[string]order // by the state of their payment
	axe    string
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	axe, err := os.ReadFile("../static/node_modules/axe-core/axe.min.js")
	if err != nil {
		missing(t, "axe-core (make assets)")
	}
	s := &stage{scene: &scene{demo: openDemo(t), browser: browser}, orders: map[string]order{}, axe: string(axe)}
	s.makeOrders(t)
	people := map[string]*visitor{"": s.visit(t), "buyer": s.visit(t)}
	fillBasket(people["buyer"])
	people["carrier"] = s.visit(t)
	people["carrier"].goTo("/products/slate-mug")
	people["carrier"].click("add-to-basket")
	eventually(t, "the mug is in", func() bool { return people["carrier"].now("basket-count") == "1" })
	fillBasketWith(people["carrier"], "2")
	people["twin"] = s.visit(t)
	fillBasket(people["twin"])
	js[bool](people["twin"], `(localStorage.ordered = location.pathname, true)`)
	people["twin"].fill("email", someone())
	people["twin"].click("pay-button")
	people["twin"].arrive("/orders/")
	fillBasket(people["twin"])
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			v, ok := people[p.role]
			if !ok {
				v = s.visit(s.t)
				v.signIn(s.login(p.role))
				people[p.role] = v
			}
			// What goes wrong on this page is this subtest's.
			v.t, v.complaints, v.expected = t, nil, nil
			if p.expect != "" {
				v.expect(p.expect)
			}
			s.check(v, p)
			v.leave()
			v.t, v.complaints = s.t, nil
		})
	}
}

func (s *stage) login(role string) (email, password string) {
	s.t.Helper()
	for _, u := range s.file.Users {
		if u.Role == role {
			return u.Email, u.Password
		}
	}
	s.t.Fatalf("nobody is a %s", role)
	return "", ""
}

// makeOrders makes one order of the shopper's for every state that its page can show.
func (s *stage) makeOrders(t *testing.T) {
	t.Helper()
	for _, state := range []string{"PENDING", "CANCELED", "SUCCEEDED", "PAID", "GIVEN UP", "PREPARING"} {
		o := s.makeOrder(t)
		s.await(o, "PENDING")
		s.orders[state] = o
		switch state {
		case "CANCELED":
			s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE id = $1`, o.last().PaymentID), "cancel")
			s.await(o, state)
		case "SUCCEEDED", "PAID":
			s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE id = $1`, o.last().PaymentID), "succeed")
			s.await(o, "SUCCEEDED")
		case "GIVEN UP":
			a := s.must("POST", s.file.Web+"/api/orders/"+o.OrderID.String()+"/cancel", s.buyer().token, newKey(), nil)
			require.Less(t, a.status, 300, "%s", a)
		}
	}
	for _, state := range []string{"SUCCEEDED", "PAID"} {
		eventually(t, "the paid order is fulfilled", func() bool {
			return s.text(`SELECT status FROM orders WHERE id = $1`, s.orders[state].OrderID) == "FULFILLED"
		})
	}
	s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
	s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0})
	// These pass too quickly to be looked at, so they are set: nobody buys anything here.
	s.exec(`UPDATE orders SET status = 'PAID', fulfilled_at = NULL WHERE id = $1`, s.orders["PAID"].OrderID)
	eventually(t, "the news of the payment to be prepared has come", func() bool { // it would move it on
		return s.count(`SELECT count(*) FROM incoming_events WHERE payment_id = $1 AND status <> 'RECEIVED'`, s.orders["PREPARING"].last().PaymentID) > 0
	})
	s.exec(`UPDATE payments SET status = 'SUBMITTING', confirmation_url = NULL WHERE id = $1`, s.orders["PREPARING"].last().PaymentID)
	for _, state := range []string{"UNKNOWN", "UNKNOWN_LONG"} {
		s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
		s.orders[state] = s.makeOrder(t)
		s.await(s.orders[state], "UNKNOWN")
	}
	s.exec(`UPDATE payments SET updated_at = now() - interval '20 minutes' WHERE id = $1`, s.orders["UNKNOWN_LONG"].last().PaymentID)
}

func (s *stage) makeOrder(t *testing.T) order {
	t.Helper()
	w := wish{Items: []item{{sold, 2}, {"copper-ledger", 1}}, Currency: "RUB", PromoCode: "WELCOME10"}
	a := s.must("POST", s.file.Web+"/api/orders", s.buyer().token, newKey(), w)
	require.Equal(t, 201, a.status, "%s", a)
	return decode[order](t, a)
}

// chooses a currency by the switch at the foot of the page.
func (v *visitor) chooses(code string) {
	v.t.Helper()
	js[bool](v, `(window.before = true)`) // the page may show this currency already: the next one has to have come
	v.click("currency-" + code)
	const ready = `document.readyState === 'complete' && !window.before && document.querySelector('[data-testid="currency-%s"]')?.ariaPressed === 'true'`
	eventually(v.t, "the page is in "+code, func() bool {
		shown, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](fmt.Sprintf(ready, code)))
		return err == nil && shown // an error: the page is just being replaced
	})
}

func (s *stage) await(o order, state string) {
	s.t.Helper()
	eventually(s.t, "payment is "+state, func() bool { return s.text(`SELECT status FROM payments WHERE id = $1`, o.last().PaymentID) == state })
}

// check looks at one page in both languages, themes and widths.
func (s *stage) check(v *visitor, p shown) {
	v.t.Helper()
	for _, lang := range []string{"en", "ru"} {
		v.speaks(lang)
		v.sees("light", 1280)
		v.goTo(p.address(s))
		if p.press != nil {
			p.press(v)
		}
		require.Equal(v.t, lang, look(v, chromedp.Evaluate[string](`document.documentElement.lang`)))
		v.do(chromedp.Evaluate[chromedp.Void](s.axe))
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				v.sees(theme, width)
				s.judge(v, fmt.Sprintf("%s-%s-%s-%d", p.name, lang, theme, width))
			}
		}
		v.sees("light", 320)
		wide := look(v, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		require.LessOrEqual(v.t, wide, 0, "%s %s scrolls sideways at 320 px", p.name, lang)
	}
}

// axeRun waits for what is still fading from one theme into the other.
const axeRun = `Promise.allSettled(document.getAnimations().map(a => a.finished)).then(() => axe.run(document, {resultTypes: ['violations']})).then(r => r.violations.map(v => v.id + ': ' + v.help + ' ' +
	v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' (' + n.failureSummary.replace(/\s+/g, ' ') + ')').join('; ')))`

func (s *stage) judge(v *visitor, name string) {
	v.t.Helper()
	for _, violation := range look(v, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise)) {
		v.t.Errorf("%s: %s", name, violation)
	}
	if dir := os.Getenv("ONEFOLD_SCREENSHOTS"); dir != "" {
		require.NoError(v.t, os.MkdirAll(dir, 0o755))
		require.NoError(v.t, os.WriteFile(filepath.Join(dir, name+".png"), look(v, chromedp.FullScreenshot(100)), 0o644))
	}
}
