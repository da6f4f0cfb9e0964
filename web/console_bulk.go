package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/operator"
)

// bulkPreview: POST /console/bulk/preview freezes the selected rows, or all that the queue's filter matches, and shows what would
// be done to them. Nothing is done.
func (h *Handlers) bulkPreview(c *fiber.Ctx) error {
	name := c.FormValue("queue")
	i := slices.IndexFunc(bulkKinds(name), func(k operator.Kind) bool { return string(k.Name) == c.FormValue("action") })
	if i < 0 {
		return fault.Missing("action of this queue")
	}
	kind := bulkKinds(name)[i]
	if !currentUser(c).Role.AtLeast(kind.Role) {
		return account.Needs(kind.Role)
	}
	input, err := bulkInput(c, kind.Name)
	if err != nil {
		return badAddress(err)
	}
	ids, err := h.chosen(c, name, kind)
	if err != nil {
		return badAddress(err)
	}
	words, ctx := "bulk.chosen", h.speak(c)
	if c.FormValue("all") != "" {
		words = "bulk.matching"
	}
	c.Locals(localAudited, true)
	id, err := h.Operator.Preview(c.UserContext(), currentUser(c), operator.Wish{
		Action: kind.Name, Objects: ids, Input: input, Filter: i18n.T(ctx, words, i18n.T(ctx, "queue."+name)),
	})
	if err != nil {
		return badAddress(err)
	}
	return redirect(c, path.ConsoleBatch(id.String()))
}

// bulkKinds are the actions for many things that a queue's page offers: its own, and those on people's words about anything.
func bulkKinds(name string) (list []operator.Kind) {
	var words []operator.Kind
	for _, k := range operator.Kinds() {
		switch {
		case !k.Bulk || len(console.WorkActions(name)) == 0: // the latter: no queue
		case k.Object == onWords:
			words = append(words, k)
		case slices.Contains(console.WorkActions(name), string(k.Name)):
			list = append(list, k)
		}
	}
	return append(list, words...)
}

// bulkActions are the buttons of a queue's bar, with the choices of those that need one.
func (h *Handlers) bulkActions(c *fiber.Ctx, name string) (list []view.BulkAction, err error) {
	ctx, who := h.speak(c), currentUser(c)
	for _, k := range bulkKinds(name) {
		b := view.BulkAction{Name: string(k.Name), Allowed: who.Role.AtLeast(k.Role), Role: string(k.Role)}
		switch k.Name { //nolint:exhaustive // the others ask for nothing
		case operator.Snooze:
			b.Choice = h.until(ctx, ui.Field{Name: "until", Label: i18n.T(ctx, "act.field.until")})
			b.Choice.Options = b.Choice.Options[:len(b.Choice.Options)-1] // what is in a queue is awake
		case operator.Assign:
			if b.Choice, err = h.staffChoice(c); err != nil {
				return nil, err
			}
		}
		list = append(list, b)
	}
	return list, nil
}

// staffChoice offers the person first, then the others, then nobody.
func (h *Handlers) staffChoice(c *fiber.Ctx) (ui.Field, error) {
	ctx, me := h.speak(c), currentUser(c)
	f := ui.Field{Name: "to", Label: i18n.T(ctx, "act.field.assignee"), Options: []ui.Option{{Value: me.ID.String(), Label: i18n.T(ctx, "bulk.me")}}}
	people, err := account.Staff(c.UserContext(), h.DB)
	for _, p := range people {
		if p.ID != me.ID {
			f.Options = append(f.Options, ui.Option{Value: p.ID.String(), Label: p.Email})
		}
	}
	f.Options = append(f.Options, ui.Option{Value: "", Label: i18n.T(ctx, "act.field.assignee.nobody")})
	return f, err
}

// onWords is what actions on people's words about a thing act on: its order, else the thing itself.
const onWords = "case"

// bulkInput is what a bulk form asks for. To whom isn't called assignee there: the filter is.
func bulkInput(c *fiber.Ctx, name operator.Name) (in operator.Input, err error) {
	switch name { //nolint:exhaustive // the others ask for nothing
	case operator.Assign:
		if to := c.FormValue("to"); to != "" {
			if in.Assignee, err = uuid.Parse(to); err != nil {
				return in, fault.Validation(fault.Field{Field: "to", Rule: "staff", Message: "must be one of the staff"})
			}
		}
	case operator.Snooze:
		if in.Until, err = time.Parse(time.RFC3339, c.FormValue("until")); err != nil {
			return in, fault.Validation(fault.Field{Field: "until", Rule: "time", Message: "must be a time"})
		}
	}
	return in, nil
}

// chosen are the IDs of what a bulk form means: the selected rows, or all that its filter matches. Two rows of one order are one
// case, and a row that has left the queue meanwhile is none.
func (h *Handlers) chosen(c *fiber.Ctx, name string, kind operator.Kind) (ids []uuid.UUID, err error) {
	seen := map[uuid.UUID]bool{}
	add := func(id uuid.UUID) {
		if !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	q := console.WorkQuery{Me: currentUser(c).ID}
	if c.FormValue("all") != "" {
		q.State, q.Type, q.Error, q.Assignee, q.Tag = c.FormValue("state"), c.FormValue("type"), c.FormValue("error"), c.FormValue("assignee"), c.FormValue("tag")
	} else {
		for _, raw := range c.Request().PostArgs().PeekMulti("selected") {
			id, err := uuid.Parse(string(raw))
			if err != nil {
				return nil, fault.Validation(fault.Field{Field: "selected", Rule: "uuid", Message: "must be IDs"})
			}
			add(id)
		}
		if q.Keys = ids; kind.Object != onWords || len(ids) == 0 {
			return ids, nil
		}
		ids = nil
		clear(seen)
	}
	items, err := console.WorkSet(c.UserContext(), h.DB, name, q)
	for _, i := range items {
		if kind.Object == onWords {
			add(i.Subject())
		} else {
			add(i.Key)
		}
	}
	return ids, err
}

// bulk: POST /console/bulk starts a previewed batch, once. A reconciliation is one run over all of it instead.
func (h *Handlers) bulk(c *fiber.Ctx) error {
	id, err := uuid.Parse(c.FormValue("batch"))
	if err != nil {
		return fault.Missing("batch")
	}
	reason := strings.TrimSpace(c.FormValue("reason"))
	count, _ := strconv.Atoi(strings.TrimSpace(c.FormValue("count"))) // what isn't a number is none
	b, err := h.batchFor(c, id)
	if err != nil {
		return err
	}
	c.Locals(localAudited, true)
	address := path.ConsoleBatch(id.String())
	if b.Action == operator.Reconcile {
		var out operation.Outcome
		if out, err = h.Operator.Look(c.UserContext(), currentUser(c), id, reason, count); err == nil {
			address = path.WithQuery(path.ConsoleRun(out.Result.ResourceID), "done", out.ID.String())
		}
	} else {
		err = h.Operator.Confirm(c.UserContext(), currentUser(c), id, reason, count)
	}
	if e, ok := fault.Of(err); ok && e.Kind == fault.Invalid {
		return h.bulkRefused(c, id, e)
	}
	if err != nil {
		return err
	}
	return redirect(c, address)
}

// bulkRefused shows the preview again with what is missing.
func (h *Handlers) bulkRefused(c *fiber.Ctx, id uuid.UUID, e *fault.Error) error {
	m, err := h.batchModel(c, id)
	if err != nil {
		return err
	}
	ctx := h.speak(c)
	m.ReasonText, m.CountText = c.FormValue("reason"), c.FormValue("count")
	for _, f := range e.Fields {
		switch f.Field {
		case "reason":
			m.ReasonError = i18n.T(ctx, "act.broken.reason")
		case "count":
			m.CountError = i18n.T(ctx, "act.broken.count", strconv.Itoa(m.Waiting))
		default: // frozen with the set: only a new one can have another
			m.InputError = i18n.T(ctx, "batch.stale", i18n.T(ctx, "act.broken."+f.Field))
		}
	}
	p, _ := h.consolePage(c, "batches")
	return h.render(c, http.StatusUnprocessableEntity, view.Batch(p, m))
}
