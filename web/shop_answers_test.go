package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
)

// What the page showed is what is ordered, whatever currency another tab has chosen meanwhile.
func TestTheCurrencyOfTheForm(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	choose := func(code string) {
		form := b.get("/products/pixel-orchard", "").form(t, "/prefs")
		form.Set("currency", code)
		require.Equal(t, http.StatusSeeOther, b.post("/prefs", form).Status)
	}
	for code, shown := range map[string]string{"USD": "$4.99", "JPY": "¥700", "KWD": "KWD\u00a01.500", "EUR": "€4.49"} {
		choose(code)
		b.put("pixel-orchard")
		address, form := b.checkout()
		require.Contains(t, b.get(address, "").Body, shown)
		choose("RUB")
		form.Set("again", "yes")
		require.Equal(t, http.StatusSeeOther, b.post(address, form).Status)
		require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE currency = '`+code+`'`))
	}
	choose("XXX")
	require.Contains(t, b.get("/", "").Body, "RUB", "an unknown currency changes nothing")
	b.put("pixel-orchard")
	address, form := b.checkout()
	for _, odd := range []string{"49.90 XYZ", "nothing", "49.90 CHF", ""} {
		form.Set("total", odd)
		require.Equal(t, http.StatusConflict, b.post(address, form).Status, odd)
	}
	require.Equal(t, 4, s.orders())
}

func TestARemovedLineComesBack(t *testing.T) {
	t.Parallel()
	b := newShop(t).browser()
	form := b.get("/products/lumen-notes", "").form(t, "/cart/items")
	form.Set("quantity", "3")
	b.post("/cart/items", form)
	remove := b.get("/cart", "").form(t, "/cart/items/lumen-notes")
	remove.Set("quantity", "0")
	for range 2 { // a repeat doesn't forget what there was to undo
		b.post("/cart/items/lumen-notes", remove)
	}
	page := b.get("/cart", "").page(t)
	require.Equal(t, 1, page.Find("[data-testid=undo]").Length(), "the notice stays until it is seen")
	require.Equal(t, "3", page.Find("#notice input[name=quantity]").AttrOr("value", ""))
}

func TestTheFiltersOfTheShop(t *testing.T) {
	t.Parallel()
	b := newShop(t).browser()
	count := func(query string) int {
		return b.get("/"+query, "").page(t).Find("[data-testid=products] > li").Length()
	}
	require.Equal(t, 11, count(""))
	require.Equal(t, 3, count("?kind=physical"))
	require.Equal(t, 1, count("?q=MUG&kind=physical&stock=1"))
	require.Zero(t, count("?q=%25"))
	require.Equal(t, http.StatusBadRequest, b.get("/?kind=everything", "").Status, "never everything")
	page := b.get("/?q=%22%3E%3Cscript%3Ex", "").page(t)
	require.Equal(t, `"><script>x`, page.Find("[data-testid=find]").AttrOr("value", ""))
}

// A guest's order opens in another browser for whoever knows the address it was placed with, and for nobody else.
func TestAGuestsOrderInAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	order := s.browser().buy()
	other := s.browser()
	other.put("lumen-notes")
	asked := other.get(order, "")
	require.Equal(t, http.StatusNotFound, asked.Status)
	require.NotContains(t, asked.Body, "guest@example.com")
	form := asked.form(t, order+"/find")
	form.Set("email", "somebody@example.com")
	require.Equal(t, http.StatusUnprocessableEntity, other.post(order+"/find", form).Status)
	require.Equal(t, http.StatusNotFound, other.get(order, "").Status)
	form.Set("email", " Guest@Example.com ")
	for range 2 {
		require.Equal(t, http.StatusSeeOther, other.post(order+"/find", form).Status)
	}
	require.Equal(t, http.StatusOK, other.get(order, "").Status)
	require.Equal(t, "1", strings.TrimSpace(other.get("/", "").page(t).Find("[data-testid=basket-count]").Text()), "the basket came along")

	s.ada()
	ada := s.browser()
	require.Equal(t, http.StatusSeeOther, ada.signIn("ada@example.com", password, "").Status)
	form["csrf"] = ada.get("/", "").form(t, "/prefs")["csrf"]
	require.Equal(t, http.StatusNotFound, ada.post(order+"/find", form).Status, "an account takes nobody's order")
	thief, status := s.browser(), 0
	for n := 0; n < 40 && status != http.StatusTooManyRequests; n++ {
		status = thief.post(order+"/find", url.Values{"csrf": thief.get("/products/lumen-notes", "").form(t, "/cart/items")["csrf"], "email": {"x@example.com"}}).Status
	}
	require.Equal(t, http.StatusTooManyRequests, status, "guessing is slow")
}

// Errors say whether money moved.
func TestErrorPagesAboutMoney(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	b.put("pixel-orchard")
	address, form := b.checkout()
	sure := func(a answer) string {
		page, err := goquery.NewDocumentFromReader(strings.NewReader(a.Body))
		require.NoError(t, err)
		return strings.TrimSpace(page.Find(".sure").Text())
	}
	require.Equal(t, "No money was taken.", sure(b.post("/checkout/nobody", form)))
	require.Equal(t, "Looking at a page never moves money.", sure(b.get("/checkout/nobody", "")))
	require.Empty(t, sure(b.get("/nothing", "")))
	form.Set("email", "broken")
	var last answer
	for n := 0; n < 40 && last.Status != http.StatusTooManyRequests; n++ {
		last = b.post(address, form)
	}
	require.Equal(t, http.StatusTooManyRequests, last.Status)
	require.NotEmpty(t, last.Header.Get("Retry-After"))
	require.Equal(t, "You have not been charged twice.", sure(last))
}

// What has changed since the shopper looked is said at the basket's line, before the checkout; touching the line accepts it.
func TestTheBasketSaysWhatHasChanged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	b.put("lumen-notes")
	said := func() (words []string) {
		b.get("/cart", "").page(t).Find("[data-testid=line-warning]").Each(func(_ int, w *goquery.Selection) {
			words = append(words, strings.ReplaceAll(strings.TrimSpace(w.Text()), "\u00a0", " "))
		})
		return words
	}
	require.Empty(t, said())
	s.exec(`UPDATE product_prices SET price_minor = 199000 WHERE product_id = 'lumen-notes' AND currency = 'RUB'`)
	s.exec(`UPDATE products SET on_hand = reserved WHERE id = 'lumen-notes'`)
	for range 2 {
		require.Equal(t, []string{"The price has changed, it was RUB 2,490.00", "Sold out"}, said())
	}
	form := b.get("/cart", "").form(t, "/cart/items/lumen-notes")
	form.Set("quantity", "1")
	require.Equal(t, http.StatusSeeOther, b.post("/cart/items/lumen-notes", form).Status)
	require.Equal(t, []string{"Sold out"}, said())
}

// A key whose result is no longer kept answers 410 and leads to the order it made.
func TestALongExpiredKeyInTheShop(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	b.put("pixel-orchard")
	address, form := b.checkout()
	order := b.post(address, form)
	require.Equal(t, http.StatusSeeOther, order.Status)
	s.exec(`DELETE FROM operations`)
	for range 2 {
		gone := b.post(address, form)
		require.Equal(t, http.StatusGone, gone.Status)
		require.Equal(t, 1, gone.page(t).Find(`main a[href="`+order.Header.Get("Location")+`"]`).Length())
		require.Equal(t, order.Header.Get("Location"), b.get(address, "").Header.Get("Location"), "its address leads to the order")
		require.Equal(t, http.StatusOK, b.get(order.Header.Get("Location"), "").Status)
	}
	require.Equal(t, 1, s.orders())
}
