package web

import (
	"bytes"
	"compress/gzip"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// packable is the least size, in bytes, of a page that is worth packing: below it, one packet carries it anyway.
const packable = 1400

// pack sends a page as gzip to whoever takes it. What a page says can't be guessed from its size by other sites (BREACH): the
// session's cookie doesn't travel with their requests (SameSite).
func pack(c *fiber.Ctx, page []byte) ([]byte, error) {
	if len(page) < packable || !strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		return page, nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	c.Set(fiber.HeaderContentEncoding, "gzip")
	return out.Bytes(), nil
}
