package web

import (
	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/domain/retention"
)

// consoleRetention: GET /console/retention. Would cleaning lose anything?
func (h *Handlers) consoleRetention(c *fiber.Ctx) error {
	tables, at, err := retention.Foreseen(c.UserContext(), h.DB)
	if err != nil {
		return err
	}
	m := view.RetentionModel{At: at}
	for _, t := range tables {
		row := view.RetentionTable{Name: t.Name, Goes: t.Goes}
		for _, s := range t.Stays {
			row.Stays = append(row.Stays, view.RetentionStay{Why: s.Why, Rows: s.Rows})
		}
		m.Tables = append(m.Tables, row)
	}
	p, _ := h.consolePage(c, "retention")
	return h.render(c, fiber.StatusOK, view.Retention(p, m))
}
