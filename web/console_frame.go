package web

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"onefold/components/layout"
	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/alarm"
	"onefold/domain/console"
)

// consolePage is what every page of the console needs, and the queues behind the numbers in its rail. What can't be read costs its
// part of the frame, not the page.
func (h *Handlers) consolePage(c *fiber.Ctx, section string) (layout.ConsolePage, []console.Queue) {
	p, ctx := h.consoleFrame(c), c.UserContext()
	p.Section, p.At, p.Streamed = section, h.Now(), true
	p.Since = sinceOf(c)
	if strings.HasPrefix(p.Return, path.Console()+"/") {
		p.Savable = p.Return
	}
	queues, err := console.Queues(ctx, h.DB)
	h.unread(c, "queues", err)
	p.Queues = h.queueItems(queues)
	firing, err := alarm.Firing(ctx, h.DB)
	h.unread(c, "alarms", err)
	p.Firing = firingModels(firing)
	views, err := account.Views(ctx, h.DB, currentUser(c).ID)
	h.unread(c, "views", err)
	p.Views = viewItems(views, p.Queues)
	return p, queues
}

// unread logs what a page has to do without.
func (h *Handlers) unread(c *fiber.Ctx, what string, err error) {
	if err != nil {
		h.Logger.LogAttrs(c.UserContext(), slog.LevelWarn, what+" not read", slog.String("error", err.Error()))
	}
}

// consoleFrame is a page of the console that asks the database nothing.
func (h *Handlers) consoleFrame(c *fiber.Ctx) layout.ConsolePage {
	wanted := preferences(c)
	p := layout.ConsolePage{
		Page: h.plainPage(c), Env: h.Environment, Groups: h.rail(currentUser(c).Role), UTC: wanted.Zone == "UTC",
		Density: or(wanted.Density, "compact"), Keys: or(wanted.Keys, "on"), Refresh: or(wanted.Refresh, defaultRefresh),
	}
	if p.Return = path.Console(); c.Method() == http.MethodGet {
		p.Return = c.OriginalURL()
	}
	p.Link = strings.TrimRight(h.PublicURL, "/") + p.Return
	if wanted.Theme != "" {
		p.Theme = wanted.Theme
	}
	return p
}

const defaultRefresh = "10" // seconds

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// section is a page that the rail leads to.
type section struct {
	group, name, icon, url, key string
	floor                       account.Role
}

// sections lists the rail below the queues, in its order. A new page is a line here, and its word "console.<name>".
func sections() []section {
	return []section{
		{"data", "operations", "layers", path.ConsoleOperations(), "n", account.Viewer},
		{"data", "payments", "card", path.ConsolePayments(), "p", account.Viewer},
		{"data", "orders", "receipt", path.ConsoleOrders(), "", account.Viewer},
		{"data", "inbox", "inbox", path.ConsoleInbox(), "i", account.Viewer},
		{"data", "outbox", "outbox", path.ConsoleOutbox(), "b", account.Viewer},
		{"data", "river", "jobs", path.ConsoleRiver(), "", account.Operator},
		{"find", "search", "search", path.ConsoleSearch(), "s", account.Viewer},
		{"control", "reconcile", "refresh", path.ConsoleReconcile(), "c", account.Viewer},
		{"control", "batches", "layers", path.ConsoleBatches(), "m", account.Viewer},
		{"control", "audit", "book", path.ConsoleAudit(), "t", account.Viewer},
		{"control", "drills", "flask", path.ConsoleDrills(), "d", account.Viewer},
		{"control", "retention", "shield", path.ConsoleRetention(), "", account.Viewer},
		{"control", "users", "users", path.ConsoleUsers(), "", account.Viewer},
		{"me", "prefs", "gear", path.ConsolePrefs(), "", account.Viewer},
		{"me", "help", "book", path.ConsoleHelp(), "h", account.Viewer},
	}
}

func (h *Handlers) rail(role account.Role) (groups []layout.RailGroup) {
	for _, s := range sections() {
		if !role.AtLeast(s.floor) || (s.name == "river" && h.River == nil) {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != s.group {
			groups = append(groups, layout.RailGroup{Name: s.group})
		}
		last := &groups[len(groups)-1]
		last.Items = append(last.Items, layout.RailItem{Section: s.name, Icon: s.icon, URL: s.url, Key: s.key})
	}
	return groups
}

// queueIcons and queueKeys are of those queues that people go to most.
var (
	queueIcons = map[string]string{ //nolint:gochecknoglobals // a table
		"unknown_payments": "question", "stuck_operations": "clock", "failed_effects": "cross", "quarantined_events": "alert", "waiting_events": "inbox",
		"parked_events": "outbox", "orders_in_review": "eye", "orphan_payments": "coins", "possible_duplicates": "copy",
		"failed_jobs": "jobs", "approvals": "users",
	}
	queueKeys = map[string]string{"unknown_payments": "u", "stuck_operations": "k", "failed_effects": "f"} //nolint:gochecknoglobals // a table
)

func (h *Handlers) queueItems(queues []console.Queue) (items []layout.RailItem) {
	for _, q := range queues {
		items = append(items, layout.RailItem{
			Section: "queue." + q.Name, Icon: or(queueIcons[q.Name], "dot"), URL: queueList(q.Name), Key: queueKeys[q.Name],
			N: q.Count, More: q.Count >= console.MaxCount, Over: h.Limits.Of(q.Name).Over(q.Count, q.Age),
		})
	}
	return items
}

// viewItems are saved addresses; one that is a queue's carries the queue's number.
func viewItems(views []account.View, queues []layout.RailItem) (items []layout.RailItem) {
	for _, v := range views {
		item := layout.RailItem{Label: v.Name, Icon: "eye", URL: v.Address, Shared: v.Shared}
		for _, q := range queues {
			if q.URL == v.Address {
				item.N, item.More, item.Over = q.N, q.More, q.Over
			}
		}
		items = append(items, item)
	}
	return items
}

func firingModels(list []alarm.Alarm) (models []layout.Firing) {
	for _, a := range list {
		f := layout.Firing{Name: a.Name, N: a.Count, Since: a.Since, Owner: a.AcknowledgedBy, Silenced: a.SilencedUntil != nil, URL: AlarmList(a.Name)}
		if a.Unit == alarm.Count {
			f.ByCount, f.Most = true, int(a.Limit)
		} else {
			f.Age, f.Limit = seconds(a.Value), seconds(a.Limit)
		}
		models = append(models, f)
	}
	return models
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

const localPrefs = "preferences"

// preferred reads how the person wants the console to be; without the database it looks as for anybody.
func (h *Handlers) preferred(c *fiber.Ctx) error {
	p, err := account.PreferencesOf(c.UserContext(), h.DB, currentUser(c).ID)
	h.unread(c, "preferences", err)
	c.Locals(localPrefs, p)
	return c.Next()
}

func preferences(c *fiber.Ctx) account.Preferences {
	p, _ := c.Locals(localPrefs).(account.Preferences)
	return p
}
