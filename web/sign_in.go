package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// signInPage: GET /sign-in.
func (h *Handlers) signInPage(c *fiber.Ctx) error {
	return h.render(c, fiber.StatusOK, shop.SignIn(h.page(c), shop.SignInModel{Return: c.Query("return")}))
}

// signIn: POST /sign-in. What the guest had in the basket and had ordered stays theirs.
func (h *Handlers) signIn(c *fiber.Ctx) error {
	m := shop.SignInModel{Email: shop.Typed{Value: c.FormValue("email")}, Return: c.FormValue("return")}
	status, err := h.enter(c, account.Shopper)
	if status == fiber.StatusOK && err == nil {
		return back(c, m.Return, path.Orders())
	}
	if err != nil {
		return err
	}
	m.Errors = []ui.FieldError{{Field: "email", Message: i18n.T(h.speak(c), "sign_in.wrong")}}
	return h.render(c, status, shop.SignIn(h.page(c), m))
}

// enter checks the password and starts a session for whoever has at least the role; status 422 means wrong, and nothing says what
// of it.
func (h *Handlers) enter(c *fiber.Ctx, floor account.Role) (status int, err error) {
	ctx, guest := c.UserContext(), currentUser(c)
	u, err := account.Authenticate(ctx, h.DB, c.FormValue("email"), c.FormValue("password"), c.IP())
	if e, ok := fault.Of(err); ok && e.Code == "SIGN_IN_FAILED" {
		return fiber.StatusUnprocessableEntity, nil
	}
	if err != nil {
		return 0, err
	}
	if !u.Role.AtLeast(floor) {
		return 0, account.Needs(floor)
	}
	former := c.Cookies(h.cookieName(cookieSession))
	if u.Role.Staff() { // first: nobody is in without a line
		if err := h.Operator.Tell(ctx, operator.Told{Actor: u, What: "sign_in", ObjectType: "user", Object: u.ID.String()}); err != nil {
			return 0, err
		}
	}
	if err := h.signInAs(c, u); err != nil {
		return 0, err
	}
	if guest.Role == account.Guest {
		if err := checkout.Adopt(ctx, h.DB, guest.ID, u.ID); err != nil {
			return 0, err
		}
	}
	if former != "" {
		err = account.EndSession(ctx, h.DB, former)
	}
	return fiber.StatusOK, err
}

// signOut: POST /sign-out.
func (h *Handlers) signOut(c *fiber.Ctx) error {
	if err := account.EndSession(c.UserContext(), h.DB, c.Cookies(h.cookieName(cookieSession))); err != nil {
		return err
	}
	h.setCookie(c, cookieSession, "", -1)
	return back(c, path.Home(), path.Home())
}

// prefs: POST /prefs keeps language, theme and currency in cookies.
func (h *Handlers) prefs(c *fiber.Ctx) error {
	wanted := map[string]string{}
	if lang := i18n.Lang(c.FormValue("lang")); lang.Valid() {
		h.keepPref(c, cookieLang, string(lang))
		wanted["lang"] = string(lang)
	}
	switch theme := c.FormValue("theme"); theme {
	case "system", "light", "dark":
		h.keepPref(c, cookieTheme, theme)
		wanted["theme"] = theme
	}
	if u := currentUser(c); u.Role.Staff() && len(wanted) > 0 { // the console's preferences come before cookies
		if err := account.Prefer(c.UserContext(), h.DB, u.ID, wanted); err != nil {
			return err
		}
	}
	if code := c.FormValue("currency"); sold(code) {
		h.keepPref(c, cookieCurrency, code)
	}
	return back(c, c.FormValue("return"), path.Home())
}

// keepPref sets a cookie that says nothing about anybody; scripts may read it.
func (h *Handlers) keepPref(c *fiber.Ctx, name, value string) {
	c.Cookie(&fiber.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: yearOfSeconds, Secure: h.secureCookies(), SameSite: fiber.CookieSameSiteLaxMode,
	})
}
