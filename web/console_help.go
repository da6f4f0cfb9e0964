package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/domain/alarm"
	"onefold/domain/console"
)

// consoleHelp: GET /console/help.
func (h *Handlers) consoleHelp(c *fiber.Ctx) error {
	p, queues := h.consolePage(c, "help")
	m := view.HelpModel{On: p.Keys == "on", Entities: entities(), Lanes: lanes(), Runbooks: h.runbooks(queues)}
	for _, s := range []struct{ keys, name string }{
		{"/", "search"}, {"j", "down"}, {"k", "up"}, {"Enter", "open"}, {"x", "select"}, {"c", "copy"}, {"r", "refresh"}, {"?", "help"}, {"Esc", "close"},
	} {
		m.Shortcuts = append(m.Shortcuts, view.Shortcut{Keys: strings.Fields(s.keys), Name: s.name})
	}
	ctx := h.speak(c)
	add := func(key, word string) {
		if key != "" {
			m.Shortcuts = append(m.Shortcuts, view.Shortcut{Keys: []string{"g", key}, Label: i18n.T(ctx, word)})
		}
	}
	add("o", "console.overview")
	add("a", "console.alarms")
	for _, q := range p.Queues {
		add(q.Key, q.Section)
	}
	for _, s := range sections() {
		add(s.key, "console."+s.name)
	}
	return h.render(c, fiber.StatusOK, view.Help(p, m))
}

// runbooks are those of every alarm: the ones that have no queue, and every queue's.
func (h *Handlers) runbooks(queues []console.Queue) (list []view.Runbook) {
	add := func(name string) {
		t := h.Limits.Of(name)
		list = append(list, view.Runbook{Name: name, Limit: seconds(t.Limit), Count: t.Unit == alarm.Count, URL: AlarmList(name)})
	}
	add(alarm.Violations)
	for _, q := range queues {
		add(q.Name)
	}
	add(alarm.OutboxLag)
	add(alarm.InboxLag)
	return list
}

// entities are all states that a page may show, in the order in which they come.
func entities() []view.Entity {
	list := []view.Entity{
		{Name: "operation", States: []string{"PROCESSING", "COMPLETED", "FAILED"}},
		{Name: "order", States: []string{"AWAITING_PAYMENT", "PAID", "FULFILLED", "CANCELED", "EXPIRED", "PARTIALLY_REFUNDED", "REFUNDED", "NEEDS_REVIEW"}},
		{Name: "payment", States: []string{"CREATED", "SUBMITTING", "PENDING", "UNKNOWN", "SUCCEEDED", "CANCELED", "FAILED", "PARTIALLY_REFUNDED", "REFUNDED"}},
		{Name: "refund", States: []string{"CREATED", "SUBMITTING", "UNKNOWN", "SUCCEEDED", "FAILED"}},
		{Name: "shipment", States: []string{"CREATED", "SUBMITTING", "UNKNOWN", "SUCCEEDED", "FAILED"}},
		{Name: "inbox", States: []string{"RECEIVED", "APPLIED", "NO_CHANGE", "STALE", "IGNORED", "QUARANTINED"}},
		{Name: "outbox", States: []string{"WAITING", "DISPATCHED", "PARKED"}},
	}
	return list
}

func lanes() []string {
	return []string{"http", "operation", "db", "outbox", "job", "provider_out", "provider_in", "inbox", "reconcile", "operator", "mail", "other"}
}
