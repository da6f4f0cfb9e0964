package web

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"onefold/domain/catalog"
	"onefold/domain/money"
)

// currency is what prices are shown in: the visitor's choice, else the shop's own.
func (h *Handlers) currency(c *fiber.Ctx) string {
	if code := c.Cookies(cookieCurrency); sold(code) {
		return code
	}
	return catalog.DefaultCurrency
}

func sold(code string) bool { return slices.Contains(catalog.Currencies(), code) }

// currency is that of the total the page showed: who chooses another one in another tab still pays what the button said.
// ok is false for a form that doesn't say one the shop sells in.
func (f checkoutForm) currency() (code string, ok bool) {
	total, err := money.ParseText(f.Total)
	return total.Currency, err == nil && sold(total.Currency)
}
