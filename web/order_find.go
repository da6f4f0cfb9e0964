package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/fault"
)

// orderFind: POST /orders/{id}/find opens a guest's order in a browser that hasn't placed it, e.g. from the link in the receipt,
// for whoever knows the address it was placed with.
func (h *Handlers) orderFind(c *fiber.Ctx) error {
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	now := currentUser(c)
	if now.Email != "" { // an account sees its own orders, and takes nobody else's
		return fault.Missing("order")
	}
	m := shop.FindOrderModel{Email: shop.Typed{Value: c.FormValue("email")}}
	guest, err := checkout.GuestOrder(c.UserContext(), h.DB, id, m.Email.Value, c.IP())
	if fault.KindOf(err) == fault.NotFound && err != nil {
		m.Email.Error = i18n.T(h.speak(c), "find.wrong")
		return h.askForEmail(c, fiber.StatusUnprocessableEntity, m)
	}
	if err != nil {
		return err
	}
	if err := h.signInAs(c, guest); err != nil {
		return err
	}
	if now.ID != (account.ID{}) { // the basket of this browser comes along
		if err := checkout.Adopt(c.UserContext(), h.DB, now.ID, guest.ID); err != nil {
			return err
		}
	}
	return c.Redirect(path.Order(id.String()), fiber.StatusSeeOther)
}

// askForEmail is the same page for an order that belongs to somebody else and for one that never was.
func (h *Handlers) askForEmail(c *fiber.Ctx, status int, m shop.FindOrderModel) error {
	m.OrderID = c.Params("id")
	return h.render(c, status, shop.FindOrder(h.page(c), m))
}
