//go:build e2e

package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/bojanz/currency"
	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

func point10(s *points, v *visitor) {
	t := v.t
	mends := s.darken()
	id := placeOrder(v, someone())
	v.until("UNKNOWN")
	words := v.text("order-status")
	require.Contains(t, words, "We are confirming your payment")
	require.Contains(t, words, "do not need to pay again")
	require.Contains(t, words, "Next check")
	require.Equal(t, words[:20], js[string](v, `document.title`)[:20], "the tab's title carries the state")
	require.Zero(t, v.has(`#order-status form, [data-testid="continue-to-payment"], [data-testid="retry-payment"]`), "no way to pay")
	polls := func() int { return s.line.count("GET /orders/" + id) }
	eventually(t, "the page looks by itself", func() bool { n := polls(); time.Sleep(2500 * time.Millisecond); return polls() > n })

	// The keyboard's place and the reader's ear survive the looks.
	js[bool](v, `(document.getElementById('check-again').focus(), window.said = 0,
		new MutationObserver(() => said++).observe(document.getElementById('order-said'), {childList: true, characterData: true, subtree: true}), true)`)
	n := polls()
	eventually(t, "two more looks", func() bool { return polls() >= n+2 })
	require.Equal(t, "check-again", js[string](v, `document.activeElement.id`), "a look doesn't take the focus away")
	require.Zero(t, js[int](v, `said`), "an unchanged state isn't said again")

	// A hidden tab is quiet.
	v.window(cdpbrowser.WindowStateMinimized)
	eventually(t, "the tab is hidden", func() bool { return js[bool](v, `document.hidden`) })
	n = polls()
	time.Sleep(5 * time.Second)
	require.Equal(t, n, polls(), "point 11: a hidden tab sends no looks")
	v.window(cdpbrowser.WindowStateNormal)
	eventually(t, "shown again, it looks", func() bool { return polls() > n })

	// Ever more seldom, and after ten minutes not at all.
	for age, every := range map[string]string{"1 minute": "every 5s", "5 minutes": "every 15s", "11 minutes": ""} {
		s.exec(`UPDATE payments SET updated_at = clock_timestamp() - $2::interval WHERE order_id = $1`, id, age)
		v.do(chromedp.Reload())
		require.Equal(t, every, js[string](v, `document.getElementById('order-live').getAttribute('hx-trigger') ?? ''`), age)
	}
	s.exec(`UPDATE payments SET updated_at = clock_timestamp() - interval '11 minutes' WHERE order_id = $1`, id)
	v.do(chromedp.Reload())
	n = polls()
	time.Sleep(2500 * time.Millisecond)
	require.Equal(t, n, polls(), "point 11: after ten minutes it ends by itself")
	v.click("check-again")
	eventually(t, "by hand it works", func() bool { return polls() > n })
	s.exec(`UPDATE payments SET updated_at = clock_timestamp() - interval '20 minutes' WHERE order_id = $1`, id)
	v.do(chromedp.Reload())
	require.Contains(t, v.text("order-status"), "longer than usual")
	v.speaks("ru")
	v.do(chromedp.Reload())
	require.Contains(t, v.text("order-status"), "Это занимает больше времени, чем обычно")
	require.Contains(t, v.text("order-status"), "Платить повторно не нужно.")
	v.speaks("en")
	s.exec(`UPDATE payments SET updated_at = clock_timestamp() WHERE order_id = $1`, id)
	v.do(chromedp.Reload())

	// It becomes paid while the page is open: without a hand it is said, once, and the looks end.
	for _, mend := range mends {
		mend()
	}
	s.sim.decide(s.charged(id), "succeed")
	v.until("FULFILLED")
	eventually(t, "the new state is said", func() bool {
		return strings.Contains(js[string](v, `document.getElementById('order-said').textContent`), "Your order is ready")
	})
	require.Contains(t, js[string](v, `document.title`), "Your order is ready")
	n = polls()
	time.Sleep(2500 * time.Millisecond)
	require.Equal(t, n, polls(), "a final state ends the looks")

	// And while it is closed.
	mends = s.darken()
	v.expect("status of 409")
	id = placeOrder(v, someone())
	v.until("UNKNOWN")
	v.goTo("/")
	for _, mend := range mends {
		mend()
	}
	s.sim.decide(s.charged(id), "succeed")
	eventually(t, "paid while nobody looked", func() bool { return s.text(`SELECT status FROM orders WHERE id = $1`, id) == "FULFILLED" })
	v.goTo("/orders")
	v.click("order-row")
	v.until("FULFILLED")
}

// charged is the provider's payment for an order, by its own ledger: we may not know it yet.
func (s *points) charged(order string) string {
	s.t.Helper()
	reference, id := s.text(`SELECT id FROM payments WHERE order_id = $1`, order), ""
	eventually(s.t, "the provider has booked", func() bool {
		for _, c := range s.sim.ledger().Payments {
			if c.Reference == reference {
				id = c.ID
			}
		}
		return id != ""
	})
	return id
}

func point12(s *points, v *visitor) {
	id := placeOrder(v, someone())
	v.until("AWAITING_PAYMENT")
	state := func() string {
		return s.text(`SELECT o.status || p.status || (SELECT count(*) FROM journal j WHERE j.order_id = o.id) FROM orders o JOIN payments p ON p.order_id = o.id WHERE o.id = $1`, id)
	}
	before := state()
	for _, forged := range []string{"&status=succeeded", "&payment_status=paid&success=true", "&state=SUCCEEDED&paid=1"} {
		v.goTo("/pay/return?order=" + id + forged)
		v.arrive("/orders/" + id)
		require.Equal(v.t, 1, v.has(`[data-testid="order-status"][data-state="AWAITING_PAYMENT"]`))
	}
	require.Equal(v.t, before, state())
	// The provider's page closed and opened again is the same page, and pays once.
	v.click("continue-to-payment")
	v.see("pay-succeed")
	hosted := v.at()
	v.goTo("/orders/" + id)
	v.click("continue-to-payment")
	v.see("pay-succeed")
	require.Equal(v.t, hosted, v.at())
	v.click("pay-succeed")
	v.arrive("/orders/")
	v.until("FULFILLED")
	v.goTo(hosted)
	require.Zero(v.t, v.has(`[data-testid="pay-succeed"]`))
	require.Len(v.t, s.sim.charges(mustUUID(v.t, s.text(`SELECT id FROM payments WHERE order_id = $1`, id))), 1)
}

var notDigit = regexp.MustCompile(`[^0-9]`)

// digits are the minor units of an amount as people read it.
func digits(words string) string { return strings.TrimLeft(notDigit.ReplaceAllString(words, ""), "0") }

func point13(s *points, v *visitor) {
	for i, code := range []string{"USD", "JPY", "KWD"} {
		lang := []string{"en", "ru"}[i%2]
		v.speaks(lang)
		v.goTo("/")
		v.chooses(code)
		email := someone()
		fillBasket(v)
		summary, button := v.text("total"), v.text("pay-button")
		v.fill("email", email)
		v.click("pay-button")
		v.arrive("/orders/")
		id := path.Base(v.at())
		minor := fmt.Sprint(s.count(`SELECT total_minor FROM orders WHERE id = $1 AND currency = $2`, id, code))
		total, err := currency.NewAmountFromInt64(int64(s.count(`SELECT total_minor FROM orders WHERE id = $1`, id)), code)
		require.NoError(v.t, err)
		shown := currency.NewFormatter(currency.NewLocale(lang)).Format(total)
		require.Equal(v.t, shown, summary)
		require.Contains(v.t, button, shown)
		v.until("AWAITING_PAYMENT")
		require.Contains(v.t, v.text("order-status"), shown)
		v.click("continue-to-payment")
		require.Equal(v.t, minor, digits(v.text("pay-amount")), "%s at the provider", code)
		v.click("pay-succeed")
		v.arrive("/orders/")
		v.goTo("/orders/" + id)
		v.until("FULFILLED")
		require.Contains(v.t, v.text("receipt"), shown)
		require.Contains(v.t, s.letter(email), shown)
		require.Len(v.t, fraction(shown), map[string]int{"USD": 2, "JPY": 0, "KWD": 3}[code], shown)
	}
	v.speaks("en")
}

var fractions = regexp.MustCompile(`[.,](\d+)[^\d]*$`)

// fraction is what stands behind the last point of an amount below a thousand.
func fraction(shown string) string {
	if m := fractions.FindStringSubmatch(shown); m != nil && !strings.Contains(shown, "¥") && !strings.Contains(shown, "JPY") {
		return m[1]
	}
	return ""
}

// letter waits for the mail to somebody.
func (s *scene) letter(email string) (body string) {
	s.t.Helper()
	eventually(s.t, "the receipt comes by mail", func() bool {
		for _, m := range s.sim.ledger().Mails {
			if len(m.To) > 0 && strings.Contains(m.To[0], email) {
				body = m.Body
			}
		}
		return body != ""
	})
	return body
}

func point14(_ *points, v *visitor) {
	v.goTo("/products/slate-mug")
	v.click("add-to-basket")
	eventually(v.t, "the mug is in", func() bool { return v.now("basket-count") == "1" })
	fillBasketWith(v, "2")
	fields := js[int](v, `[...document.querySelectorAll('main input, main select, main textarea')].filter(e => e.type !== 'hidden' && e.checkVisibility()).length`)
	require.LessOrEqual(v.t, fields, 8)
	require.Empty(v.t, js[string](v, `[...document.querySelectorAll('main input:not([type=hidden]), main select')].filter(e => !e.autocomplete && e.name !== 'promo').map(e => e.name).join()`), "every field says what belongs in")
}

func fillBasketWith(v *visitor, count string) {
	v.t.Helper()
	v.goTo("/")
	v.do(chromedp.Click(chromedp.CSS(`[data-testid="product-`+sold+`"] [data-testid="add-to-basket"]`), chromedp.NodeVisible))
	eventually(v.t, "the basket counts "+count, func() bool { return v.now("basket-count") == count })
	v.goTo("/checkout")
	v.see("checkout-form")
}

// point30 weighs the first view as a browser gets it.
func point30(s *points, v *visitor) {
	weigh := func(address string) int {
		r, err := http.NewRequest(http.MethodGet, s.line.base+address, nil)
		require.NoError(v.t, err)
		r.Header.Set("Accept-Encoding", "gzip")
		response, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
		require.NoError(v.t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(v.t, err)
		require.Equal(v.t, "gzip", response.Header.Get("Content-Encoding"), address)
		unpacked, err := gzip.NewReader(strings.NewReader(string(body)))
		require.NoError(v.t, err)
		_, err = io.Copy(io.Discard, unpacked)
		require.NoError(v.t, err)
		return len(body)
	}
	fillBasket(v)
	for _, page := range []string{"/", "/products/" + sold, "/cart", strings.TrimPrefix(v.at(), v.base)} {
		v.goTo(page)
		loaded := js[[]string](v, `performance.getEntriesByType('resource').map(e => e.name)`)
		sizes := map[string]int{".html": js[int](v, `performance.getEntriesByType('navigation')[0].encodedBodySize`)}
		for _, address := range loaded {
			u, err := url.Parse(address)
			require.NoError(v.t, err)
			require.Equal(v.t, strings.TrimPrefix(s.line.base, "http://"), u.Host, "no request to another host")
			if ext := path.Ext(u.Path); ext == ".css" || ext == ".js" {
				sizes[ext] += weigh(u.Path)
			}
		}
		v.t.Logf("%s: %v", page, sizes)
		require.LessOrEqual(v.t, sizes[".html"], 14_000, page)
		require.LessOrEqual(v.t, sizes[".js"], 18_000, page)
		require.LessOrEqual(v.t, sizes[".css"], 8_000, page)
		require.LessOrEqual(v.t, sizes[".html"]+sizes[".js"]+sizes[".css"], 40_000, page)
	}
}

// point27 hears every stop of the keyboard on the checkout, and buys.
func point27(s *points, v *visitor) {
	email := someone()
	fillBasket(v)
	v.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	var heard []string
	for range 40 {
		v.presses(kb.Tab)
		now := v.spoken()
		heard = append(heard, now)
		if strings.HasPrefix(now, "textbox E-mail") {
			v.presses(email)
		}
		if strings.HasPrefix(now, "button Place order") {
			break
		}
	}
	require.Equal(v.t, []string{
		"link Skip to content", "link onefold", "link Orders", "DisclosureTriangle Currency RUB", "button Русский", "link Sign in", "link Basket, 1 item",
		"textbox E-mail", "textbox Full name", "textbox Promo code optional", "button Place order and pay RUB 2,490.00",
	}, heard)
	landmarks := js[string](v, `[...document.querySelectorAll('header, nav, main, aside, footer')].map(e => e.tagName).join(' ')`)
	require.Equal(v.t, "HEADER NAV MAIN ASIDE FOOTER", landmarks)
	require.Equal(v.t, 1, v.has("h1"))
	require.Equal(v.t, 1, v.has(`[data-retry-status][role="status"]`), "tries are said")
	require.Equal(v.t, "step", js[string](v, `document.querySelector('#steps .now').getAttribute('aria-current')`))
	v.presses(kb.Enter)
	v.arrive("/orders/")
	id := path.Base(v.at())
	require.Equal(v.t, "status polite true", js[string](v, `(e => [e.role || e.getAttribute('role'), e.ariaLive, e.ariaAtomic].join(' '))(document.getElementById('order-said'))`))
	eventually(v.t, "the way to pay is said without a hand", func() bool {
		return v.has(`[data-testid="continue-to-payment"]`) == 1 &&
			(js[string](v, `document.getElementById('order-said').dataset.state`) == "AWAITING_PAYMENT")
	})
	v.tabTo("continue-to-payment", "")
	require.Equal(v.t, "link Continue to payment", v.spoken())
	v.presses(kb.Enter)
	v.tabTo("pay-succeed", "")
	v.presses(kb.Enter)
	v.arrive("/orders/")
	s.requireBought(v, id, email)
}

func point29(s *points, v *visitor) {
	for zone, offset := range map[string]string{"Asia/Kolkata": "UTC+5:30", "Pacific/Honolulu": "UTC-10", "UTC": "UTC"} {
		v.livesIn(zone)
		v.goTo("/") // here the zone is learned
		if v.has(`[data-testid="orders-link"]`) > 0 && s.count(`SELECT count(*) FROM orders WHERE email = 'zone@example.org'`) == 0 {
			placeOrder(v, "zone@example.org")
		}
		v.goTo("/orders/" + s.text(`SELECT id FROM orders WHERE email = 'zone@example.org'`))
		times := js[[]string](v, `[...document.querySelectorAll('main time')].map(t => t.dateTime + '|' + t.textContent)`)
		require.GreaterOrEqual(v.t, len(times), 3, "placed, reserved until, last checked…")
		for _, entry := range times {
			stamp, words, _ := strings.Cut(entry, "|")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			require.NoError(v.t, err)
			require.True(v.t, strings.HasSuffix(stamp, "Z"), stamp)
			location, err := time.LoadLocation(zone)
			require.NoError(v.t, err)
			require.True(v.t, strings.HasSuffix(words, " "+offset), "%s in %s", words, zone)
			require.Contains(v.t, words, at.In(location).Format("15:04"), zone)
		}
	}
}

func offlineWaits(s *points, v *visitor) {
	email := someone()
	v.expect("ERR_INTERNET_DISCONNECTED")
	v.expect("htmx:")
	fillBasket(v)
	v.fill("email", email)
	v.offline(true)
	v.click("pay-button")
	eventually(v.t, "the page says that it is offline", func() bool { return strings.Contains(v.now("retry-status"), "offline") })
	v.offline(false)
	v.arrive("/orders/")
	require.Equal(v.t, 1, s.orders(email))
}

func undo(_ *points, v *visitor) {
	v.goTo("/products/" + sold)
	v.fill("quantity", "3")
	v.click("add-to-basket")
	eventually(v.t, "three", func() bool { return v.now("basket-count") == "3" })
	v.goTo("/cart")
	v.click("remove")
	eventually(v.t, "the basket is empty", func() bool { return v.now("basket-count") == "0" })
	v.click("undo")
	eventually(v.t, "all three are back", func() bool { return v.now("basket-count") == "3" })
}

func printed(s *points, v *visitor) {
	id := placeOrder(v, someone())
	v.until("AWAITING_PAYMENT")
	s.sim.decide(s.text(`SELECT provider_payment_id FROM payments WHERE order_id = $1`, id), "succeed")
	v.until("FULFILLED")
	v.media("print")
	hidden := js[string](v, `[...document.querySelectorAll('button, .top-nav, .foot, #notice, .steps')].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 60)).join()`)
	require.Empty(v.t, hidden, "nothing to press on paper")
	for _, part := range []string{"order-number", "license-key", "receipt", "reference"} {
		v.see(part)
	}
	require.Equal(v.t, "rgb(255, 255, 255)", js[string](v, `getComputedStyle(document.documentElement).backgroundColor`))
	v.media("")
}
