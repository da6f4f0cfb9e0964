package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// consoleAudit: GET /console/audit. ?format=csv is the whole filter as a table.
func (h *Handlers) consoleAudit(c *fiber.Ctx) error {
	values, err := addressQuery(c, "person", "action", "object", "outcome", "from", "to", "cursor", "limit", "format")
	if err != nil {
		return err
	}
	f := view.AuditFilter{
		Person: values.Get("person"), Action: values.Get("action"), Object: values.Get("object"), Outcome: values.Get("outcome"), From: values.Get("from"),
		To: values.Get("to"), Limit: values.Get("limit"),
	}
	q := auditQuery(values, i18n.From(h.speak(c)).Zone)
	switch values.Get("format") {
	case "":
	case "csv":
		return h.auditCSV(c, q)
	default:
		return badAddress(fault.Validation(fault.Field{Field: "format", Rule: "csv", Message: "can only be csv"}))
	}
	list, err := console.Audit(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	m := view.AuditModel{Filter: f, Actions: auditActions(), Zone: i18n.ZoneName(h.speak(c), h.Now())}
	for _, l := range list.Rows {
		m.Lines = append(m.Lines, auditLine(l))
	}
	if list.Newer != "" {
		m.Pager.Newer = f.Address("cursor", list.Newer)
	}
	if list.Older != "" {
		m.Pager.Older = f.Address("cursor", list.Older)
	}
	if m.Done, err = h.doneModel(c, values.Get("done")); err != nil {
		return err
	}
	p, _ := h.consolePage(c, "audit")
	return h.render(c, fiber.StatusOK, view.Audit(p, m))
}

func auditQuery(v url.Values, zone *time.Location) console.AuditQuery {
	return console.AuditQuery{
		Person: v.Get("person"), Action: v.Get("action"), Object: v.Get("object"), Outcome: v.Get("outcome"), From: v.Get("from"), To: v.Get("to"),
		Cursor: v.Get("cursor"), Limit: v.Get("limit"), Zone: zone,
	}
}

// auditActions are what the filter offers: the table of actions, and what else is told.
func auditActions() (names []string) {
	for _, k := range operator.Kinds() {
		names = append(names, string(k.Name))
	}
	return append(names, "batch", "batch_preview", "batch_pause", "batch_resume", "batch_stop", "drill", "export", "job_pages", "sign_in", "tried", "view_save", "view_remove")
}

func auditLine(l console.AuditLine) view.AuditLine {
	m := view.AuditLine{
		ID: l.ID.String(), At: l.At, Person: l.Person, Role: l.Role, Action: l.Action, Kind: l.ObjectType, Object: l.ObjectID, OrderID: optional(l.OrderID),
		Order: number(l.OrderNumber), Reason: l.Reason, Outcome: l.Outcome, Code: l.Code, TraceID: l.TraceID,
	}
	for _, name := range slices.Sorted(maps.Keys(l.Detail)) {
		m.Detail = append(m.Detail, view.Detail{Name: name, Value: plain(l.Detail[name])})
	}
	if l.OperationID.Valid {
		m.Detail = append(m.Detail, view.Detail{Name: "operation_id", Value: l.OperationID.UUID.String()})
	}
	m.Detail = append(m.Detail, view.Detail{Name: "trace_id", Value: l.TraceID})
	for _, r := range l.Rows {
		row := view.AuditRow{Table: r.Table, ID: r.ID, Made: r.Before == nil}
		names := map[string]bool{}
		for name := range r.Before {
			names[name] = true
		}
		for name := range r.After {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			row.Changes = append(row.Changes, view.Change{Name: name, Before: plain(r.Before[name]), After: plain(r.After[name])})
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// plain writes a JSON value as people read it.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return v
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

func (h *Handlers) auditCSV(c *fiber.Ctx, q console.AuditQuery) error {
	lines, err := console.AuditSet(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	rows := [][]string{{"at", "person", "role", "action", "object_type", "object_id", "order", "reason", "outcome", "code", "operation_id", "trace_id", "detail"}}
	for _, l := range lines {
		detail, err := json.Marshal(l.Detail)
		if err != nil {
			return err
		}
		rows = append(rows, []string{
			stamp(&l.At), l.Person, l.Role, l.Action, l.ObjectType, l.ObjectID, number(l.OrderNumber), l.Reason, l.Outcome, l.Code, optional(l.OperationID), l.TraceID, string(detail),
		})
	}
	return h.sendCSV(c, "audit", rows)
}
