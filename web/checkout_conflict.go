package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/shop"
	"onefold/domain/cart"
	"onefold/domain/checkout"
	"onefold/domain/money"
	"onefold/domain/operation"
)

// basketChanged shows what the basket comes to now beside what the page had said.
func (h *Handlers) basketChanged(c *fiber.Ctx, form checkoutForm) error {
	q, err := h.quote(c, form.Promo)
	if err != nil {
		return err
	}
	m := shop.BasketChangedModel{Before: h.display(c, form.Total), After: q.total.Display(h.lang(c))}
	for _, l := range h.cartLines(c, q.view) {
		m.Rows = append(m.Rows, shop.Difference{Label: l.Name, Before: "", After: l.Sum})
	}
	return h.render(c, fiber.StatusConflict, shop.BasketChanged(h.page(c), m))
}

// otherDetails shows the order that this basket became beside what was sent just now. Nothing was changed.
func (h *Handlers) otherDetails(c *fiber.Ctx, ca cart.Cart, form checkoutForm) error {
	id, err := checkout.OrderOfCart(c.UserContext(), h.DB, ca.ID)
	if err != nil {
		return err
	}
	o, err := checkout.Find(c.UserContext(), h.DB, ca.UserID, id)
	if err != nil {
		return err
	}
	ctx := h.speak(c)
	m := shop.OtherDetailsModel{OrderID: id.String(), Rows: []shop.Difference{
		{Label: i18n.T(ctx, "checkout.email"), Before: o.Email, After: strings.ToLower(operation.Text(form.Email))},
		{Label: i18n.T(ctx, "checkout.name"), Before: o.Name, After: operation.Text(form.Name)},
		{Label: i18n.T(ctx, "checkout.promo"), Before: o.PromoCode, After: strings.ToUpper(operation.Text(form.Promo))},
		{Label: i18n.T(ctx, "cart.total"), Before: o.Total.Display(h.lang(c)), After: h.display(c, form.Total)},
	}}
	if o.Delivery != nil {
		sent := form.delivery().Normalised(func(string, string, string) {})
		m.Rows = append(m.Rows, shop.Difference{
			Label: i18n.T(ctx, "checkout.address"), Before: strings.Join(h.addressLines(c, o.Delivery.Address), ", "),
			After: strings.Join(h.addressLines(c, sent.Address), ", "),
		})
	}
	return h.render(c, fiber.StatusConflict, shop.OtherDetails(h.page(c), m))
}

func (h *Handlers) display(c *fiber.Ctx, text string) string {
	amount, err := money.ParseText(text)
	if err != nil {
		return text
	}
	return amount.Display(h.lang(c))
}
