package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/console"
	"onefold/domain/payment"
)

// consoleIntent: GET /console/intents/{id}, an order's, operation's or enquiry's. ?lane= (any number), ?trace= and ?order=newest say how
// the timeline is looked at.
func (h *Handlers) consoleIntent(c *fiber.Ctx) error {
	look, err := timelineQuery(c)
	if err != nil {
		return err
	}
	in, err := h.intent(c)
	if err != nil {
		return err
	}
	p, _ := h.consolePage(c, "operations")
	m := h.intentModel(h.speak(c), in)
	m.Timeline.Lanes, m.Timeline.Trace, m.Timeline.Newest = look.Lanes, look.Trace, look.Newest
	acts, err := h.intentActions(c, in)
	if err != nil {
		return err
	}
	personal, until, err := console.Reveal(c.UserContext(), h.DB, currentUser(c).ID, personalID(in))
	if err != nil {
		return err
	}
	m.Personal.Until = until
	for _, f := range personal {
		m.Personal.Fields = append(m.Personal.Fields, view.PersonalField(f))
	}
	m.Actions, m.NoteForm = view.Actions(acts), view.NoteForm(acts.Case)
	return h.render(c, fiber.StatusOK, view.Intent(p, m))
}

// intent reads the intent that an address names, with what its providers said and what is known of its future.
func (h *Handlers) intent(c *fiber.Ctx) (console.Intent, error) {
	id, err := paramID(c, "intent")
	if err != nil {
		return console.Intent{}, err
	}
	in, err := console.Find(c.UserContext(), h.DB, id)
	if err != nil {
		return in, err
	}
	in.Hear(h.Providers)
	in.Foresee(h.OrderTTL)
	return in, nil
}

// intentModel says in words what the domain found out. It adds nothing and judges nothing.
func (h *Handlers) intentModel(ctx context.Context, in console.Intent) view.IntentModel {
	id := intentID(in).String()
	m := view.IntentModel{
		Verdict: verdict(ctx, in), Diagram: diagram(in), Identity: identities(ctx, in), Facts: facts(in), At: madeAt(in),
		Link: strings.TrimRight(h.PublicURL, "/") + path.Go(id), JSON: path.ConsoleIntentJSON(id), Text: path.ConsoleIntentText(id),
		Money: moneyModel(in), Hooks: hooks(in), Stories: stories(ctx, in), Timeline: timelineModel(in),
	}
	m.Kind, m.Name, m.State = titled(in)
	for _, t := range in.Twins {
		m.Twins = append(m.Twins, view.Twin{
			Number: number(&t.Number), State: t.Status, URL: path.ConsoleIntent(t.OrderID.String()), At: t.CreatedAt, Earlier: t.Earlier, Verdict: t.Verdict, Note: t.Note,
		})
	}
	for _, n := range in.Notes {
		m.Notes = append(m.Notes, view.Note{By: n.By, Text: n.Text, At: n.At})
	}
	for _, r := range in.Reuses {
		reuse := view.Reuse{At: r.At, Anchor: r.Anchor}
		for _, f := range r.Fields {
			reuse.Fields = append(reuse.Fields, view.Field{Path: f.Field, First: f.First, Later: f.Later})
		}
		m.Reuses = append(m.Reuses, reuse)
	}
	return m
}

// titled is what the intent is called.
func titled(in console.Intent) (kind, name, state string) {
	switch {
	case in.Order != nil:
		return "order", number(&in.Order.Number), string(in.Order.Status)
	case in.Lead != nil:
		kind, name = "lead", in.Lead.ID.String()
		if in.Root != nil {
			state = string(in.Root.Status)
		}
		return kind, ui.Middle(name), state
	}
	return "operation", string(in.Root.Type), string(in.Root.Status)
}

// intentID is the ID of the intent's stable address.
func intentID(in console.Intent) uuid.UUID {
	switch {
	case in.Order != nil:
		return in.Order.ID
	case in.Root != nil:
		return in.Root.ID
	}
	return in.Lead.ID
}

// personalID is the order or enquiry whose personal data is masked; Nil if there is none.
func personalID(in console.Intent) uuid.UUID {
	switch {
	case in.Order != nil:
		return in.Order.ID
	case in.Lead != nil:
		return in.Lead.ID
	}
	return uuid.Nil
}

func madeAt(in console.Intent) time.Time {
	switch {
	case in.Order != nil:
		return in.Order.CreatedAt
	case in.Root != nil:
		return in.Root.CreatedAt
	}
	return in.Lead.CreatedAt
}

func verdict(ctx context.Context, in console.Intent) view.Verdict {
	v := in.Verdict
	m := view.Verdict{
		Kind: view.VerdictKind(v.State), Attempts: v.Attempts, Absorbed: v.Duplicates(), Orders: v.Orders, Charges: v.Charges, Effects: v.Effects,
		Money: moneyLine(ctx, in),
	}
	for _, a := range v.Absorbed {
		m.Guards = append(m.Guards, view.Guard{Name: a.Guard, Count: a.Count})
	}
	slices.SortStableFunc(m.Guards, func(a, b view.Guard) int { return b.Count - a.Count })
	for _, r := range v.Reasons {
		if r.Code != "step_planned" { // those stand at the end of the timeline, with their times
			m.Reasons = append(m.Reasons, reason(ctx, r))
		}
	}
	for _, f := range in.Violations {
		b := view.Violation{Number: f.ID, Promise: i18n.T(ctx, "promise."+strconv.Itoa(f.ID))}
		for _, e := range f.Examples {
			b.Details = append(b.Details, e.Subject+" "+e.Detail)
		}
		m.Broken = append(m.Broken, b)
	}
	if steps := nextModel(in); len(steps) > 0 && steps[0].Key != "key" {
		m.Next = &steps[0]
	}
	return m
}

// moneyLine is where the money is, in one sentence.
func moneyLine(ctx context.Context, in console.Intent) string {
	if in.Order == nil {
		return ""
	}
	t := func(what string, args ...any) string { return i18n.T(ctx, "intent.money."+what, args...) }
	words := t("none")
	switch n := in.Verdict.Charges; {
	case in.Money.Unrecorded:
		for _, h := range in.Heard {
			if len(h.Differs) > 0 && h.State == string(payment.Succeeded) {
				words = t("unrecorded", i18n.Span(ctx, max(in.Now.Sub(h.At), 0)))
			}
		}
	case n > 1:
		words = t("more", in.Money.Captured.String())
	case n == 1:
		words = t("once", in.Money.Captured.String())
	case in.Verdict.State == console.Unknown:
		words = t("unknown", in.Order.Total.String())
	}
	if in.Money.Returned.Minor > 0 {
		words += " " + t("returned", in.Money.Returned.String())
	}
	if in.Money.OnItsWay.Minor > 0 {
		words += " " + t("returning", in.Money.OnItsWay.String())
	}
	return words
}

func reason(ctx context.Context, r console.Reason) string {
	words, subject := r.Code, r.Subject
	if key := "intent.reason." + r.Code; i18n.Has(key) {
		words = i18n.T(ctx, key)
	}
	if r.Code == "awaiting_payment" && subject != "" {
		subject = strings.ToLower(i18n.Status(ctx, "payment", subject))
	}
	if subject == "" {
		return words
	}
	return i18n.T(ctx, "intent.reason.with", words, subject)
}

// facts are what the intent is about, for somebody who talks to the customer.
func facts(in console.Intent) (list []string) {
	if in.Order == nil {
		return nil
	}
	list = append(list, in.Order.Total.String())
	for _, i := range in.Order.Items {
		list = append(list, fmt.Sprintf("%d × %s", i.Quantity, i.Name))
	}
	return list
}

func diagram(in console.Intent) view.Diagram {
	d := view.Diagram{Total: in.Verdict.Attempts}
	for _, a := range in.Attempts {
		d.Attempts = append(d.Attempts, view.Attempt{At: a.At, Guard: a.Guard})
	}
	if in.Root != nil {
		d.Nodes = append(d.Nodes, view.Node{Kind: "operation", Label: string(in.Root.Type), State: string(in.Root.Status)})
	}
	if in.Order != nil {
		d.Nodes = append(d.Nodes, view.Node{Kind: "order", Label: number(&in.Order.Number), State: string(in.Order.Status)})
	}
	if in.Lead != nil {
		d.Nodes = append(d.Nodes, view.Node{Kind: "lead", Label: ui.Middle(in.Lead.ID.String()), State: "DONE"})
	}
	if p := telling(in.Payments); p != nil {
		d.Nodes = append(d.Nodes, view.Node{Kind: "payment", Label: p.Amount.String(), State: string(p.Status)})
	}
	for _, e := range in.Effects {
		d.Effects = append(d.Effects, view.Effect{Kind: e.Kind, Count: e.Count, State: e.State})
	}
	return d
}

// telling is the attempt that brought the money, otherwise the last one.
func telling(payments []console.Payment) *console.Payment {
	for i := range payments {
		if payments[i].Status.Captured() || payments[i].OrphanedAt != nil {
			return &payments[i]
		}
	}
	if len(payments) == 0 {
		return nil
	}
	return &payments[len(payments)-1]
}
