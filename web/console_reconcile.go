package web

import (
	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/domain/operator"
	"onefold/domain/reconcile"
)

const (
	runsListed  = 100
	itemsListed = 200
)

// consoleRuns: GET /console/reconcile.
func (h *Handlers) consoleRuns(c *fiber.Ctx) error {
	if _, err := addressQuery(c); err != nil {
		return err
	}
	runs, err := reconcile.Latest(c.UserContext(), h.DB, runsListed)
	if err != nil {
		return err
	}
	role := roleOf(operator.Reconcile)
	m := view.RunsModel{CSRF: h.csrfToken(c), Role: string(role), Allowed: currentUser(c).Role.AtLeast(role), Keys: map[string]string{}}
	for _, kind := range []string{"", "payment", "refund", "shipment"} {
		m.Keys[kind] = newKey()
	}
	for _, r := range runs {
		m.Runs = append(m.Runs, runModel(r))
	}
	if m.Done, err = h.doneModel(c, c.Query("done")); err != nil {
		return err
	}
	p, _ := h.consolePage(c, "reconcile")
	return h.render(c, fiber.StatusOK, view.Runs(p, m))
}

func runModel(r reconcile.Run) view.Reconciliation {
	return view.Reconciliation{
		ID: r.ID.String(), By: r.ByEmail, Scope: string(r.Scope), Kind: r.Kind, Total: r.Total, Done: r.Done, Changed: r.Changed, Unchanged: r.Unchanged,
		Unreachable: r.Unreachable, Skipped: r.Skipped, At: r.CreatedAt, FinishedAt: orZero(r.FinishedAt), TraceID: r.TraceID,
	}
}

// consoleRun: GET /console/reconcile/{id}. The page looks every second until every answer is there.
func (h *Handlers) consoleRun(c *fiber.Ctx) error {
	id, err := paramID(c, "reconciliation")
	if err != nil {
		return err
	}
	run, items, err := reconcile.Find(c.UserContext(), h.DB, id, itemsListed)
	if err != nil {
		return err
	}
	m := view.RunModel{Run: runModel(run)}
	for _, i := range items {
		m.Items = append(m.Items, view.RunItem{
			Kind: i.Kind, ID: i.ObjectID.String(), OrderID: i.OrderID.String(), Order: number(&i.OrderName), Before: i.Before, After: i.After,
			Result: i.Result, Detail: i.Detail, DoneAt: orZero(i.DoneAt), NextAt: orZero(i.NextLookAt),
		})
	}
	if m.Done, err = h.doneModel(c, c.Query("done")); err != nil {
		return err
	}
	p, _ := h.consolePage(c, "reconcile")
	return h.render(c, fiber.StatusOK, view.RunPage(p, m))
}
