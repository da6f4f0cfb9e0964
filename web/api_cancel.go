package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/domain/checkout"
	"onefold/domain/lead"
	"onefold/domain/operation"
)

// apiOrderCancel: POST /api/orders/{id}/cancel.
func (h *Handlers) apiOrderCancel(c *fiber.Ctx) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	identify(c, operation.Identity{User: currentUser(c).ID, Type: checkout.CancelOrder, Target: "order:" + id.String(), Key: key})
	out, err := h.Desk.Cancel(c.UserContext(), currentUser(c).ID, id, key)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}

// apiLead: POST /api/leads.
func (h *Handlers) apiLead(c *fiber.Ctx) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	identify(c, operation.Identity{User: currentUser(c).ID, Type: lead.CreateLead, Key: key})
	var body struct {
		Name    string `json:"name"`
		Email   string `json:"email"`
		Message string `json:"message"`
	}
	if err := readJSON(c, &body); err != nil {
		return err
	}
	out, err := lead.Create(c.UserContext(), h.Desk.Operations, currentUser(c).ID, key, lead.Enquiry(body))
	if err != nil {
		return err
	}
	return h.answer(c, out)
}
