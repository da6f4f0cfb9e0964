package web

import (
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/reconcile"
)

// apiReconcile: POST /api/reconciliations, for support and higher roles: looks at the outside now.
func (h *Handlers) apiReconcile(c *fiber.Ctx) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	p := operator.Press{Actor: currentUser(c), Action: operator.Reconcile, Key: key}
	var body struct {
		Objects []string `json:"objects"`
		Kind    string   `json:"kind"`
	}
	if err := readJSON(c, &body); err != nil {
		return err
	}
	if p.Object, p.Input.Text = operator.Everything, body.Kind; len(body.Objects) > 0 {
		p.Object, p.Input.Text = operator.Several, ""
	}
	for _, text := range body.Objects {
		id, err := uuid.Parse(text)
		if err != nil {
			return fault.Validation(fault.Field{Field: "objects", Rule: "dive,uuid", Message: "must be IDs of payments, refunds or parcels"})
		}
		p.Input.Objects = append(p.Input.Objects, id)
	}
	identify(c, operation.Identity{User: p.Actor.ID, Type: p.Action.Type(), Target: "payment:" + p.Object, Key: key})
	out, err := h.Operator.Press(c.UserContext(), p)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}

// shownItems of a run are in one answer; those without an answer yet come first.
const shownItems = 1000

// apiReconciliation: GET /api/reconciliations/{id}.
func (h *Handlers) apiReconciliation(c *fiber.Ctx) error {
	if !currentUser(c).Role.AtLeast(account.Viewer) {
		return account.Needs(account.Viewer)
	}
	id, err := paramID(c, "reconciliation")
	if err != nil {
		return err
	}
	run, items, err := reconcile.Find(c.UserContext(), h.DB, id, shownItems)
	if err != nil {
		return err
	}
	return c.JSON(struct {
		reconcile.Run
		Items []reconcile.Item `json:"items"`
	}{run, items})
}
