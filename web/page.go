package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // zones, on machines that have none

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/trace"
)

// locale is how this visitor is spoken to: language from ?lang, preferences, the cookie or Accept-Language; zone from preferences or
// the cookie that app.js sets.
func (h *Handlers) locale(c *fiber.Ctx) i18n.Locale {
	l := i18n.Locale{Lang: i18n.Lang(c.Query("lang")), Zone: time.UTC, Now: h.Now()}
	wanted := preferences(c)
	l.Hour12 = wanted.Clock == "12"
	if !l.Lang.Valid() {
		l.Lang = i18n.Lang(wanted.Lang)
	}
	if !l.Lang.Valid() {
		l.Lang = i18n.Lang(c.Cookies(cookieLang))
	}
	if !l.Lang.Valid() {
		l.Lang = i18n.Match(c.Get(fiber.HeaderAcceptLanguage))
	}
	name, err := url.QueryUnescape(c.Cookies(cookieZone))
	if wanted.Zone != "" {
		name = wanted.Zone
	}
	if err == nil && name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			l.Zone = zone
		}
	}
	return l
}

func (h *Handlers) speak(c *fiber.Ctx) context.Context {
	return i18n.With(c.UserContext(), h.locale(c))
}

// page is what every page of the shop needs. A database that can't count the basket still gets a page.
func (h *Handlers) page(c *fiber.Ctx) layout.Page {
	user := currentUser(c)
	p := h.frame(c)
	p.Notice = h.takeNotice(c)
	if user.ID == (account.ID{}) {
		return p
	}
	if user.Role != account.Guest {
		p.User = layout.User{Email: user.Email, Role: string(user.Role)}
	}
	n, err := cart.Count(c.UserContext(), h.DB, user.ID)
	if err != nil {
		h.Logger.LogAttrs(c.UserContext(), slog.LevelWarn, "basket not counted", slog.String("error", err.Error()))
	}
	p.Basket = n
	return p
}

// render writes a whole page or nothing: half a page never escapes.
func (h *Handlers) render(c *fiber.Ctx, status int, page templ.Component) error {
	var out bytes.Buffer
	if err := page.Render(h.speak(c), &out); err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderVary, "HX-Request, Cookie, Accept-Language, Accept-Encoding")
	c.Set(fiber.HeaderContentLanguage, string(h.locale(c).Lang))
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	content, err := pack(c, out.Bytes())
	if err != nil {
		return err
	}
	return c.Status(status).Send(content)
}

// redirect sends the browser on after a change; htmx is told to load the page anew.
func redirect(c *fiber.Ctx, address string) error {
	if c.Get("HX-Request") == "true" {
		c.Set("HX-Redirect", address)
		return c.SendStatus(fiber.StatusNoContent)
	}
	return c.Redirect(address, fiber.StatusSeeOther)
}

// back sends the browser to a page of ours that it named; anything else leads home.
func back(c *fiber.Ctx, address, home string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.Contains(address, `\`) {
		address = home
	}
	return c.Redirect(address, fiber.StatusSeeOther)
}

// errorPage says what happened, whether money moved, and what to do.
func (h *Handlers) errorPage(c *fiber.Ctx, e *fault.Error) error {
	setErrorHeaders(c, e)
	if inConsole(c.Path()) {
		return h.consoleError(c, e)
	}
	status := statusOf(e)
	m := shop.ErrorModel{Status: status, Reference: trace.ID(c.UserContext()), Money: moneyMoved(c, status)}
	if c.Method() == fiber.MethodGet && (status >= fiber.StatusInternalServerError || status == fiber.StatusTooManyRequests) {
		m.Retry = c.OriginalURL()
	}
	return h.render(c, status, shop.Error(h.plainPage(c), m))
}

// moneyMoved is what a customer may be sure of after an error. Looking at a page moves nothing. What was refused moved nothing.
// What broke while an order or a payment was sent may have moved something, but never twice.
func moneyMoved(c *fiber.Ctx, status int) shop.Money {
	about := strings.HasPrefix(c.Path(), path.Checkout("")) || strings.HasPrefix(c.Path(), path.Order(""))
	switch {
	case status == fiber.StatusNotFound && !about:
		return shop.MoneyUnsaid
	case c.Method() != fiber.MethodPost:
		return shop.MoneyLooked
	case !about:
		return shop.MoneyNone
	case status >= fiber.StatusInternalServerError || status == fiber.StatusTooManyRequests:
		return shop.MoneyOnce
	default:
		return shop.MoneyNone
	}
}

// plainPage is a page that asks the database nothing.
func (h *Handlers) plainPage(c *fiber.Ctx) layout.Page {
	p := h.frame(c)
	p.Return = path.Home()
	if u := currentUser(c); u.Email != "" {
		p.User = layout.User{Email: u.Email, Role: string(u.Role)}
	}
	return p
}

// frame is what every page knows from the request alone.
func (h *Handlers) frame(c *fiber.Ctx) layout.Page {
	p := layout.Page{
		CSRF: h.csrfToken(c), Theme: c.Cookies(cookieTheme), Return: c.OriginalURL(), Currency: h.currency(c), Currencies: catalog.Currencies(),
	}
	if c.Method() != fiber.MethodGet {
		p.Return = c.Path()
	}
	return p
}
