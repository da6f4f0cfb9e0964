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

func intentOf(state string) func(*stage) string {
	return func(s *stage) string { return "/go/" + s.orders[state].OrderID.String() }
}

var pages = []shown{
	{name: "catalogue", address: at("/")},
	{name: "product", address: at("/products/" + sold)},
	{name: "product-sold-out", address: at("/products/aurora-synth")},
	{name: "basket-empty", address: at("/cart")},
	{name: "basket", role: "buyer", address: at("/cart")},
	{name: "checkout", role: "buyer", address: at("/checkout")},
	{name: "checkout-errors", role: "buyer", address: at("/checkout"), expect: "status of 422", press: func(v *visitor) {
		v.fill("email", "not an address")
		v.click("pay-button")
		v.see("error-summary")
	}},
	{name: "order-awaiting-payment", role: "shopper", address: orderIn("PENDING")},
	{name: "order-unknown", role: "shopper", address: orderIn("UNKNOWN")},
	{name: "order-declined", role: "shopper", address: orderIn("CANCELED")},
	{name: "order-fulfilled", role: "shopper", address: orderIn("SUCCEEDED")},
	{name: "orders", role: "shopper", address: at("/orders")},
	{name: "orders-empty", address: at("/orders")},
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
	{name: "console-operations", role: "operator", address: at("/console/operations")},
	{name: "console-payments", role: "operator", address: at("/console/payments")},
	{name: "console-inbox", role: "operator", address: at("/console/inbox")},
	{name: "console-outbox", role: "operator", address: at("/console/outbox")},
	{name: "console-intent-fulfilled", role: "operator", address: intentOf("SUCCEEDED")},
	{name: "console-intent-unknown", role: "operator", address: intentOf("UNKNOWN")},
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

// makeOrders makes one order of the shopper's for every state of a payment.
func (s *stage) makeOrders(t *testing.T) {
	t.Helper()
	for _, state := range []string{"PENDING", "CANCELED", "SUCCEEDED", "UNKNOWN"} {
		if state == "UNKNOWN" {
			s.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
			s.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0})
			s.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0})
		}
		w := wish{Items: []item{{sold, 2}, {"copper-ledger", 1}}, Currency: "RUB", PromoCode: "WELCOME10"}
		a := s.must("POST", s.file.Web+"/api/orders", s.buyer().token, newKey(), w)
		require.Equal(t, 201, a.status, "%s", a)
		o := decode[order](t, a)
		first := "PENDING"
		if state == "UNKNOWN" {
			first = state
		}
		s.await(o, first)
		if decision := map[string]string{"CANCELED": "cancel", "SUCCEEDED": "succeed"}[state]; decision != "" {
			s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE id = $1`, o.last().PaymentID), decision)
			s.await(o, state)
		}
		s.orders[state] = o
	}
	eventually(t, "the paid order is fulfilled", func() bool {
		return s.text(`SELECT status FROM orders WHERE id = $1`, s.orders["SUCCEEDED"].OrderID) == "FULFILLED"
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
