package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"onefold/static"
)

// asset: GET /assets/{name}. Names carry a hash of the content, so a browser asks once.
func (h *Handlers) asset(c *fiber.Ctx) error {
	content, gz, kind, ok := static.Lookup(c.Path())
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentType, kind)
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if gz != nil && strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		content = gz
	}
	return c.Send(content)
}
