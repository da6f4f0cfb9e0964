package web

import (
	"context"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/trace"
)

// consoleSignInPage: GET /console/sign-in.
func (h *Handlers) consoleSignInPage(c *fiber.Ctx) error {
	p := h.plainPage(c)
	p.Return = c.OriginalURL()
	return h.render(c, fiber.StatusOK, view.SignIn(p, view.SignInModel{Return: c.Query("return")}))
}

// consoleSignIn: POST /console/sign-in. Somebody without a role of the console gets no session here.
func (h *Handlers) consoleSignIn(c *fiber.Ctx) error {
	m := view.SignInModel{Email: c.FormValue("email"), Return: c.FormValue("return")}
	status, err := h.enter(c, account.Viewer)
	if err != nil {
		return err
	}
	if status == fiber.StatusOK {
		return back(c, m.Return, path.Console())
	}
	m.Errors = []ui.FieldError{{Field: "email", Message: i18n.T(h.speak(c), "sign_in.wrong")}}
	p := h.plainPage(c)
	p.Return = path.ConsoleSignIn()
	return h.render(c, status, view.SignIn(p, m))
}

// consoleError is errorPage for operators: it names the role, the parameter or the trace to go on with.
func (h *Handlers) consoleError(c *fiber.Ctx, e *fault.Error) error {
	ctx, status, user := h.speak(c), statusOf(e), currentUser(c)
	code := "500"
	if known := strconv.Itoa(status); i18n.Has("error." + known + ".title") {
		code = known
	}
	m := view.ErrorModel{Title: i18n.T(ctx, "error."+code+".title"), Detail: i18n.T(ctx, "error."+code+".text"), Reference: trace.ID(c.UserContext())}
	switch {
	case len(e.Fields) > 0 && e.Fields[0].Field == account.FieldRole:
		m.Detail = roleWords(ctx, e.Fields[0].Rule, user.Role)
	case len(e.Fields) > 0:
		m.Detail = i18n.T(ctx, "console.bad_address", named(c, e.Fields))
	case status == fiber.StatusNotFound:
		m.Detail = i18n.T(ctx, "console.missing")
	}
	if status >= fiber.StatusInternalServerError && c.Method() == fiber.MethodGet {
		m.Retry = c.OriginalURL()
	}
	if !user.Role.Staff() {
		return h.render(c, status, view.Refused(h.plainPage(c), m))
	}
	return h.render(c, status, view.Error(h.consoleFrame(c), m))
}

// roleWords says which role would do, and which one there is.
func roleWords(ctx context.Context, needed string, role account.Role) string {
	if !role.AtLeast(account.Shopper) {
		return i18n.T(ctx, "error.role.none", needed)
	}
	return i18n.T(ctx, "error.role", needed, string(role))
}

// inConsole says that an address is one for operators.
func inConsole(address string) bool {
	return strings.HasPrefix(address+"/", "/console/") || strings.HasPrefix(address, "/go/")
}

// named lists parameters with the values that were refused.
func named(c *fiber.Ctx, fields []fault.Field) (list string) {
	for i, f := range fields {
		if i > 0 {
			list += ", "
		}
		list += shorten("“" + f.Field + "=" + c.Query(f.Field) + "”")
	}
	return list
}
