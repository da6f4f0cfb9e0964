package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/components/ui"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/trace"
)

// seenLines is what a checkout page says about its lines: "product units price", one a line. It comes back with the form and is
// only ever shown; what is charged comes from the catalogue.
func seenLines(v cart.View) string {
	var b strings.Builder
	for _, l := range v.Lines {
		fmt.Fprintf(&b, "%s %d %s\n", l.ProductID, l.Quantity, l.Price.Decimal())
	}
	return b.String()
}

// basketChanged shows what the basket is now beside what the page had said.
func (h *Handlers) basketChanged(c *fiber.Ctx, ca cart.Cart, form checkoutForm) error {
	if ca.Status == cart.StatusOrdered {
		return h.otherDetails(c, ca, form)
	}
	q, err := h.quote(c, form.Currency, form.Promo)
	if err != nil {
		return err
	}
	m := shop.BasketChangedModel{Before: h.display(c, form.Total), After: q.total.Display(h.lang(c))}
	before, gone := h.seenBefore(c, form, q.view)
	for _, l := range q.view.Lines {
		m.Rows = append(m.Rows, shop.Difference{Label: l.Name, Before: before[l.ProductID], After: times(l.Quantity, l.Price.Display(h.lang(c)))})
	}
	for _, p := range gone {
		m.Rows = append(m.Rows, shop.Difference{Label: p.Name, Before: before[p.ID]})
	}
	return h.render(c, fiber.StatusConflict, shop.BasketChanged(h.page(c), m))
}

func times(units int, price string) string { return strconv.Itoa(units) + " × " + price }

// seenBefore reads Seen: the words for each product, and the products that the basket doesn't hold any more.
func (h *Handlers) seenBefore(c *fiber.Ctx, form checkoutForm, now cart.View) (before map[string]string, gone []catalog.Product) {
	before = map[string]string{}
	for line := range strings.Lines(form.Seen) {
		parts := strings.Fields(line)
		if len(parts) != 3 || len(before) == cart.MaxQuantity {
			continue
		}
		units, _ := strconv.Atoi(parts[1])
		before[parts[0]] = times(units, h.display(c, parts[2]+" "+form.Currency))
		if slices.ContainsFunc(now.Lines, func(l cart.ViewLine) bool { return l.ProductID == parts[0] }) {
			continue
		}
		if p, err := catalog.Get(c.UserContext(), h.DB, parts[0], form.Currency, h.lang(c)); err == nil {
			gone = append(gone, p)
		}
	}
	return before, gone
}

// askAgain stops before a second order of the same things while an earlier one is still open: only a person can know.
func (h *Handlers) askAgain(c *fiber.Ctx, ca cart.Cart, form checkoutForm, cmd checkout.Command, twin uuid.UUID, err error) error {
	if err != nil {
		return err
	}
	o, err := checkout.Find(c.UserContext(), h.DB, cmd.UserID, twin)
	if err != nil {
		return err
	}
	last := o.Payments[len(o.Payments)-1]
	m := shop.OpenOrderModel{
		OrderID: o.ID.String(), Number: strconv.FormatInt(o.Number, 10), PlacedAt: o.CreatedAt, Total: o.Total.Display(h.lang(c)),
		Unknown: last.Status == payment.Unknown, Key: ca.Key, Hidden: form.hidden(ca.Key),
	}
	return h.render(c, fiber.StatusConflict, shop.OpenOrder(h.page(c), m))
}

// hidden is everything that was typed, to be sent once more on purpose.
func (f checkoutForm) hidden(key string) []ui.Hidden {
	return []ui.Hidden{
		{Name: "key", Value: key},
		{Name: "again", Value: "yes"},
		{Name: "email", Value: f.Email},
		{Name: "name", Value: f.Name},
		{Name: "promo", Value: f.Promo},
		{Name: "line1", Value: f.Line1},
		{Name: "line2", Value: f.Line2},
		{Name: "city", Value: f.City},
		{Name: "postcode", Value: f.Postcode},
		{Name: "country", Value: f.Country},
		{Name: "basket", Value: f.Basket},
		{Name: "total", Value: f.Total},
		{Name: "seen", Value: f.Seen},
	}
}

// beingPlaced answers while another tab's press is still running. It is a 503 for a moment, so that the page asks again by
// itself; who has no script is led to where the order will be.
func (h *Handlers) beingPlaced(c *fiber.Ctx) error {
	c.Set(fiber.HeaderRetryAfter, "1")
	return h.render(c, fiber.StatusServiceUnavailable, shop.Error(h.page(c), shop.ErrorModel{
		Status: fiber.StatusServiceUnavailable, Title: i18n.T(h.speak(c), "error.placing.title"), Detail: i18n.T(h.speak(c), "error.placing.text"),
		Money: shop.MoneyOnce, Reference: trace.ID(c.UserContext()), Retry: path.CheckoutStatus(c.Params("key")),
	}))
}

// placedLongAgo leads to the order of a checkout whose result is no longer kept.
func (h *Handlers) placedLongAgo(c *fiber.Ctx, ca cart.Cart) error {
	id, err := checkout.OrderOfCart(c.UserContext(), h.DB, ca.ID)
	if err != nil {
		return err
	}
	return h.render(c, fiber.StatusGone, shop.Error(h.page(c), shop.ErrorModel{
		Status: fiber.StatusGone, Detail: i18n.T(h.speak(c), "error.410.ordered"), Money: shop.MoneyNone, OrderID: id.String(),
	}))
}

// otherDetails shows the order that this basket became beside what was sent just now. Nothing was changed.
func (h *Handlers) otherDetails(c *fiber.Ctx, ca cart.Cart, form checkoutForm) error {
	id, err := checkout.OrderOfCart(c.UserContext(), h.DB, ca.ID)
	if fault.KindOf(err) == fault.NotFound && err != nil {
		return h.beingPlaced(c)
	}
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
