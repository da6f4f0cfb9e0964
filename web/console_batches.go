package web

import (
	"context"
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/money"
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
		rows = append(rows, batchRow(h.speak(c), b))
	}
	p, _ := h.consolePage(c, "batches")
	return h.render(c, fiber.StatusOK, view.Batches(p, rows))
}

// toldWords says what a batch was told besides its reason: to whom, or until when.
func toldWords(ctx context.Context, b operator.Batch) string {
	switch {
	case b.Action == operator.Assign && b.Input.Assignee == uuid.Nil:
		return i18n.T(ctx, "batch.to.nobody")
	case b.Action == operator.Assign:
		return i18n.T(ctx, "batch.to", b.Assignee)
	case b.Action == operator.Snooze:
		return i18n.T(ctx, "batch.until", i18n.DateTime(ctx, b.Input.Until))
	}
	return ""
}

func batchRow(ctx context.Context, b operator.Batch) view.BatchRow {
	return view.BatchRow{
		ID: b.ID.String(), Action: string(b.Action), Input: toldWords(ctx, b), By: b.User, Filter: b.Filter, Status: b.Status, Total: b.Total, Done: b.Done, Skipped: b.Skipped, Bad: b.Failed,
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
	m = view.BatchModel{BatchRow: batchRow(h.speak(c), b), CSRF: h.csrfToken(c), Waiting: b.Waiting(), Typed: b.Waiting() >= operator.TypedCount, Reason: b.Reason, RetryOf: optional(b.RetryOf)}
	if m.Allowed, m.Role = who.Role.AtLeast(role), string(role); m.Allowed && b.UserID != who.ID && !who.Role.AtLeast(account.Approver) {
		m.Allowed, m.Role = false, string(account.Approver)
	}
	if b.Status == "PREVIEW" {
		items = items[:min(len(items), previewRows)]
		if m.Changed, err = operator.Changed(ctx, h.DB, b); err != nil {
			return m, err
		}
	}
	addUp(&m, sums, h.lang(c))
	for _, i := range items {
		item := view.BatchItem{ID: i.ObjectID.String(), OrderID: optional(i.OrderID), Label: i.Label, State: i.State, Status: i.Status, Code: i.Code}
		if i.Minor != nil && i.Money != nil {
			item.Amount = money.Amount{Minor: *i.Minor, Currency: *i.Money}.Listed(h.lang(c))
		}
		m.Items = append(m.Items, item)
	}
	return m, nil
}

// addUp counts what waits by its state and money, and what doesn't by its reason.
func addUp(m *view.BatchModel, sums []operator.Sum, lang string) {
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
		m.Amounts = append(m.Amounts, money.Amount{Minor: amounts[code], Currency: code}.Listed(lang))
	}
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

// batchMove: POST /console/batches/{id}/move pauses, resumes or stops.
func (h *Handlers) batchMove(c *fiber.Ctx) error {
	id, err := paramID(c, "batch")
	if err != nil {
		return err
	}
	if _, err := h.batchFor(c, id); err != nil {
		return err
	}
	c.Locals(localAudited, true)
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
	c.Locals(localAudited, true)
	again, err := h.Operator.RetryFailed(c.UserContext(), currentUser(c), id)
	if err != nil {
		return err
	}
	return redirect(c, path.ConsoleBatch(again.String()))
}
