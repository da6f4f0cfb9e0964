package web

import (
	_ "embed"

	"github.com/gofiber/fiber/v2"
)

//go:embed openapi.yaml
var openAPI []byte

// apiDescription: GET /api/openapi.yaml.
func (h *Handlers) apiDescription(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, "application/yaml")
	return c.Send(openAPI)
}
