package web

import (
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
	"onefold/domain/order"
	"onefold/domain/provider"
)

// checkoutStart: GET /checkout. The key is made once per basket, so every tab arrives at the same address.
func (h *Handlers) checkoutStart(c *fiber.Ctx) error {
	key, err := cart.BeginCheckout(c.UserContext(), h.DB, currentUser(c).ID)
	if err != nil {
		return c.Redirect(path.Cart(), fiber.StatusSeeOther) // nothing to check out
	}
	return c.Redirect(path.Checkout(key), fiber.StatusSeeOther)
}

// checkout: GET /checkout/{key}. After the order it never shows the form again.
func (h *Handlers) checkout(c *fiber.Ctx) error {
	ca, err := cart.ByKey(c.UserContext(), h.DB, currentUser(c).ID, c.Params("key"))
	if err != nil {
		return err
	}
	if ca.Status == cart.StatusOrdered {
		return h.toOrderOf(c, ca)
	}
	form := checkoutForm{Email: currentUser(c).Email, Currency: h.currency(c)}
	return h.checkoutPage(c, fiber.StatusOK, form, nil)
}

// checkoutStatus: GET /checkout/{key}/status is the way out after a lost answer: the order if there is one, else the form.
func (h *Handlers) checkoutStatus(c *fiber.Ctx) error {
	return c.Redirect(path.Checkout(c.Params("key")), fiber.StatusSeeOther)
}

func (h *Handlers) toOrderOf(c *fiber.Ctx, ca cart.Cart) error {
	id, err := checkout.OrderOfCart(c.UserContext(), h.DB, ca.ID)
	if err != nil {
		return err
	}
	return redirect(c, path.Order(id.String()))
}

// checkoutForm keeps what was typed.
type checkoutForm struct {
	Email, Name, Promo                    string
	Line1, Line2, City, Postcode, Country string // of the delivery; not asked for without physical products
	Basket, Total, Seen                   string // what the page showed; Seen is about its lines, see seenLines
	Currency                              string // of the page
	Again                                 bool   // the shopper knows that an equal order is open
}

func readCheckoutForm(c *fiber.Ctx) checkoutForm {
	return checkoutForm{
		Email: c.FormValue("email"), Name: c.FormValue("name"), Promo: c.FormValue("promo"), Line1: c.FormValue("line1"), Line2: c.FormValue("line2"),
		City: c.FormValue("city"), Postcode: c.FormValue("postcode"), Country: c.FormValue("country"), Basket: c.FormValue("basket"),
		Total: c.FormValue("total"), Seen: c.FormValue("seen"), Again: c.FormValue("again") != "",
	}
}

// checkoutPlace: POST /checkout/{key}.
func (h *Handlers) checkoutPlace(c *fiber.Ctx) error {
	user := currentUser(c)
	key := c.Params("key")
	if field := c.FormValue("key"); field != "" && field != key {
		return fault.New(fault.Invalid, "BAD_REQUEST", "The form's key differs from the address.")
	}
	if err := h.presses.count(user.ID.String()+" "+key, h.Now()); err != nil {
		return err
	}
	ca, err := cart.ByKey(c.UserContext(), h.DB, user.ID, key)
	if err != nil {
		return err
	}
	form := readCheckoutForm(c)
	var known bool
	if form.Currency, known = form.currency(); !known {
		return h.basketChanged(c, ca, form) // it doesn't say what it shows
	}
	if ca.Status == cart.StatusOpen {
		if changed, err := h.offerNewTotal(c, form); changed || err != nil {
			return err
		}
	}
	cmd, err := h.placeCommand(c, ca, form)
	if err != nil {
		return h.refuseCheckout(c, ca, form, err)
	}
	if ca.Status == cart.StatusOpen && !form.Again {
		if twin, err := checkout.OpenTwin(c.UserContext(), h.DB, user.ID, ca.ID, cmd.Items); err != nil || twin != uuid.Nil {
			return h.askAgain(c, ca, form, cmd, twin, err)
		}
	}
	out, err := h.Desk.Place(c.UserContext(), cmd)
	if err != nil {
		return h.refuseCheckout(c, ca, form, err)
	}
	h.mark(c, out)
	return redirect(c, path.Order(out.Result.ResourceID))
}

func (h *Handlers) placeCommand(c *fiber.Ctx, ca cart.Cart, form checkoutForm) (checkout.Command, error) {
	cmd := checkout.Command{
		UserID: ca.UserID, Key: ca.Key, Currency: form.Currency, PromoCode: form.Promo, Email: form.Email, Name: form.Name, Locale: h.lang(c),
	}
	total, err := money.ParseText(form.Total)
	if err != nil {
		return cmd, fault.New(fault.Conflict, "CART_CHANGED", "The form doesn't say what it shows.")
	}
	lines, err := cart.Lines(c.UserContext(), h.DB, ca.ID)
	if err != nil {
		return cmd, err
	}
	for _, l := range lines {
		cmd.Items = append(cmd.Items, checkout.Item{ProductID: l.ProductID, Quantity: l.Quantity})
	}
	physical, err := cart.HasPhysical(c.UserContext(), h.DB, ca.ID)
	if err != nil {
		return cmd, err
	}
	if physical {
		cmd.Delivery = form.delivery()
	}
	cmd.Cart = &checkout.Agreed{CartID: ca.ID, Basket: form.Basket, Total: total}
	return cmd, nil
}

func (f checkoutForm) delivery() *order.Delivery {
	return &order.Delivery{Method: order.Standard, Address: provider.Address{
		Name: f.Name, Line1: f.Line1, Line2: f.Line2, City: f.City, Postcode: f.Postcode, Country: f.Country,
	}}
}

// offerNewTotal shows the form again when a promo code makes the total another than the one on the button: nobody is charged
// an amount they haven't seen.
func (h *Handlers) offerNewTotal(c *fiber.Ctx, form checkoutForm) (bool, error) {
	if operation.Text(form.Promo) == "" {
		return false, nil
	}
	q, err := h.quote(c, form.Currency, form.Promo)
	if err != nil || q.refusal != nil {
		return true, h.checkoutPage(c, fiber.StatusUnprocessableEntity, form, q.refusal)
	}
	if q.total.String() == form.Total || q.view.Basket != form.Basket {
		return false, nil
	}
	return true, h.checkoutPage(c, fiber.StatusOK, form, nil)
}

// quoted is what the open basket comes to.
type quoted struct {
	view     cart.View
	discount money.Amount
	total    money.Amount
	refusal  *fault.Error // of the promo code
}

func (h *Handlers) quote(c *fiber.Ctx, currency, promo string) (quoted, error) {
	view, err := h.seeCart(c, currency)
	if err != nil {
		return quoted{}, err
	}
	q := quoted{view: view, total: view.Total, discount: money.Amount{Currency: view.Total.Currency}}
	if operation.Text(promo) == "" {
		return q, nil
	}
	percent, err := catalog.PreviewPromo(c.UserContext(), h.DB, promo)
	if e, ok := fault.Of(err); ok {
		q.refusal = e
		return q, nil
	}
	q.discount = catalog.Discount(view.Total, percent)
	q.total.Minor -= q.discount.Minor
	return q, err
}

// checkoutPage shows the form with what was typed; problem is what was wrong with it.
func (h *Handlers) checkoutPage(c *fiber.Ctx, status int, form checkoutForm, problem *fault.Error) error {
	promo := form.Promo
	if problem != nil {
		promo = "" // the quote is about what can be had
	}
	q, err := h.quote(c, form.Currency, promo)
	if err != nil {
		return err
	}
	lang := h.lang(c)
	m := shop.CheckoutModel{
		Key: c.Params("key"), Basket: q.view.Basket, Total: q.total.String(), Seen: seenLines(q.view), Again: form.Again, Lines: h.cartLines(c, q.view),
		Totals: shop.Totals{Subtotal: q.view.Total.Display(lang), Total: q.total.Display(lang)},
		Form: shop.CheckoutForm{
			Email: shop.Typed{Value: form.Email}, Name: shop.Typed{Value: form.Name}, Promo: shop.Typed{Value: form.Promo},
			Delivery: q.view.HasPhysical(), Line1: shop.Typed{Value: form.Line1}, Line2: shop.Typed{Value: form.Line2}, City: shop.Typed{Value: form.City},
			Postcode: shop.Typed{Value: form.Postcode}, Country: shop.Typed{Value: form.Country},
		},
	}
	if m.Form.Delivery {
		m.Totals.Delivery = i18n.T(h.speak(c), "cart.delivery_free")
	}
	if q.discount.Minor > 0 {
		m.Totals.Discount, m.Totals.Promo = "−"+q.discount.Display(lang), catalog.NormalPromo(promo)
	}
	if problem != nil {
		h.explain(c, &m, problem)
	}
	return h.render(c, status, shop.Checkout(h.page(c), m))
}

// explain puts each broken rule at its field, in the visitor's language.
func (h *Handlers) explain(c *fiber.Ctx, m *shop.CheckoutModel, problem *fault.Error) {
	ctx := h.speak(c)
	fields := problem.Fields
	if problem.Code == "PROMO_USED" {
		fields = []fault.Field{{Field: "promoCode", Rule: "used"}}
	}
	if len(fields) == 0 {
		m.Errors = append(m.Errors, ui.FieldError{Message: i18n.T(ctx, "checkout.refused."+problem.Code)})
	}
	for _, f := range fields {
		text := i18n.T(ctx, "checkout.broken."+f.Field+"."+f.Rule)
		if typed := typedIn(&m.Form, f.Field); typed != nil {
			typed.Error = text
		} else {
			m.Errors = append(m.Errors, ui.FieldError{Message: f.Message})
		}
	}
}

// typedIn is the field of the form that a field of the command was typed into; nil for none.
func typedIn(f *shop.CheckoutForm, field string) *shop.Typed {
	return map[string]*shop.Typed{
		"email": &f.Email, "name": &f.Name, "promoCode": &f.Promo, "delivery.address.name": &f.Name,
		"delivery.address.line1": &f.Line1, "delivery.address.line2": &f.Line2, "delivery.address.city": &f.City,
		"delivery.address.postcode": &f.Postcode, "delivery.address.country": &f.Country,
	}[field]
}

// refuseCheckout answers what Place refused: the form again, or a page that shows both versions.
func (h *Handlers) refuseCheckout(c *fiber.Ctx, ca cart.Cart, form checkoutForm, err error) error {
	e, ok := fault.Of(err)
	if !ok {
		return err
	}
	switch e.Code {
	case "VALIDATION_FAILED":
		return h.checkoutPage(c, fiber.StatusUnprocessableEntity, form, e)
	case "OUT_OF_STOCK", "PROMO_USED":
		return h.checkoutPage(c, fiber.StatusConflict, form, e)
	case "CART_CHANGED":
		return h.basketChanged(c, ca, form)
	case "IDEMPOTENCY_KEY_REUSED", "CART_ALREADY_ORDERED":
		return h.otherDetails(c, ca, form)
	case "OPERATION_IN_PROGRESS":
		return h.beingPlaced(c)
	case "IDEMPOTENCY_KEY_EXPIRED":
		return h.placedLongAgo(c, ca)
	}
	return err
}
