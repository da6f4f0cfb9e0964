//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// mall is a shop as it runs in production, behind a tap, with a browser before it.
type mall struct {
	*shop
	tap     *tap
	browser context.Context //nolint:containedctx // it is the browser
}

func openMall(t *testing.T) *mall {
	t.Helper()
	browser := startBrowser(t)
	m := &mall{shop: open(t, 1, 1), browser: browser}
	m.product(sold, "Lumen Notes", 249000)
	m.exec(`INSERT INTO product_prices VALUES ($1, 'USD', 2900)`, sold)
	m.product("copper-ledger", "Copper Ledger", 329990)
	m.tap = tapTo(t, "http://"+m.addrs[0])
	return m
}

func (m *mall) visit(t *testing.T) *visitor {
	t.Helper()
	return visit(t, m.browser, m.tap.base)
}

func (m *mall) ordersOf(email string) int {
	m.t.Helper()
	return m.count(`SELECT count(*) FROM orders WHERE email = $1`, email)
}

// payAll lets every payment that is open succeed at the provider.
func (m *mall) payAll() {
	m.t.Helper()
	eventually(m.t, "every payment is known", func() bool {
		return m.count(`SELECT count(*) FROM payments WHERE status IN ('CREATED','SUBMITTING','UNKNOWN')`) == 0
	})
	for _, id := range m.texts(`SELECT provider_payment_id FROM payments WHERE status = 'PENDING'`) {
		m.sim.decide(id, "succeed")
	}
	eventually(m.t, "every order is fulfilled", func() bool {
		return m.count(`SELECT count(*) FROM orders WHERE status NOT IN ('FULFILLED','CANCELED')`) == 0
	})
}

// CASES C05. Both tabs carry the key of the one basket, so there are no two keys to race; what is left of the case is that the
// same basket is sent twice at one moment, with the same and with other details.
func TestC05_TwoTabsOneCart(t *testing.T) {
	t.Parallel()
	m := openMall(t)
	t.Run("a both pressed at one barrier, many rounds", func(t *testing.T) {
		rounds := c05Rounds(t)
		g := newGuest(t, "http://"+m.addrs[0])
		for round := range rounds {
			email := someone()
			address, form := g.checkout(email)
			form.Set("again", "yes") // the guest's earlier orders of the same are open on purpose
			second, forms := m.tabs(g, address, form, round)
			answers, errs := make([]answer, 2), make([]error, 2)
			together(2, func(i int) { answers[i], errs[i] = g.send(http.MethodPost, address, forms[i]) })
			require.NoError(t, errs[0])
			require.NoError(t, errs[1])
			order := m.text(`SELECT id FROM orders WHERE email IN ($1, $2)`, email, second)
			require.Equal(t, 1, m.count(`SELECT count(*) FROM orders WHERE email IN ($1, $2)`, email, second))
			for _, a := range answers {
				if a.status == http.StatusServiceUnavailable { // the other is at work: the page asks again
					a = g.post(address, forms[0])
				}
				switch a.status {
				case http.StatusSeeOther:
					require.Equal(t, "/orders/"+order, a.header.Get("Location"))
				case http.StatusConflict:
					require.Contains(t, string(a.body), "/orders/"+order, "it points at the order there is")
				default:
					t.Fatalf("round %d: %s", round, a)
				}
			}
		}
		require.Equal(t, rounds, m.count(`SELECT count(*) FROM orders`))
		require.Equal(t, rounds, m.count(`SELECT reserved FROM products WHERE id = $1`, sold), "stock is reserved once each")
	})
	t.Run("b the second has read the basket before the first has finished", func(t *testing.T) {
		v := m.visit(t)
		email, other := someone(), someone()
		fillBasket(v)
		second := v.another()
		second.expect("Failed to load resource")
		second.expect("htmx:")
		second.goTo("/checkout")
		require.Equal(t, v.at(), second.at())
		v.fill("email", email)
		second.fill("email", other)
		release := m.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, sold)
		v.click("pay-button")
		eventually(t, "the first waits for our lock", m.waiting)
		second.click("pay-button")
		eventually(t, "the second is told to wait", func() bool { return second.now("retry-status") != "" })
		release()
		v.arrive("/orders/")
		second.see("conflict-other")
		second.click("open-order")
		second.arrive("/orders/")
		require.Equal(t, v.at(), second.at())
		require.Equal(t, 1, m.ordersOf(email)+m.ordersOf(other))
	})
	t.Run("two windows pressed at one moment", func(t *testing.T) {
		for range 2 {
			v := m.visit(t)
			email := someone()
			fillBasket(v)
			second := v.another()
			second.goTo("/checkout")
			tabs, errs := []*visitor{v, second}, make([]error, 2)
			for _, tab := range tabs {
				tab.fill("email", email)
			}
			together(2, func(i int) { errs[i] = chromedp.Do(tabs[i].ctx, chromedp.Click(testid("pay-button"))) })
			require.NoError(t, errs[0])
			require.NoError(t, errs[1])
			v.arrive("/orders/")
			second.arrive("/orders/")
			require.Equal(t, v.at(), second.at())
			require.Equal(t, 1, m.ordersOf(email))
		}
	})
	m.payAll()
	m.assertClean(0)
}

// c05Rounds is how often two tabs are pressed at one moment: ONEFOLD_C05_ROUNDS, else the 200 of the case.
func c05Rounds(t *testing.T) int {
	t.Helper()
	wanted := os.Getenv("ONEFOLD_C05_ROUNDS")
	if wanted == "" {
		return 200
	}
	n, err := strconv.Atoi(wanted)
	require.NoError(t, err)
	return n
}

// tabs are two forms of one checkout: the same in even rounds, with another address in odd ones.
func (m *mall) tabs(g *guest, address string, form url.Values, round int) (email string, forms []url.Values) {
	m.t.Helper()
	twin := g.get(address).form(m.t, address)
	require.Equal(m.t, form.Get("key"), twin.Get("key"), "both tabs carry the same key")
	email = form.Get("email")
	if round%2 == 1 {
		email = someone()
	}
	twin.Set("email", email)
	twin.Set("again", "yes")
	return email, []url.Values{form, twin}
}

// CASES C06.
func TestC06_ReloadOrSecondPostBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	m := openMall(t)
	t.Run("a reload while the provider takes its time", func(t *testing.T) {
		v := m.visit(t)
		email := someone()
		m.sim.breaks(fault{On: "payments.create", Do: "delay", DelayMs: 8000, Times: 1})
		// A delayed answer is booked: whatever else could tell of it is silent, too, until the page was looked at.
		mends := []func(){
			m.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0}),
			m.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0}),
		}
		fillBasket(v)
		form := v.at()
		v.fill("email", email)
		v.click("pay-button")
		v.arrive("/orders/")
		at := v.at()
		time.Sleep(time.Second)
		v.do(chromedp.Reload())
		require.Positive(t, v.has(`[data-state="PREPARING"], [data-state="UNKNOWN"]`), "the running order")
		require.Zero(t, v.has(`[data-testid="pay-button"]`))
		for _, mend := range mends {
			mend()
		}
		v.goTo(form) // where the form was
		v.arrive("/orders/")
		require.Equal(t, at, v.at())
		v.do(chromedp.NavigateBack())
		v.arrive("/orders/")
		v.until("AWAITING_PAYMENT")
		require.Equal(t, 1, m.ordersOf(email))
		require.Equal(t, 1, m.count(`SELECT count(*) FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.email = $1`, email))
	})
	t.Run("b two htmx POSTs 50 ms apart", func(t *testing.T) {
		v := m.visit(t)
		email := someone()
		fillBasket(v)
		v.fill("email", email)
		const twice = `(async () => {
			const form = document.querySelector('[data-testid=checkout-form]');
			const send = () => fetch(form.action, {method: 'POST', headers: {'HX-Request': 'true'}, body: new URLSearchParams(new FormData(form))});
			const first = send();
			await new Promise(r => setTimeout(r, 50));
			return Promise.all([first, send()].map(async p => { const r = await p; return [r.status, r.headers.get('HX-Redirect'), r.headers.get('Idempotent-Replayed')].join(' '); }));
		})()`
		said := look(v, chromedp.Evaluate[[]string](twice, chromedp.EvalAwaitPromise))
		id := m.text(`SELECT id FROM orders WHERE email = $1`, email)
		require.ElementsMatch(t, []string{"204 /orders/" + id + " ", "204 /orders/" + id + " true"}, said, "one is the order, the other its replay")
		v.click("pay-button") // the page still stands: a third
		v.arrive("/orders/" + id)
		require.Equal(t, 1, m.ordersOf(email))
	})
	t.Run("c the same without scripts", func(t *testing.T) {
		g := newGuest(t, "http://"+m.addrs[0])
		email := someone()
		address, form := g.checkout(email)
		answers, errs := make([]answer, 2), make([]error, 2)
		together(2, func(i int) {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			answers[i], errs[i] = g.send(http.MethodPost, address, form)
		})
		id := m.text(`SELECT id FROM orders WHERE email = $1`, email)
		replays := 0
		for i, a := range answers {
			require.NoError(t, errs[i])
			require.Equal(t, http.StatusSeeOther, a.status, "%s", a)
			require.Equal(t, "/orders/"+id, a.header.Get("Location"))
			if a.replayed() {
				replays++
			}
		}
		require.Equal(t, 1, replays)
		require.Equal(t, 1, m.ordersOf(email))
	})
	m.payAll()
	m.assertClean(0)
}

// CASES C08.
func TestC08_UnknownThenSignInAndBuyAgain(t *testing.T) {
	t.Parallel()
	m := openMall(t)
	v := m.visit(t)
	v.expect("status of 409")
	// 1) A guest buys; the provider books and its answer is lost, and nothing more is heard of it.
	mends := []func(){
		m.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1}),
		m.sim.breaks(fault{On: "payments.get", Do: "error_before", Times: 0}),
		m.sim.breaks(fault{On: "webhooks.send", Do: "hold", Times: 0}),
	}
	id := placeOrder(v, someone())
	// 2) The page says "being checked", and offers nothing to pay.
	v.until("UNKNOWN")
	require.Contains(t, v.text("order-status"), "do not need to pay again")
	require.Zero(t, v.has(`#order-status form, [data-testid="continue-to-payment"]`))
	// 3) The guest fills a basket with the same, signs in by two parallel posts; Ann has one thing in her own basket.
	ann := newGuest(t, m.tap.base)
	m.enter(ann)
	ann.put("copper-ledger")
	fillBasket(v)
	v.expect("status of 410")
	stale := v.another() // a checkout of the guest's that stays open meanwhile
	stale.expect("status of 410")
	stale.goTo("/checkout")
	v.goTo("/sign-in")
	statuses := look(v, chromedp.Evaluate[[]int](fmt.Sprintf(`(async () => {
		const form = document.querySelector('[data-testid=sign-in-form]');
		form.email.value = %q; form.password.value = %q;
		const send = () => fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))}).then(r => r.status);
		return Promise.all([send(), send()]);
	})()`, m.ann.email, m.ann.password), chromedp.EvalAwaitPromise))
	require.Equal(t, []int{200, 200}, statuses)
	require.Equal(t, []string{"copper-ledger 1", sold + " 1"}, m.texts(`SELECT i.product_id || ' ' || i.quantity FROM cart_items i JOIN carts c ON c.id = i.cart_id
		JOIN users u ON u.id = c.user_id WHERE u.email = $1 AND c.status = 'OPEN' ORDER BY 1`, m.ann.email), "each line once")
	require.Equal(t, 1, m.count(`SELECT count(*) FROM orders o JOIN users u ON u.id = o.user_id WHERE o.id = $1 AND u.email = $2`, id, m.ann.email), "the open order is hers")
	// The stale tab's checkout has ended: 410, and the way to the basket.
	stale.fill("email", m.ann.email)
	stale.click("pay-button")
	require.Contains(t, stale.text("error-page"), "has ended")
	require.Contains(t, stale.text("error-page"), "No money was taken")
	stale.click("to-basket")
	stale.arrive("/cart")
	// 4) She presses Pay for the same things again: the page leads to the open order and asks before it makes another.
	stale.do(chromedp.Click(chromedp.CSS(`[data-testid="line-copper-ledger"] [data-testid="remove"]`), chromedp.NodeVisible))
	eventually(t, "only the same is left", func() bool { return stale.now("basket-count") == "1" })
	stale.click("checkout-button")
	stale.arrive("/checkout/")
	stale.expect("status of 409")
	stale.click("pay-button")
	require.Contains(t, stale.text("conflict-open"), "do not need to pay again")
	require.Equal(t, 1, m.count(`SELECT count(*) FROM orders`))
	stale.click("open-order")
	stale.arrive("/orders/" + id)
	stale.until("UNKNOWN")
	// 5) The provider is heard again.
	for _, mend := range mends {
		mend()
	}
	reference := m.text(`SELECT id FROM payments WHERE order_id = $1`, id)
	m.sim.decide(m.sim.charges(mustUUID(t, reference))[0].ID, "succeed")
	stale.until("FULFILLED")
	require.Equal(t, 1, m.count(`SELECT count(*) FROM orders`))
	require.Len(t, m.sim.ledger().Payments, 1)
	// A really new purchase is possible, on purpose.
	stale.goTo("/checkout")
	stale.see("pay-button")
	stale.click("pay-button")
	stale.arrive("/orders/")
	require.Equal(t, 2, m.count(`SELECT count(*) FROM orders`))
	m.payAll()
	m.assertClean(0)
}

// enter signs somebody in without a browser.
func (m *mall) enter(g *guest) {
	m.t.Helper()
	form := g.get("/sign-in").form(m.t, "/sign-in")
	form.Set("email", m.ann.email)
	form.Set("password", m.ann.password)
	require.Equal(m.t, http.StatusSeeOther, g.post("/sign-in", form).status)
}

// Whoever asks again while the first is open is asked back, and may insist.
func TestTheSameAgainOnPurpose(t *testing.T) {
	t.Parallel()
	m := openMall(t)
	v := m.visit(t)
	v.expect("status of 409")
	email := someone()
	placeOrder(v, email)
	fillBasket(v)
	v.fill("email", email)
	v.click("pay-button")
	require.Contains(t, v.text("conflict-open"), "waiting to be paid")
	v.do(chromedp.DoubleClick(testid("order-again"), chromedp.NodeVisible))
	v.arrive("/orders/")
	require.Equal(t, 2, m.ordersOf(email))

	// In another browser, the link of the receipt asks for the address and nothing else.
	m.payAll()
	other := m.visit(t)
	other.expect("status of 404")
	other.expect("status of 422")
	other.goTo("/orders/" + path.Base(v.at()))
	require.NotContains(t, other.text("find-order"), email)
	other.fill("email", someone())
	other.presses(kb.Enter)
	other.see("error-summary")
	other.fill("email", strings.ToUpper(email))
	other.presses(kb.Enter)
	other.see("license-key")

	// A limit for pages gone mad: 429 with the time to wait, nothing lost.
	g := newGuest(t, m.tap.base)
	address, form := g.checkout(someone())
	form.Set("email", "wrong")
	status := 0
	for n := 0; n < 40 && status != http.StatusTooManyRequests; n++ {
		a := g.post(address, form)
		if status = a.status; status == http.StatusTooManyRequests {
			require.NotEmpty(t, a.header.Get("Retry-After"))
			require.Contains(t, string(a.body), "You have not been charged twice")
		}
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	m.payAll()
	m.assertClean(0)
}
