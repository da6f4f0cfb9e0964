package web

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/operator"
)

// roleOf is the least role that may do an action.
func roleOf(name operator.Name) account.Role {
	for _, k := range operator.Kinds() {
		if k.Name == name {
			return k.Role
		}
	}
	return account.Admin
}

const (
	batchesListed = 100
	previewRows   = 10
)

// bulkPreview: POST /console/bulk/preview freezes the selected rows, or all that the queue's filter matches, and shows what would
// be done to them. Nothing is done.
func (h *Handlers) bulkPreview(c *fiber.Ctx) error {
	name, action := c.FormValue("queue"), operator.Name(c.FormValue("action"))
	if !currentUser(c).Role.AtLeast(roleOf(action)) {
		return account.Needs(roleOf(action))
	}
	if !slices.Contains(console.WorkActions(name), string(action)) {
		return fault.Missing("action of this queue")
	}
	ids, all, err := h.chosen(c, name)
	if err != nil {
		return badAddress(err)
	}
	if len(ids) == 0 {
		return badAddress(fault.Validation(fault.Field{Field: "selected", Rule: "min=1", Message: "names nothing"}))
	}
	words := "bulk.chosen"
	if all {
		words = "bulk.matching"
	}
	ctx := h.speak(c)
	id, err := h.Operator.Preview(c.UserContext(), currentUser(c), action, ids, i18n.T(ctx, words, i18n.T(ctx, "queue."+name)))
	if err != nil {
		return err
	}
	return redirect(c, path.ConsoleBatch(id.String()))
}

// chosen are the IDs of a bulk form; all says that the filter chose them.
func (h *Handlers) chosen(c *fiber.Ctx, name string) (ids []uuid.UUID, all bool, err error) {
	if c.FormValue("all") != "" {
		items, err := console.WorkSet(c.UserContext(), h.DB, name, console.WorkQuery{
			State: c.FormValue("state"), Type: c.FormValue("type"), Error: c.FormValue("error"), Assignee: c.FormValue("assignee"), Tag: c.FormValue("tag"),
			Me: currentUser(c).ID,
		})
		for _, i := range items {
			ids = append(ids, i.Key)
		}
		return ids, true, err
	}
	for _, raw := range c.Request().PostArgs().PeekMulti("selected") {
		id, err := uuid.Parse(string(raw))
		if err != nil {
			return nil, false, fault.Validation(fault.Field{Field: "selected", Rule: "uuid", Message: "must be IDs"})
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, false, nil
}

// consoleBatches: GET /console/batches.
func (h *Handlers) consoleBatches(c *fiber.Ctx) error {
	if _, err := addressQuery(c); err != nil {
		return err
	}
	list, err := operator.Batches(c.UserContext(), h.DB, batchesListed)
	if err != nil {
		return err
	}
	var rows []view.BatchRow
	for _, b := range list {
		rows = append(rows, batchRow(b))
	}
	p, _ := h.consolePage(c, "batches")
	return h.render(c, fiber.StatusOK, view.Batches(p, rows))
}

func batchRow(b operator.Batch) view.BatchRow {
	return view.BatchRow{
		ID: b.ID.String(), Action: string(b.Action), By: b.User, Filter: b.Filter, Status: b.Status, Total: b.Total, Done: b.Done, Skipped: b.Skipped, Bad: b.Failed,
		CreatedAt: b.CreatedAt, Started: orZero(b.StartedAt), Finished: orZero(b.FinishedAt),
	}
}

// consoleBatch: GET /console/batches/{id}.
func (h *Handlers) consoleBatch(c *fiber.Ctx) error {
	id, err := paramID(c, "batch")
	if err != nil {
		return err
	}
	m, err := h.batchModel(c, id)
	if err != nil {
		return err
	}
	p, _ := h.consolePage(c, "batches")
	return h.render(c, fiber.StatusOK, view.Batch(p, m))
}

func (h *Handlers) batchModel(c *fiber.Ctx, id uuid.UUID) (m view.BatchModel, err error) {
	ctx, who := c.UserContext(), currentUser(c)
	b, items, err := operator.FindBatch(ctx, h.DB, id, itemsListed)
	if err != nil {
		return m, err
	}
	sums, err := operator.Sums(ctx, h.DB, id)
	if err != nil {
		return m, err
	}
	role := roleOf(b.Action)
	m = view.BatchModel{BatchRow: batchRow(b), CSRF: h.csrfToken(c), Waiting: b.Waiting(), Typed: b.Waiting() >= operator.TypedCount, Reason: b.Reason, RetryOf: optional(b.RetryOf)}
	if m.Allowed, m.Role = who.Role.AtLeast(role), string(role); m.Allowed && b.UserID != who.ID && !who.Role.AtLeast(account.Approver) {
		m.Allowed, m.Role = false, string(account.Approver)
	}
	if b.Status == "PREVIEW" {
		items = items[:min(len(items), previewRows)]
		if m.Changed, err = operator.Changed(ctx, h.DB, b); err != nil {
			return m, err
		}
	}
	addUp(&m, sums)
	for _, i := range items {
		item := view.BatchItem{ID: i.ObjectID.String(), OrderID: optional(i.OrderID), Label: i.Label, State: i.State, Status: i.Status, Code: i.Code}
		if i.Minor != nil && i.Money != nil {
			item.Amount = money.Amount{Minor: *i.Minor, Currency: *i.Money}.String()
		}
		m.Items = append(m.Items, item)
	}
	return m, nil
}

// addUp counts what waits by its state and money, and what doesn't by its reason.
func addUp(m *view.BatchModel, sums []operator.Sum) {
	states, whys, amounts := map[string]int{}, map[string]int{}, map[string]int64{}
	for _, s := range sums {
		if s.Code != "" {
			whys[s.Code] += s.Count
		}
		if s.Status == "WAITING" {
			states[s.State] += s.Count
			if s.Money != "" {
				amounts[s.Money] += s.Minor
			}
		}
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		m.Sums = append(m.Sums, view.Sum{Name: state, N: states[state]})
	}
	for _, code := range slices.Sorted(maps.Keys(whys)) {
		m.Why = append(m.Why, view.Sum{Name: code, N: whys[code]})
	}
	for _, code := range slices.Sorted(maps.Keys(amounts)) {
		m.Amounts = append(m.Amounts, money.Amount{Minor: amounts[code], Currency: code}.String())
	}
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

// batchFor finds a batch for somebody whose role is enough for what it does.
func (h *Handlers) batchFor(c *fiber.Ctx, id uuid.UUID) (operator.Batch, error) {
	b, _, err := operator.FindBatch(c.UserContext(), h.DB, id, 1)
	if err != nil {
		return b, err
	}
	if role := roleOf(b.Action); !currentUser(c).Role.AtLeast(role) {
		return b, account.Needs(role)
	}
	return b, nil
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
		if f.Field == "reason" {
			m.ReasonError = i18n.T(ctx, "act.broken.reason")
		} else {
			m.CountError = i18n.T(ctx, "act.broken.count", strconv.Itoa(m.Waiting))
		}
	}
	p, _ := h.consolePage(c, "batches")
	return h.render(c, http.StatusUnprocessableEntity, view.Batch(p, m))
}

// batchMove: POST /console/batches/{id}/move pauses, resumes or stops.
func (h *Handlers) batchMove(c *fiber.Ctx) error {
	id, err := paramID(c, "batch")
	if err != nil {
		return err
	}
	if _, err := h.batchFor(c, id); err != nil {
		return err
	}
	if err := h.Operator.Steer(c.UserContext(), currentUser(c), id, c.FormValue("move")); err != nil {
		return err
	}
	return redirect(c, path.ConsoleBatch(id.String()))
}

// batchRetry: POST /console/batches/{id}/retry previews what failed, and only that.
func (h *Handlers) batchRetry(c *fiber.Ctx) error {
	id, err := paramID(c, "batch")
	if err != nil {
		return err
	}
	if _, err := h.batchFor(c, id); err != nil {
		return err
	}
	again, err := h.Operator.RetryFailed(c.UserContext(), currentUser(c), id)
	if err != nil {
		return err
	}
	return redirect(c, path.ConsoleBatch(again.String()))
}
