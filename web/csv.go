package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operator"
	"onefold/domain/store"
)

// sendCSV sends rows, of which the first are the names, and writes into the audit that they left the house.
func (h *Handlers) sendCSV(c *fiber.Ctx, name string, rows [][]string) error {
	err := h.Operator.Tell(c.UserContext(), operator.Told{
		Actor: currentUser(c), What: "export", ObjectType: "list", Object: name,
		Detail: map[string]any{"rows": len(rows) - 1, "address": c.OriginalURL()},
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for _, row := range rows {
		for i := range row {
			row[i] = harmless(row[i])
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="onefold-`+name+`.csv"`)
	return c.Send(out.Bytes())
}

// harmless text isn't taken for a formula by a spreadsheet.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func join(words []string) string { return strings.Join(words, " ") }

// exported sends everything that a list's filter matches, at most console.MaxCount rows.
func exported[T any](h *Handlers, c *fiber.Ctx, name string, q console.Query, read func(context.Context, store.Querier, console.Query) (console.Page[T], error),
	names []string, cells func(T) []string,
) error {
	if c.Query("format") != "csv" {
		return badAddress(fault.Validation(fault.Field{Field: "format", Rule: "csv", Message: "can only be csv"}))
	}
	rows := [][]string{slices.Clone(names)}
	q.Cursor, q.Limit = "", "200"
	for len(rows) <= console.MaxCount {
		page, err := read(c.UserContext(), h.DB, q)
		if err != nil {
			return badAddress(err)
		}
		for _, row := range page.Rows {
			rows = append(rows, cells(row))
		}
		if page.Older == "" {
			break
		}
		q.Cursor = page.Older
	}
	return h.sendCSV(c, name, rows)
}
