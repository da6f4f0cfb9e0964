package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"onefold/web"
)

// form reads the hidden fields of the form that posts to action.
func (a answer) form(t *testing.T, action string) url.Values {
	t.Helper()
	page, err := goquery.NewDocumentFromReader(strings.NewReader(a.Body))
	require.NoError(t, err)
	form := page.Find(`form[action="` + action + `"]`).First()
	require.Equal(t, 1, form.Length(), "a form to %s", action)
	values := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, input *goquery.Selection) {
		values.Add(input.AttrOr("name", ""), input.AttrOr("value", ""))
	})
	return values
}

func (s *shop) post(path string, form url.Values, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, path, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// put puts a product into the basket by the form of the front page.
func (s *shop) put(product string) {
	s.t.Helper()
	form := s.get("/products/"+product, "").form(s.t, "/cart/items")
	form.Set("quantity", "1")
	require.Equal(s.t, http.StatusSeeOther, s.post("/cart/items", form).Status)
}

// checkout returns the form of the checkout page with its address.
func (s *shop) checkout() (address string, form url.Values) {
	s.t.Helper()
	address = s.get("/checkout", "").Header.Get("Location")
	form = s.get(address, "").form(s.t, address)
	form.Set("email", "guest@example.com")
	return address, form
}

// buy places an order in the shop and returns its page's address.
func (s *shop) buy() string {
	s.t.Helper()
	s.put("pixel-orchard")
	a := s.post(s.checkout())
	require.Equal(s.t, http.StatusSeeOther, a.Status, a.Body)
	require.Regexp(s.t, "^/orders/", a.Header.Get("Location"))
	return a.Header.Get("Location")
}

func (s *shop) cookie(name string) string {
	s.t.Helper()
	address, err := url.Parse(s.base)
	require.NoError(s.t, err)
	for _, c := range s.client.Jar.Cookies(address) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func TestAFormOfOursIsTaken(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	form := b.get("/products/pixel-orchard", "").form(t, "/cart/items")
	for _, headers := range [][]string{
		nil, {"Sec-Fetch-Site", "same-origin", "Origin", s.base}, {"Sec-Fetch-Site", "none"}, {"Origin", s.base},
	} {
		require.Equal(t, http.StatusSeeOther, b.post("/cart/items", form, headers...).Status, headers)
	}
	require.Equal(t, 4, s.count(`SELECT sum(quantity) FROM cart_items`))
}

func TestAForeignFormChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b, thief := s.browser(), s.browser()
	b.put("lumen-notes")
	form := b.get("/products/pixel-orchard", "").form(t, "/cart/items")
	with := func(token string) url.Values {
		changed := url.Values{"product": form["product"], "quantity": {"1"}, "csrf": {token}}
		if token == "" {
			changed.Del("csrf")
		}
		return changed
	}
	ours := form.Get("csrf")
	theirs := thief.get("/products/pixel-orchard", "").form(t, "/cart/items").Get("csrf")
	require.NotEqual(t, ours, theirs)
	for name, c := range map[string]struct {
		token   string
		headers []string
	}{
		"no token":             {"", nil},
		"another browser's":    {theirs, nil},
		"cut off":              {ours[:len(ours)-1], nil},
		"cross-site":           {ours, []string{"Sec-Fetch-Site", "cross-site"}},
		"same-site":            {ours, []string{"Sec-Fetch-Site", "same-site", "Origin", s.base}},
		"foreign origin":       {ours, []string{"Origin", "https://evil.test"}},
		"our name within":      {ours, []string{"Origin", "http://shop.test.evil.test"}},
		"opaque origin":        {ours, []string{"Origin", "null"}},
		"token from elsewhere": {theirs, []string{"Sec-Fetch-Site", "same-origin", "Origin", s.base}},
	} {
		a := b.post("/cart/items", with(c.token), c.headers...)
		require.Equal(t, http.StatusForbidden, a.Status, name)
		secured(t, a)
	}
	for kind, body := range map[string]string{
		"text/plain": with(ours).Encode(), "application/json": `{"csrf":"` + ours + `"}`, "": "", "multipart/form-data": "x",
	} {
		a := b.do(http.MethodPost, "/cart/items", body, "Content-Type", kind)
		require.Equal(t, http.StatusForbidden, a.Status, kind)
	}
	require.Equal(t, 1, s.count(`SELECT sum(quantity) FROM cart_items`))
}

// No changing route of the shop may forget the check.
func TestEveryFormIsGuarded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	order := b.buy()
	snapshot := func() string {
		var out string
		require.NoError(t, s.db.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT count(*) FROM users), (SELECT count(*) FROM sessions), (SELECT count(*) FROM carts),
			(SELECT count(*) FROM cart_items), (SELECT count(*) FROM operations), (SELECT count(*) FROM journal), (SELECT count(*) FROM login_throttle))`).Scan(&out))
		return out
	}
	before, guarded := snapshot(), 0
	for _, r := range s.app.GetRoutes(true) {
		if machineRoutes.MatchString(r.Path) || r.Method == http.MethodGet || r.Method == http.MethodHead {
			continue
		}
		guarded++
		path := regexp.MustCompile(`:\w+|\*`).ReplaceAllString(r.Path, strings.TrimPrefix(order, "/orders/"))
		for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "cross-site"}} {
			a := b.do(r.Method, path, "", headers...)
			require.Equal(t, http.StatusForbidden, a.Status, "%s %s", r.Method, path)
		}
	}
	require.GreaterOrEqual(t, guarded, 7)
	require.Equal(t, before, snapshot())
}

func TestNoRedirectLeadsAway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	form := b.get("/products/pixel-orchard", "").form(t, "/cart/items")
	for _, elsewhere := range []string{
		"https://evil.test", "//evil.test", `/\evil.test`, `\\evil.test`, "/\t/evil.test", "\t//evil.test", "/\n/evil.test", "javascript:alert(1)",
		"evil.test", "https:evil.test", "http:///evil.test", " //evil.test", "///evil.test", "/..//evil.test\r\nX-Injected: 1", "", "http://shop.test@evil.test/",
	} {
		form.Set("return", elsewhere)
		for _, path := range []string{"/cart/items", "/prefs"} {
			a := b.post(path, form)
			require.Equal(t, http.StatusSeeOther, a.Status)
			require.Equal(t, "/", a.Header.Get("Location"), "%q", elsewhere)
			require.Empty(t, a.Header.Get("X-Injected"))
		}
	}
	form.Set("return", "/products/pixel-orchard?lang=ru#x")
	require.Equal(t, "/products/pixel-orchard?lang=ru#x", b.post("/cart/items", form).Header.Get("Location"))
}

// attributes are the cookies of an answer by name.
func attributes(a answer) map[string]*http.Cookie {
	out := map[string]*http.Cookie{}
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		out[c.Name] = c
	}
	return out
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for public, prefix := range map[string]string{"http://shop.test": "", "https://shop.test": "__Host-"} {
		s := newShop(t, func(h *web.Handlers) { h.PublicURL = public })
		s.base = public // what the browser believes; Secure cookies come back only there
		b := s.browser()
		page := b.get("/products/pixel-orchard", "")
		form := page.form(t, "/cart/items")
		form.Set("lang", "ru")
		form.Set("theme", "dark")
		bought, prefs := b.post("/cart/items", form), b.post("/prefs", form)
		secure := prefix != ""
		for name, from := range map[string]answer{prefix + "onefold_browser": page, prefix + "onefold_session": bought, "lang": prefs, "theme": prefs} {
			c := attributes(from)[name]
			require.NotNil(t, c, "%s of %s", name, public)
			require.Equal(t, secure, c.Secure, name)
			require.Equal(t, "/", c.Path, name)
			require.Empty(t, c.Domain, name)
			require.Equal(t, http.SameSiteLaxMode, c.SameSite, name)
			require.Positive(t, c.MaxAge, name)
			if strings.HasPrefix(name, prefix+"onefold") {
				require.True(t, c.HttpOnly, name)
				require.GreaterOrEqual(t, len(c.Value), 32, name)
			}
		}
		require.Equal(t, 1, s.count(`SELECT count(*) FROM sessions`))
		require.Zero(t, s.count(`SELECT count(*) FROM sessions WHERE token_hash = convert_to($1, 'UTF8')`, b.cookie(prefix+"onefold_session")), "only a hash is kept")
	}
}
