package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/payment"
)

// consoleIntent: GET /console/intents/{id}, an order's or operation's.
func (h *Handlers) consoleIntent(c *fiber.Ctx) error {
	id, err := paramID(c, "intent")
	if err != nil {
		return err
	}
	in, err := console.Find(c.UserContext(), h.DB, id)
	if err != nil {
		return err
	}
	p, _ := h.consolePage(c, "operations")
	return h.render(c, fiber.StatusOK, view.Intent(p, intentModel(h.speak(c), in)))
}

// intentModel says in words what the domain found out. It adds nothing and judges nothing.
func intentModel(ctx context.Context, in console.Intent) view.IntentModel {
	m := view.IntentModel{
		Verdict: verdict(ctx, in.Verdict), Diagram: diagram(in), Identity: identities(ctx, in), Facts: facts(ctx, in), Entries: entries(in),
	}
	if in.Order != nil {
		m.Kind, m.Name, m.State = "order", number(&in.Order.Number), string(in.Order.Status)
	} else {
		m.Kind, m.Name, m.State = "operation", string(in.Root.Type), string(in.Root.Status)
	}
	for _, s := range in.Next {
		m.Next = append(m.Next, view.Next{Key: nextKey(s), Subject: s.Subject, At: s.At})
	}
	return m
}

// nextKey names what will happen: two operations say it by their type, however they are started.
func nextKey(s console.Step) string {
	switch s.Subject {
	case string(checkout.ExpireOrder):
		return "expire"
	case string(payment.WatchPayment):
		return "reconcile"
	}
	return s.Kind
}

func verdict(ctx context.Context, v console.Verdict) view.Verdict {
	m := view.Verdict{
		Kind: view.VerdictKind(v.State), Attempts: v.Attempts, Absorbed: v.Duplicates(), Orders: v.Orders, Charges: v.Charges, Effects: v.Effects,
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
	return m
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
func facts(ctx context.Context, in console.Intent) []string {
	if in.Order == nil {
		return []string{i18n.DateTime(ctx, in.Root.CreatedAt)}
	}
	list := []string{in.Order.Total.String()}
	for _, i := range in.Order.Items {
		list = append(list, fmt.Sprintf("%d × %s", i.Quantity, i.Name))
	}
	return append(list, i18n.DateTime(ctx, in.Order.CreatedAt))
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
		if payments[i].Status.Captured() {
			return &payments[i]
		}
	}
	if len(payments) == 0 {
		return nil
	}
	return &payments[len(payments)-1]
}

func entries(in console.Intent) (list []view.Entry) {
	for _, e := range in.Timeline {
		m := view.Entry{ID: e.ID, At: e.At, Kind: e.Kind, Lane: string(e.Lane), From: e.From, To: e.To, Guard: e.Guard, Omitted: e.OmittedBefore}
		for _, f := range e.Facts {
			m.Detail = append(m.Detail, view.Detail{Name: f.Name, Value: f.Value})
		}
		for _, id := range []struct {
			name string
			id   uuid.NullUUID
		}{{"operation_id", e.OperationID}, {"payment_id", e.PaymentID}, {"incoming_event_id", e.EventID}, {"outbox_event_id", e.OutboxID}} {
			if id.id.Valid {
				m.Detail = append(m.Detail, view.Detail{Name: id.name, Value: id.id.UUID.String()})
			}
		}
		if e.JobID != nil {
			m.Detail = append(m.Detail, view.Detail{Name: "job_id", Value: strconv.FormatInt(*e.JobID, 10)})
		}
		m.Detail = append(m.Detail, view.Detail{Name: "trace_id", Value: e.TraceID})
		list = append(list, m)
	}
	return list
}
