package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/fault"
)

// requireRole lets nobody past who isn't signed in with at least this role.
func (h *Handlers) requireRole(floor account.Role) fiber.Handler {
	return func(c *fiber.Ctx) error {
		switch role := currentUser(c).Role; {
		case role.AtLeast(floor):
			return c.Next()
		case role.AtLeast(account.Shopper):
			return account.Needs(floor)
		case isMachine(c.Path()):
			return fault.New(fault.Forbidden, "UNAUTHENTICATED", "Sign in to the console.")
		}
		wanted := path.Console()
		if c.Method() == http.MethodGet {
			wanted = c.OriginalURL()
		}
		return c.Redirect(path.WithQuery(path.ConsoleSignIn(), "return", wanted), fiber.StatusSeeOther)
	}
}

// listQuery reads a list's address. A parameter that is unknown, given twice or unreadable is refused by name: a list never shows
// more than was asked for.
func listQuery(c *fiber.Ctx, filters ...string) (q console.Query, err error) {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return q, badAddress(fault.Validation(fault.Field{Field: "?", Rule: "readable", Message: "can't be read"}))
	}
	var broken []fault.Field
	for name, given := range values {
		if len(given) > 1 || !slices.Contains(append(filters, "state", "cursor", "limit", "lang"), name) {
			broken = append(broken, fault.Field{Field: name, Rule: "known", Message: "is no parameter of this list, or is there twice"})
		}
	}
	if len(broken) > 0 {
		slices.SortFunc(broken, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
		return q, badAddress(fault.Validation(broken...))
	}
	return console.Query{
		State: values.Get("state"), Type: values.Get("type"), Provider: values.Get("provider"), Cursor: values.Get("cursor"), Limit: values.Get("limit"),
	}, nil
}

// badAddress makes what is wrong with a list's address a 400: it isn't a form that somebody could correct.
func badAddress(err error) error {
	e, ok := fault.Of(err)
	if !ok || e.Code != "VALIDATION_FAILED" {
		return err
	}
	bad := *e
	bad.Code = "BAD_REQUEST"
	return &bad
}

func filterOf(q console.Query, states, types, providers []string) view.Filter {
	return view.Filter{State: q.State, Type: q.Type, Provider: q.Provider, Limit: q.Limit, States: states, Types: types, Providers: providers}
}

// pager leads to the neighbouring pages of the same filter.
func pager(address string, q console.Query, newer, older string) (p ui.Pager) {
	at := func(cursor string) string {
		if cursor == "" {
			return ""
		}
		return path.WithQuery(address, "state", q.State, "type", q.Type, "provider", q.Provider, "limit", q.Limit, "cursor", cursor)
	}
	return ui.Pager{Newer: at(newer), Older: at(older)}
}
