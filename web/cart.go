package web

import (
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/shop"
	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/fault"
)

// cart: GET /cart.
func (h *Handlers) cart(c *fiber.Ctx) error {
	view, err := h.seeCart(c, h.currency(c))
	if err != nil {
		return err
	}
	m := shop.CartModel{Lines: h.cartLines(c, view), Totals: shop.Totals{Total: view.Total.Display(h.lang(c))}}
	if view.HasPhysical() {
		m.Totals.Delivery = i18n.T(h.speak(c), "cart.delivery_free")
	}
	if code := view.Total.Currency; len(view.Lines) > 0 && code != h.currency(c) {
		m.Note = i18n.T(h.speak(c), "cart.other_currency", h.currency(c), code)
	}
	return h.render(c, fiber.StatusOK, shop.Cart(h.page(c), m))
}

// seeCart is the open basket in a currency; in the shop's own when something in it isn't sold in that one.
func (h *Handlers) seeCart(c *fiber.Ctx, currency string) (cart.View, error) {
	user := currentUser(c)
	if user.ID == (account.ID{}) {
		return cart.View{}, nil
	}
	view, err := cart.See(c.UserContext(), h.DB, user.ID, currency, h.lang(c))
	if fault.KindOf(err) == fault.Invalid && currency != catalog.DefaultCurrency {
		return cart.See(c.UserContext(), h.DB, user.ID, catalog.DefaultCurrency, h.lang(c))
	}
	return view, err
}

func (h *Handlers) cartLines(c *fiber.Ctx, v cart.View) []shop.Line {
	ctx, lang := h.speak(c), h.lang(c)
	lines := make([]shop.Line, len(v.Lines))
	for i, l := range v.Lines {
		lines[i] = shop.Line{
			ID: l.ProductID, Kind: l.Kind, Name: l.Name, Quantity: l.Quantity, Each: l.Price.Display(lang), Sum: l.Sum.Display(lang),
		}
		if l.PriceChanged() {
			lines[i].Warnings = append(lines[i].Warnings, i18n.T(ctx, "cart.price_changed", l.Seen.Display(lang)))
		}
		switch {
		case l.Stock >= l.Quantity:
		case l.Stock > 0:
			lines[i].Warnings = append(lines[i].Warnings, i18n.T(ctx, "stock.left", l.Stock))
		default:
			lines[i].Warnings = append(lines[i].Warnings, i18n.T(ctx, "stock.out"))
		}
	}
	return lines
}

// cartAdd: POST /cart/items.
func (h *Handlers) cartAdd(c *fiber.Ctx) error {
	quantity, err := formQuantity(c, "1")
	if err != nil {
		return err
	}
	p, err := catalog.Get(c.UserContext(), h.DB, c.FormValue("product"), h.currency(c), h.lang(c))
	if err != nil {
		return err
	}
	user, err := h.buyer(c)
	if err != nil {
		return err
	}
	if err := cart.Add(c.UserContext(), h.DB, user.ID, p.ID, quantity); err != nil {
		return err
	}
	if err := cart.Saw(c.UserContext(), h.DB, user.ID, p.ID, p.Price); err != nil {
		return err
	}
	h.leaveNotice(c, "added", p.Name)
	return back(c, c.FormValue("return"), path.Home())
}

// cartSet: POST /cart/items/{id}; quantity 0 removes, and says how to undo it.
func (h *Handlers) cartSet(c *fiber.Ctx) error {
	quantity, err := formQuantity(c, "")
	if err != nil {
		return err
	}
	user, err := h.buyer(c)
	if err != nil {
		return err
	}
	before, err := h.seeCart(c, h.currency(c))
	if err != nil {
		return err
	}
	id := c.Params("id")
	if err := cart.SetQuantity(c.UserContext(), h.DB, user.ID, id, quantity); err != nil {
		return err
	}
	at := slices.IndexFunc(before.Lines, func(l cart.ViewLine) bool { return l.ProductID == id })
	if at >= 0 { // with quantity 0 there is no line left, and nothing to record
		if err := cart.Saw(c.UserContext(), h.DB, user.ID, id, before.Lines[at].Price); err != nil {
			return err
		}
	}
	switch {
	case quantity > 0:
		h.leaveNotice(c, "updated")
	case at >= 0:
		h.leaveNotice(c, "removed", before.Lines[at].Name, id, strconv.Itoa(before.Lines[at].Quantity))
	}
	return back(c, path.Cart(), path.Cart())
}

func formQuantity(c *fiber.Ctx, missing string) (int, error) {
	n, err := strconv.Atoi(c.FormValue("quantity", missing))
	if err != nil {
		return 0, fault.Validation(fault.Field{Field: "quantity", Rule: "number", Message: "must be a whole number"})
	}
	return n, nil
}
