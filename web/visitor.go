package web

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/fault"
)

// Cookies. With an https address the first two carry the __Host- prefix.
const (
	cookieSession  = "onefold_session"
	cookieBrowser  = "onefold_browser" // what form tokens are bound to; it outlives sign-in, so no open tab turns stale
	cookieLang     = "lang"
	cookieTheme    = "theme"
	cookieZone     = "zone"
	cookieCurrency = "currency"
	cookieNotice   = "notice"
	yearOfSeconds  = 365 * 24 * 60 * 60
)

func (h *Handlers) secureCookies() bool { return strings.HasPrefix(h.PublicURL, "https:") }

func (h *Handlers) cookieName(name string) string {
	if h.secureCookies() {
		return "__Host-" + name
	}
	return name
}

func (h *Handlers) setCookie(c *fiber.Ctx, name, value string, maxAge int) {
	c.Cookie(&fiber.Cookie{
		Name: h.cookieName(name), Value: value, Path: "/", MaxAge: maxAge, HTTPOnly: true, Secure: h.secureCookies(), SameSite: fiber.CookieSameSiteLaxMode,
	})
}

const localBrowser = "browser"

// visitor finds out who is there: nobody yet, a guest, or somebody signed in. It never writes to the database.
func (h *Handlers) visitor(c *fiber.Ctx) error {
	browser := c.Cookies(h.cookieName(cookieBrowser))
	if len(browser) < 32 {
		var raw [24]byte
		_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
		browser = base64.RawURLEncoding.EncodeToString(raw[:])
		h.setCookie(c, cookieBrowser, browser, yearOfSeconds)
	}
	c.Locals(localBrowser, browser)
	if token := c.Cookies(h.cookieName(cookieSession)); token != "" {
		u, err := account.SessionUser(c.UserContext(), h.DB, token)
		if err == nil {
			c.Locals(localUser, u)
		} else if e, ok := fault.Of(err); !ok || e.Code != "UNAUTHENTICATED" {
			return err
		}
	}
	return c.Next()
}

func (h *Handlers) csrfToken(c *fiber.Ctx) string {
	browser, _ := c.Locals(localBrowser).(string)
	return account.CSRFToken(h.SessionKey, browser)
}

// ownForms refuses changes that don't come from our own pages: by the browser's word about the origin, then by the form's token.
func (h *Handlers) ownForms(c *fiber.Ctx) error {
	switch c.Method() {
	case fiber.MethodGet, fiber.MethodHead, fiber.MethodOptions:
		return c.Next()
	}
	browser, _ := c.Locals(localBrowser).(string)
	if !h.sameOrigin(c) || !account.CheckCSRF(h.SessionKey, browser, c.FormValue("csrf")) {
		return fault.New(fault.Forbidden, "FORBIDDEN", "This form was not made by this shop for your browser. Open the page again and repeat.")
	}
	return c.Next()
}

// sameOrigin believes Sec-Fetch-Site, which pages can't forge; older browsers send Origin.
func (h *Handlers) sameOrigin(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return true // not a browser's cross-site form: those always send Origin; the token decides
	}
	u, err := url.Parse(origin)
	return err == nil && (origin == strings.TrimRight(h.PublicURL, "/") || u.Host == string(c.Request().Host()))
}

// buyer returns who the basket belongs to, making a guest of a visitor who has none.
func (h *Handlers) buyer(c *fiber.Ctx) (account.User, error) {
	if u := currentUser(c); u.ID != (account.ID{}) {
		return u, nil
	}
	guest, err := account.NewGuest(c.UserContext(), h.DB)
	if err != nil {
		return guest, err
	}
	return guest, h.signInAs(c, guest)
}

// signInAs gives the browser a new session, never one that was there before.
func (h *Handlers) signInAs(c *fiber.Ctx, u account.User) error {
	token, err := account.StartSession(c.UserContext(), h.DB, u.ID)
	if err != nil {
		return err
	}
	h.setCookie(c, cookieSession, token, 30*24*60*60)
	c.Locals(localUser, u)
	return nil
}

// notices are what an action may say on the next page; %s is filled with the name that the action gives.
var notices = map[string]bool{"added": true, "removed": true, "updated": true, "saved": true} //nolint:gochecknoglobals // a table

// leaveNotice tells the next page what was done, e.g. "removed" and the product with the units it had, which can be undone.
func (h *Handlers) leaveNotice(c *fiber.Ctx, key string, about ...string) {
	h.setCookie(c, cookieNotice, url.QueryEscape(strings.Join(append([]string{key}, about...), "\n")), 60)
}

func (h *Handlers) takeNotice(c *fiber.Ctx) layout.Notice {
	raw, err := url.QueryUnescape(c.Cookies(h.cookieName(cookieNotice)))
	said := append(strings.Split(raw, "\n"), "", "", "") // key, name, product, quantity
	key := said[0]
	if err != nil || !notices[key] {
		return layout.Notice{}
	}
	h.setCookie(c, cookieNotice, "", -1)
	ctx := h.speak(c)
	switch key {
	case "added":
		return layout.Notice{Text: i18n.T(ctx, "notice.added", said[1]), Link: path.Cart(), Label: i18n.T(ctx, "notice.basket")}
	case "removed":
		return layout.Notice{Text: i18n.T(ctx, "notice.removed", said[1]), Undo: layout.Undo{Product: said[2], Quantity: said[3], CSRF: h.csrfToken(c)}}
	}
	return layout.Notice{Text: i18n.T(ctx, "notice."+key)}
}
