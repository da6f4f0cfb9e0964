package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/payment"
)

// actable are the things of an intent that something may be done about, by the type that actions know them under.
type actable struct {
	object string
	ids    []string
}

// intentActions is the side of an intent's page: what may be done about it and all that belongs to it, each with its verdict, and what
// people said about it.
func (h *Handlers) intentActions(c *fiber.Ctx, in console.Intent) (view.ActionsModel, error) {
	back := ownPage(c.Path(), path.Console())
	m := view.ActionsModel{CSRF: h.csrfToken(c), Return: back}
	things, err := h.actables(c, in)
	if err != nil {
		return m, err
	}
	abouts := aboutThings(h, c, in)
	for _, t := range things {
		offers, err := operator.Offers(c.UserContext(), h.DB, currentUser(c), t.object, t.ids...)
		if err != nil {
			return m, err
		}
		for _, o := range offers {
			if pointless(t.object, o) {
				continue
			}
			offer := offerModel(o)
			offer.About = abouts[offer.Object]
			m.Offers = append(m.Offers, offer)
		}
	}
	slices.SortStableFunc(m.Offers, func(a, b view.Offer) int { return rankOf(a) - rankOf(b) })
	if m.Done, err = h.doneModel(c, c.Query("done")); err != nil {
		return m, err
	}
	m.Case, err = h.caseModel(c, intentID(in), back)
	return m, err
}

// rankOf puts what is safe to press first.
func rankOf(o view.Offer) int { return strings.Index("SAFE WAIT UNSAFE", o.Verdict) }

// pointless leaves out what would only say that there is nothing to do. What people ask for by name stays, with the reason.
func pointless(object string, o operator.Offer) bool {
	if object == "order" {
		return o.Guard == "settled" || o.Guard == "no_failed_parcel"
	}
	return o.Verdict == operator.Unsafe && o.Guard != "contradiction"
}

func (h *Handlers) actables(c *fiber.Ctx, in console.Intent) (list []actable, err error) {
	add := func(object string, ids ...string) {
		if len(ids) > 0 {
			list = append(list, actable{object, ids})
		}
	}
	var operations, payments, events, parked, jobs []string
	objects := []uuid.UUID{intentID(in)}
	for _, o := range in.Operations {
		if o.System() && o.Type != payment.CreatePayment && o.Status == operation.Failed || o.Status == operation.Processing && o.Type != payment.WatchPayment && o.Type != checkout.ExpireOrder {
			operations = append(operations, o.ID.String())
		}
	}
	for _, p := range in.Payments {
		payments, objects = append(payments, p.ID.String()), append(objects, p.ID)
	}
	for _, r := range in.Refunds {
		payments = append(payments, r.ID.String())
	}
	for _, s := range in.Shipments {
		payments = append(payments, s.ID.String())
	}
	for _, e := range in.Events {
		if e.Status == inbox.Received || e.Status == inbox.Quarantined {
			events = append(events, e.ID.String())
		}
	}
	for _, x := range in.Outbox {
		if x.ParkedAt != nil {
			parked = append(parked, x.ID.String())
		}
	}
	for _, j := range in.Jobs {
		jobs = append(jobs, strconv.FormatInt(j, 10))
	}
	approvals, err := console.OpenApprovals(c.UserContext(), h.DB, objects)
	if err != nil {
		return nil, err
	}
	if in.Order != nil {
		add("order", in.Order.ID.String())
		if slices.ContainsFunc(in.Twins, func(t console.Twin) bool { return t.Earlier && t.Verdict == "" }) {
			add("duplicate", in.Order.ID.String())
		}
	}
	for _, a := range approvals {
		add("approval", a.String())
	}
	if id := personalID(in); id != uuid.Nil {
		add("intent", id.String())
	}
	add("operation", operations...)
	add("payment", payments...)
	add("event", events...)
	add("outbox", parked...)
	add("job", jobs...)
	return list, nil
}

// aboutThings name the things of an intent, for a panel that has several of a kind.
func aboutThings(h *Handlers, c *fiber.Ctx, in console.Intent) map[string]string {
	ctx, names := h.speak(c), map[string]string{}
	for _, o := range in.Operations {
		names[o.ID.String()] = string(o.Type)
	}
	for _, p := range in.Payments {
		names[p.ID.String()] = i18n.T(ctx, "kind.payment") + ", " + i18n.T(ctx, "intent.attempt", p.Attempt)
	}
	for _, r := range in.Refunds {
		names[r.ID.String()] = i18n.T(ctx, "kind.refund") + " " + r.Amount.String()
	}
	for _, s := range in.Shipments {
		names[s.ID.String()] = i18n.T(ctx, "intent.parcel", s.Parcel)
	}
	for _, e := range in.Events {
		names[e.ID.String()] = e.Type
	}
	for _, x := range in.Outbox {
		names[x.ID.String()] = x.Type
	}
	for _, j := range in.Jobs {
		names[strconv.FormatInt(j, 10)] = i18n.T(ctx, "kind.job") + " " + strconv.FormatInt(j, 10)
	}
	return names
}

// caseModel is what people said about an intent, with the keys of the forms that say more.
func (h *Handlers) caseModel(c *fiber.Ctx, id uuid.UUID, back string) (m view.CaseModel, err error) {
	said, err := console.CaseOf(c.UserContext(), h.DB, id)
	if err != nil {
		return m, err
	}
	who := currentUser(c)
	m = view.CaseModel{
		Object: id.String(), Assignee: said.Assignee, AssigneeID: optional(said.AssigneeID), Mine: said.AssigneeID.Valid && said.AssigneeID.UUID == who.ID, Ticket: said.Ticket, Tags: said.Tags,
		SnoozedUntil: orZero(said.SnoozedUntil), Allowed: who.Role.AtLeast(account.Support), Role: string(account.Support), Me: who.ID.String(),
		CSRF: h.csrfToken(c), Return: back, Keys: map[string]string{},
	}
	if strings.HasPrefix(said.Ticket, "https://") {
		m.TicketURL, m.Ticket = said.Ticket, ui.Middle(said.Ticket)
	}
	for _, name := range []string{"mine", "assign", "ticket", "tag", "snooze", "note"} {
		m.Keys[name] = newKey()
	}
	return m, nil
}
