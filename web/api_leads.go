package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/domain/lead"
	"onefold/domain/operation"
)

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
