package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// addressQuery reads the parameters of a page. One that is unknown, given twice or unreadable is refused by name.
func addressQuery(c *fiber.Ctx, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return nil, badAddress(fault.Validation(fault.Field{Field: "?", Rule: "readable", Message: "can't be read"}))
	}
	for name, given := range values {
		if len(given) > 1 || !slices.Contains(append(known, "lang", "done"), name) {
			return nil, badAddress(fault.Validation(fault.Field{Field: name, Rule: "known", Message: "is no parameter of this page, or is there twice"}))
		}
	}
	return values, nil
}

// knows refuses an address with a parameter that its page doesn't know: it would show something else than was asked for.
func knows(parameters ...string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if _, err := addressQuery(c, parameters...); err != nil {
			return err
		}
		return c.Next()
	}
}

// consoleWork: GET /console/work/{queue}. ?group=1 counts by cause, ?format=csv is the whole filter as a table.
func (h *Handlers) consoleWork(c *fiber.Ctx) error {
	values, err := addressQuery(c, "state", "type", "error", "assignee", "tag", "cursor", "limit", "group", "format")
	if err != nil {
		return err
	}
	name := c.Params("queue")
	q := workQuery(values, currentUser(c).ID)
	switch format := values.Get("format"); {
	case format == "csv":
		return h.workCSV(c, name, q)
	case format != "":
		return badAddress(fault.Validation(fault.Field{Field: "format", Rule: "csv", Message: "can only be csv"}))
	}
	if group := values.Get("group"); group != "" && group != "1" {
		return badAddress(fault.Validation(fault.Field{Field: "group", Rule: "1", Message: "can only be 1"}))
	}
	m, err := h.workModel(c, name, q, values.Get("group") == "1")
	if err != nil {
		return badAddress(err)
	}
	if m.Done, err = h.doneModel(c, values.Get("done")); err != nil {
		return err
	}
	p, queues := h.consolePage(c, "queue."+name)
	for _, queue := range queues {
		if queue.Name == name {
			m.Count, m.More, m.Age = queue.Count, queue.Count >= console.MaxCount, queue.Age
		}
	}
	return h.render(c, fiber.StatusOK, view.Work(p, m))
}

func workQuery(v url.Values, me uuid.UUID) console.WorkQuery {
	return console.WorkQuery{
		State: v.Get("state"), Type: v.Get("type"), Error: v.Get("error"), Assignee: v.Get("assignee"), Tag: v.Get("tag"), Cursor: v.Get("cursor"),
		Limit: v.Get("limit"), Me: me,
	}
}

func (h *Handlers) workModel(c *fiber.Ctx, name string, q console.WorkQuery, grouped bool) (view.WorkModel, error) {
	m := view.WorkModel{
		Queue: name, CSRF: h.csrfToken(c), States: console.WorkStates(name), Grouped: grouped,
		Filter: view.WorkFilter{State: q.State, Type: q.Type, Error: q.Error, Assignee: q.Assignee, Tag: q.Tag, Limit: q.Limit},
	}
	var err error
	if m.Bulk, err = h.bulkActions(c, name); err != nil {
		return m, err
	}
	if grouped {
		groups, err := console.WorkGroups(c.UserContext(), h.DB, name, q)
		for _, g := range groups {
			m.Groups = append(m.Groups, view.WorkGroup{
				Label: g.Label, Error: g.Error, Count: g.Count, First: g.First, Last: g.Last,
				URL: path.WithQuery(path.ConsoleWork(name), "type", g.Label, "error", g.Error),
			})
		}
		return m, err
	}
	list, err := console.Work(c.UserContext(), h.DB, name, q)
	if err != nil {
		return m, err
	}
	address := func(cursor string) string {
		if cursor == "" {
			return ""
		}
		return path.WithQuery(path.ConsoleWork(name), "state", q.State, "type", q.Type, "error", q.Error, "assignee", q.Assignee, "tag", q.Tag, "limit", q.Limit, "cursor", cursor)
	}
	m.Older, m.Newer = address(list.Older), address(list.Newer)
	m.Rows, err = h.workRows(c, name, list.Rows)
	return m, err
}

// workRows are the things with what may be done about each.
func (h *Handlers) workRows(c *fiber.Ctx, name string, items []console.WorkItem) ([]view.WorkRow, error) {
	offers, err := h.workOffers(c, name, items)
	if err != nil {
		return nil, err
	}
	var later, all []uuid.UUID
	for _, i := range items {
		if i.Kind == "duplicate" {
			later = append(later, i.Key)
			if text, ok := i.More["earlier"].(string); ok {
				all = append(all, i.Key, uuid.MustParse(text))
			}
		}
	}
	alike := map[uuid.UUID]console.Alike{}
	if len(later) > 0 {
		if alike, err = console.Alikes(c.UserContext(), h.DB, all); err != nil {
			return nil, err
		}
	}
	ctx := h.speak(c)
	rows := make([]view.WorkRow, 0, len(items))
	for n, i := range items {
		r := workRow(ctx, i)
		r.Offers = offers[i.ID]
		if i.Kind == "duplicate" {
			r.Alike = alikeModels(alike, i.Key, all[2*n+1])
		}
		if i.Kind == "approval" {
			for at := range r.Offers {
				r.Offers[at].Own = i.Who == currentUser(c).Email
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func workRow(ctx context.Context, i console.WorkItem) view.WorkRow {
	r := view.WorkRow{
		ID: i.ID, Key: i.Key.String(), Kind: i.Kind, URL: workURL(i), Label: i.Label, State: i.State, OrderID: optional(i.OrderID), Order: number(i.OrderNumber), At: i.Since,
		NextAt: orZero(i.NextAt), Attempts: i.Attempts, Said: i.Said, Who: i.Who, Assignee: i.Assignee, Ticket: i.Ticket, Tags: i.Tags,
	}
	if i.Amount != nil {
		r.Amount = i.Amount.Listed(string(i18n.From(ctx).Lang))
	}
	if i.Kind == "operation" && i.State == "PROCESSING" {
		r.Lease = leaseOf(ctx, i)
	}
	if i.Kind == "approval" {
		sum, _, evidence := console.Wish(i.More)
		r.Amount, r.Wish = sum, wishModel(ctx, i.Label, sum, evidence)[1:]
	}
	return r
}

// leaseOf says what somebody who takes the operation over would do.
func leaseOf(ctx context.Context, i console.WorkItem) *view.Lease {
	l := &view.Lease{Owner: i.Who, Attempt: i.Attempts, Takeover: "run"}
	if i.SentAt != nil {
		l.Takeover = "look"
	}
	if i.Until != nil && i.Until.After(i18n.From(ctx).Now) {
		l.Ends, l.Takeover = *i.Until, "wait"
	}
	return l
}

func workURL(i console.WorkItem) string {
	switch {
	case i.Kind == "job":
		return path.ConsoleRiver() + "/jobs/" + url.PathEscape(i.ID)
	case i.OrderID.Valid:
		return path.ConsoleIntent(i.OrderID.UUID.String())
	case i.Kind == "operation":
		return path.ConsoleIntent(i.ID)
	}
	return path.Go(i.ID)
}

// workOffers judges what the queue's page offers, for all of its rows in one round trip per type of object.
func (h *Handlers) workOffers(c *fiber.Ctx, name string, items []console.WorkItem) (map[string][]view.Offer, error) {
	byRow := map[string][]view.Offer{}
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	for object, names := range workObjects(name) {
		offers, err := operator.Offers(c.UserContext(), h.DB, currentUser(c), object, ids...)
		if err != nil {
			return nil, err
		}
		for _, wanted := range names {
			for _, o := range offers {
				if string(o.Name) == wanted {
					byRow[o.Judgement.Object] = append(byRow[o.Judgement.Object], offerModel(o))
				}
			}
		}
	}
	return byRow, nil
}

// workObjects are a queue's actions by what they act on.
func workObjects(name string) map[string][]string {
	objects := map[string][]string{}
	for _, action := range console.WorkActions(name) {
		for _, k := range operator.Kinds() {
			if string(k.Name) == action {
				objects[k.Object] = append(objects[k.Object], action)
			}
		}
	}
	return objects
}

// workCSV is everything that the filter matches, and tells the audit so.
func (h *Handlers) workCSV(c *fiber.Ctx, name string, q console.WorkQuery) error {
	items, err := console.WorkSet(c.UserContext(), h.DB, name, q)
	if err != nil {
		return badAddress(err)
	}
	rows := [][]string{{"kind", "id", "order_id", "order", "label", "state", "amount", "currency", "since", "next", "attempts", "said", "who", "assignee", "ticket", "tags"}}
	for _, i := range items {
		amount, code := "", ""
		if i.Amount != nil {
			amount, code = i.Amount.Decimal(), i.Amount.Currency
		}
		rows = append(rows, []string{
			i.Kind, i.ID, optional(i.OrderID), number(i.OrderNumber), i.Label, i.State, amount, code, stamp(&i.Since), stamp(i.NextAt), strconv.Itoa(i.Attempts),
			i.Said, i.Who, i.Assignee, i.Ticket, join(i.Tags),
		})
	}
	return h.sendCSV(c, name, rows)
}
