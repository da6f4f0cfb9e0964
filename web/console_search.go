package web

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/domain/console"
)

// consoleSearch: GET /console/search?q=.
func (h *Handlers) consoleSearch(c *fiber.Ctx) error { return h.find(c, c.Query("q"), fiber.StatusOK) }

// consoleGo: GET /go/{any id}. Whatever was pasted after /go/ is the ID: with its slashes and colons, as a URL with its query, or
// percent-encoded.
func (h *Handlers) consoleGo(c *fiber.Ctx) error {
	pasted := c.Params("*")
	if plain, err := url.PathUnescape(pasted); err == nil {
		pasted = plain
	}
	if query := c.Request().URI().QueryString(); len(query) > 0 && strings.Contains(pasted, "://") {
		pasted += "?" + string(query)
	}
	return h.find(c, pasted, fiber.StatusNotFound)
}

// find leads to the only intent that carries the ID; otherwise it shows what there is, or what was searched. none is the status
// of finding nothing.
func (h *Handlers) find(c *fiber.Ctx, pasted string, none int) error {
	var hits []console.Hit
	if strings.TrimSpace(pasted) != "" {
		var err error
		if hits, err = console.Resolve(c.UserContext(), h.DB, pasted); err != nil {
			return err
		}
	}
	if len(hits) == 1 && (hits[0].OrderID.Valid || hits[0].OperationID.Valid) {
		return c.Redirect(hitAddress(hits[0]), fiber.StatusSeeOther)
	}
	m := view.SearchModel{Query: shorten(strings.TrimSpace(pasted)), Groups: grouped(hits), Kinds: console.Kinds()}
	status := fiber.StatusOK
	if len(hits) == 0 {
		status = none
		near, err := console.Nearest(c.UserContext(), h.DB, pasted)
		if err != nil {
			return err
		}
		m.Near = nearest(near)
	}
	p, _ := h.consolePage(c, "")
	p.Query = m.Query
	return h.render(c, status, view.Search(p, m))
}

// grouped puts hits of one kind together, in the order of the kinds.
func grouped(hits []console.Hit) (groups []view.Group) {
	for _, kind := range console.Kinds() {
		g := view.Group{Kind: kind}
		for _, hit := range hits {
			if hit.Kind == kind {
				g.Matches = append(g.Matches, view.Match{
					Kind: hit.Kind, What: hit.Label, ID: hitID(hit).String(), Entity: hit.Entity, State: hit.State, URL: hitAddress(hit),
				})
			}
		}
		if len(g.Matches) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func nearest(near []console.Near) (list []view.Match) {
	for _, n := range near {
		hit := console.Hit{OrderID: n.OrderID, OperationID: n.OperationID}
		url := path.ConsoleIntent(hitID(hit).String())
		if !n.OrderID.Valid && !n.OperationID.Valid { // an event of nobody: the search leads to its row
			url = path.Go(n.Value)
		}
		list = append(list, view.Match{Kind: n.Kind, What: n.Value, URL: url})
	}
	return list
}

// shorten keeps a page readable when a whole letter was pasted; no ID is that long.
func shorten(text string) string {
	const most = 300
	text = strings.ToValidUTF8(text, "\ufffd")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func hitID(hit console.Hit) uuid.UUID {
	switch {
	case hit.OrderID.Valid:
		return hit.OrderID.UUID
	case hit.OperationID.Valid:
		return hit.OperationID.UUID
	}
	return hit.EventID.UUID
}

// hitAddress is where a hit leads: to its intent, or for an event of nobody to its row's state in the inbox.
func hitAddress(hit console.Hit) string {
	if hit.OrderID.Valid || hit.OperationID.Valid {
		return path.ConsoleIntent(hitID(hit).String())
	}
	return path.WithQuery(path.ConsoleInbox(), "state", hit.State)
}
