package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/components/shop"
	"onefold/domain/catalog"
)

// catalogue: GET /.
func (h *Handlers) catalogue(c *fiber.Ctx) error {
	products, err := catalog.List(c.UserContext(), h.DB, catalog.DefaultCurrency, h.lang(c))
	if err != nil {
		return err
	}
	m := shop.CatalogueModel{}
	for _, p := range products {
		m.Products = append(m.Products, h.productCard(c, p))
	}
	return h.render(c, fiber.StatusOK, shop.Catalogue(h.page(c), m))
}

// product: GET /products/{id}.
func (h *Handlers) product(c *fiber.Ctx) error {
	p, err := catalog.Get(c.UserContext(), h.DB, c.Params("id"), catalog.DefaultCurrency, h.lang(c))
	if err != nil {
		return err
	}
	return h.render(c, fiber.StatusOK, shop.Product(h.page(c), shop.ProductModel{ProductCard: h.productCard(c, p)}))
}

func (h *Handlers) lang(c *fiber.Ctx) string { return string(h.locale(c).Lang) }

func (h *Handlers) productCard(c *fiber.Ctx, p catalog.Product) shop.ProductCard {
	return shop.ProductCard{ID: p.ID, Kind: string(p.Kind), Name: p.Name, Blurb: p.Blurb, Price: p.Price.Display(h.lang(c)), Stock: p.Stock}
}
