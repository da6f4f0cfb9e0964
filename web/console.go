package web

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/layout"
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
			return roleNeeded(floor)
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

// fieldRole names the field of a refusal that says which role would do.
const fieldRole = "role"

func roleNeeded(floor account.Role) *fault.Error {
	e := fault.New(fault.Forbidden, "FORBIDDEN", "This needs the role "+string(floor)+" or a higher one.")
	e.Fields = []fault.Field{{Field: fieldRole, Rule: string(floor), Message: "is not enough"}}
	return e
}

// consolePage is what every page of the console needs, and the queues behind the numbers in its rail. Queues that can't be
// counted cost the numbers, not the page.
func (h *Handlers) consolePage(c *fiber.Ctx, section string) (layout.ConsolePage, []console.Queue) {
	p := h.consoleFrame(c)
	p.Section, p.At = section, h.Now()
	queues, err := console.Queues(c.UserContext(), h.DB)
	if err != nil {
		h.Logger.LogAttrs(c.UserContext(), slog.LevelWarn, "queues not counted", slog.String("error", err.Error()))
	}
	for _, q := range queues {
		pill := &p.Counts.Operations
		switch q.Name {
		case "unknown_payments":
			pill = &p.Counts.Payments
		case "quarantined_events":
			pill = &p.Counts.Inbox
		case "parked_events":
			pill = &p.Counts.Outbox
		}
		pill.N += q.Count
		pill.Over = pill.Over || overLimit(q)
	}
	return p, queues
}

// consoleFrame is a page of the console that asks the database nothing.
func (h *Handlers) consoleFrame(c *fiber.Ctx) layout.ConsolePage {
	p := layout.ConsolePage{Page: h.plainPage(c), Env: h.Environment, River: h.River != nil && currentUser(c).Role.AtLeast(account.Operator)}
	if p.Return = path.Console(); c.Method() == http.MethodGet {
		p.Return = c.OriginalURL()
	}
	return p
}

// patience is how long a payment may stay unknown before it is an alarm: looks come every few seconds at first, every few minutes
// later.
const patience = 15 * time.Minute

// overLimit says that a queue is an alarm. An unknown payment finds its answer by itself for a while; all else waits for a person.
func overLimit(q console.Queue) bool {
	if q.Name == "unknown_payments" {
		return q.Age > patience
	}
	return q.Count > 0
}

// overview: GET /console.
func (h *Handlers) consoleOverview(c *fiber.Ctx) error {
	p, queues := h.consolePage(c, "overview")
	latest, err := console.Operations(c.UserContext(), h.DB, console.Query{Limit: "25"})
	if err != nil {
		return err
	}
	m := view.OverviewModel{Latest: operationRows(latest.Rows[:min(len(latest.Rows), 12)])}
	for _, q := range queues {
		tile := view.Queue{Name: q.Name, N: q.Count, More: q.Count >= console.MaxCount, Age: q.Age, Over: overLimit(q), URL: queueList(q.Name)}
		if q.Oldest != nil {
			tile.Oldest = *q.Oldest
		}
		m.Queues = append(m.Queues, tile)
	}
	return h.render(c, fiber.StatusOK, view.Overview(p, m))
}

// queueList is the list that shows exactly what a queue counts.
func queueList(name string) string {
	switch name {
	case "unknown_payments":
		return path.WithQuery(path.ConsolePayments(), "state", "UNKNOWN")
	case "quarantined_events":
		return path.WithQuery(path.ConsoleInbox(), "state", "QUARANTINED")
	case "parked_events":
		return path.WithQuery(path.ConsoleOutbox(), "state", "PARKED")
	default:
		return path.WithQuery(path.ConsoleOperations(), "state", console.ViewOfQueue(name))
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
