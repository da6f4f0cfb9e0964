package web

import (
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
	view, err := h.seeCart(c)
	if err != nil {
		return err
	}
	m := shop.CartModel{Lines: h.cartLines(c, view), Totals: shop.Totals{Total: view.Total.Display(h.lang(c))}}
	return h.render(c, fiber.StatusOK, shop.Cart(h.page(c), m))
}

func (h *Handlers) seeCart(c *fiber.Ctx) (cart.View, error) {
	user := currentUser(c)
	if user.ID == (account.ID{}) {
		return cart.View{}, nil
	}
	return cart.See(c.UserContext(), h.DB, user.ID, catalog.DefaultCurrency, h.lang(c))
}

func (h *Handlers) cartLines(c *fiber.Ctx, v cart.View) []shop.Line {
	ctx, lang := h.speak(c), h.lang(c)
	lines := make([]shop.Line, len(v.Lines))
	for i, l := range v.Lines {
		lines[i] = shop.Line{
			ID: l.ProductID, Kind: l.Kind, Name: l.Name, Quantity: l.Quantity, Each: l.Price.Display(lang), Sum: l.Sum.Display(lang),
		}
		if l.Stock < l.Quantity {
			lines[i].Warning = i18n.T(ctx, "stock.out")
			if l.Stock > 0 {
				lines[i].Warning = i18n.T(ctx, "stock.left", l.Stock)
			}
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
	p, err := catalog.Get(c.UserContext(), h.DB, c.FormValue("product"), catalog.DefaultCurrency, h.lang(c))
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
	h.leaveNotice(c, "added", p.Name)
	return back(c, c.FormValue("return"), path.Home())
}

// cartSet: POST /cart/items/{id}; quantity 0 removes.
func (h *Handlers) cartSet(c *fiber.Ctx) error {
	quantity, err := formQuantity(c, "")
	if err != nil {
		return err
	}
	user, err := h.buyer(c)
	if err != nil {
		return err
	}
	if err := cart.SetQuantity(c.UserContext(), h.DB, user.ID, c.Params("id"), quantity); err != nil {
		return err
	}
	h.leaveNotice(c, "updated", "")
	return back(c, path.Cart(), path.Cart())
}

func formQuantity(c *fiber.Ctx, missing string) (int, error) {
	n, err := strconv.Atoi(c.FormValue("quantity", missing))
	if err != nil {
		return 0, fault.Validation(fault.Field{Field: "quantity", Rule: "number", Message: "must be a whole number"})
	}
	return n, nil
}
