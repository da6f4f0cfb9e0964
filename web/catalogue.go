package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/components/shop"
	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/operation"
)

// catalogue: GET /.
func (h *Handlers) catalogue(c *fiber.Ctx) error {
	sought, err := seek(c)
	if err != nil {
		return err
	}
	products, err := catalog.List(c.UserContext(), h.DB, h.currency(c), h.lang(c))
	if err != nil {
		return err
	}
	m := shop.CatalogueModel{Text: sought.Text, Kind: string(sought.Kind), InStock: sought.InStock, All: len(products)}
	for _, p := range sought.In(products) {
		m.Products = append(m.Products, h.productCard(c, p))
	}
	return h.render(c, fiber.StatusOK, shop.Catalogue(h.page(c), m))
}

// seek reads the filters. A kind that isn't one is refused: it must never show everything.
func seek(c *fiber.Ctx) (catalog.Sought, error) {
	s := catalog.Sought{Text: operation.Text(c.Query("q")), Kind: catalog.Kind(c.Query("kind")), InStock: c.Query("stock") != ""}
	switch s.Kind {
	case "", catalog.License, catalog.Physical:
		return s, nil
	}
	return s, fault.New(fault.Invalid, "BAD_REQUEST", "There is no such kind of product.")
}

// product: GET /products/{id}.
func (h *Handlers) product(c *fiber.Ctx) error {
	p, err := catalog.Get(c.UserContext(), h.DB, c.Params("id"), h.currency(c), h.lang(c))
	if err != nil {
		return err
	}
	return h.render(c, fiber.StatusOK, shop.Product(h.page(c), shop.ProductModel{ProductCard: h.productCard(c, p)}))
}

func (h *Handlers) lang(c *fiber.Ctx) string { return string(h.locale(c).Lang) }

func (h *Handlers) productCard(c *fiber.Ctx, p catalog.Product) shop.ProductCard {
	return shop.ProductCard{ID: p.ID, Kind: string(p.Kind), Name: p.Name, Blurb: p.Blurb, Price: p.Price.Display(h.lang(c)), Stock: p.Stock}
}
