package web

import (
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operator"
	"onefold/domain/provider"
)

// actPage is the model of an action's page while it is put together.
type actPage struct{ view.ActModel }

// asksMore says that the form of an action has fields besides the reason, or that its page says what will be done exactly.
func asksMore(name operator.Name) bool {
	switch name { //nolint:exhaustive // the others ask for nothing more
	case operator.Refund, operator.CorrectAddress, operator.SettlePayment, operator.JudgeDuplicate, operator.Assign, operator.SetTicket, operator.SetTags,
		operator.Snooze, operator.Approve, operator.Reject:
		return true
	}
	return false
}

func amountOf(j operator.Judgement) string {
	if j.Minor == nil || j.Money == nil {
		return ""
	}
	return money.Amount{Minor: *j.Minor, Currency: *j.Money}.String()
}

// actFields adds what a form asks for besides a reason.
func (h *Handlers) actFields(c *fiber.Ctx, m *actPage, o operator.Offer) error {
	ctx := h.speak(c)
	field := func(name, label string, more ...any) ui.Field {
		return ui.Field{Name: name, Label: i18n.T(ctx, "act.field."+label, more...), Autocomplete: "off"}
	}
	switch o.Name { //nolint:exhaustive // the others ask for nothing more
	case operator.Refund:
		if o.Minor == nil || o.Money == nil {
			return nil
		}
		left := money.Amount{Minor: *o.Minor, Currency: *o.Money}
		f := field("amount", "amount", left.Currency)
		f.Value, f.Hint, f.InputMode = left.Decimal(), i18n.T(ctx, "act.field.amount.hint", left.String()), "decimal"
		m.Fields, m.Hidden = []ui.Field{f}, []ui.Hidden{{Name: "expected", Value: left.String()}}
	case operator.CorrectAddress:
		for _, name := range []string{"name", "line1", "line2", "city", "postcode", "country"} {
			f := field(name, name)
			f.Optional = name == "line2"
			m.Fields = append(m.Fields, f)
		}
	case operator.SetTicket, operator.SetTags:
		name, label := "ticket", "ticket"
		if o.Name == operator.SetTags {
			name, label = "tags", "tags"
		}
		f := field(name, label)
		said, err := console.CaseOf(c.UserContext(), h.DB, uuid.MustParse(o.Judgement.Object))
		if err != nil {
			return err
		}
		if f.Value = said.Ticket; o.Name == operator.SetTags {
			f.Value = strings.Join(said.Tags, ", ")
		}
		m.Fields, m.Hidden = []ui.Field{f}, []ui.Hidden{{Name: "was", Value: f.Value}}
	case operator.Snooze:
		m.State, m.Subject = "", "" // what it replaces stands on the page it came from
		m.Fields = []ui.Field{h.until(ctx, field("until", "until"))}
	case operator.Assign:
		m.State, m.Subject = "", ""
		f := field("assignee", "assignee")
		people, err := account.Staff(c.UserContext(), h.DB)
		if err != nil {
			return err
		}
		said, err := console.CaseOf(c.UserContext(), h.DB, uuid.MustParse(o.Judgement.Object))
		if err != nil {
			return err
		}
		f.Value = optional(said.AssigneeID)
		m.Hidden = []ui.Hidden{{Name: "was", Value: f.Value}}
		f.Options = []ui.Option{{Value: "", Label: i18n.T(ctx, "act.field.assignee.nobody")}}
		for _, p := range people {
			f.Options = append(f.Options, ui.Option{Value: p.ID.String(), Label: p.Email})
		}
		m.Fields = []ui.Field{f}
	case operator.SettlePayment:
		f := field("providerId", "provider_id")
		f.Hint = i18n.T(ctx, "act.field.provider_id.hint")
		m.Fields = []ui.Field{f}
	case operator.JudgeDuplicate:
		f := field("verdict", "verdict")
		f.Options = []ui.Option{{Value: "", Label: i18n.T(ctx, "act.field.verdict.choose")}}
		for _, v := range []string{checkout.TechnicalRetry, checkout.OnPurpose} {
			f.Options = append(f.Options, ui.Option{Value: v, Label: i18n.T(ctx, "act.field.verdict."+v)})
		}
		m.Fields = []ui.Field{f}
		return h.twinsOf(c, m, o)
	case operator.Approve, operator.Reject:
		return h.wishOf(c, m, o)
	}
	return nil
}

// until offers times that are fixed when the form is made, so that two presses of it mean the same.
func (h *Handlers) until(ctx context.Context, f ui.Field) ui.Field {
	for _, d := range []time.Duration{time.Hour, 4 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour} {
		f.Options = append(f.Options, ui.Option{Value: h.Now().Add(d).UTC().Format(time.RFC3339), Label: i18n.Span(ctx, d)})
	}
	f.Options = append(f.Options, ui.Option{Value: "", Label: i18n.T(ctx, "act.field.until.wake")})
	return f
}

func (h *Handlers) twinsOf(c *fiber.Ctx, m *actPage, o operator.Offer) error {
	order := uuid.MustParse(o.Judgement.Object)
	pairs, err := console.EarlierOf(c.UserContext(), h.DB, []uuid.UUID{order})
	if err != nil {
		return err
	}
	found, err := console.Alikes(c.UserContext(), h.DB, []uuid.UUID{order, pairs[order]})
	if err != nil {
		return err
	}
	m.Twins = alikeModels(found, order, pairs[order])
	return nil
}

func alikeModels(found map[uuid.UUID]console.Alike, later, earlier uuid.UUID) (list []view.Alike) {
	for _, id := range []uuid.UUID{later, earlier} {
		a, ok := found[id]
		if !ok {
			return nil
		}
		list = append(list, view.Alike{ID: id.String(), Number: number(&a.Number), State: a.Status, Total: a.Total, Items: a.Items, Key: a.Key, At: a.CreatedAt})
	}
	return list
}

// wishOf says exactly what an approval would do.
func (h *Handlers) wishOf(c *fiber.Ctx, m *actPage, o operator.Offer) error {
	a, err := console.ApprovalOf(c.UserContext(), h.DB, uuid.MustParse(o.Judgement.Object))
	if err != nil {
		return err
	}
	ctx := h.speak(c)
	m.Own = a.By == currentUser(c).ID
	m.Subject = ""
	m.Wish = wishModel(ctx, a.Action, a.Amount, a.Evidence)
	m.Wish = append(m.Wish, view.Detail{Name: i18n.T(ctx, "act.reason"), Value: a.Reason}, view.Detail{Name: i18n.T(ctx, "run.by"), Value: a.ByEmail})
	return nil
}

func wishModel(ctx context.Context, action, sum string, evidence *string) (list []view.Detail) {
	list = append(list, view.Detail{Name: i18n.T(ctx, "audit.action"), Value: i18n.T(ctx, "act."+action)})
	if sum != "" {
		list = append(list, view.Detail{Name: i18n.T(ctx, "act.money"), Value: sum})
	}
	if evidence != nil {
		value := *evidence
		if value == "" {
			value = i18n.T(ctx, "act.evidence.none")
		}
		list = append(list, view.Detail{Name: i18n.T(ctx, "act.field.provider_id"), Value: value})
	}
	return list
}

// actInput reads what a form asked for. Each action has its own fields; the rest isn't looked at.
func (h *Handlers) actInput(c *fiber.Ctx, name operator.Name) (in operator.Input, broken []fault.Field) {
	wrong := func(field, rule string) {
		broken = append(broken, fault.Field{Field: field, Rule: rule, Message: "can't be read"})
	}
	if args := c.Request().PostArgs(); args.Has("was") && (name == operator.Assign || name == operator.SetTicket || name == operator.SetTags) {
		was := c.FormValue("was")
		in.Was = &was
	}
	switch name { //nolint:exhaustive // the others ask for nothing more
	case operator.Refund:
		expected, err := money.ParseText(c.FormValue("expected"))
		if err != nil {
			wrong("amount", "expected")
			return in, broken
		}
		amount, err := money.Parse(strings.ReplaceAll(strings.TrimSpace(c.FormValue("amount")), ",", "."), expected.Currency)
		if err != nil || amount.Minor <= 0 {
			wrong("amount", "money")
		}
		in.Amount, in.Expected = &amount, &expected
	case operator.CorrectAddress:
		in.Address = &provider.Address{
			Name: c.FormValue("name"), Line1: c.FormValue("line1"), Line2: c.FormValue("line2"), City: c.FormValue("city"),
			Postcode: c.FormValue("postcode"), Country: c.FormValue("country"),
		}
	case operator.SetTicket:
		in.Text = c.FormValue("ticket")
	case operator.SetTags:
		in.Text = c.FormValue("tags")
	case operator.SettlePayment:
		in.Text = c.FormValue("providerId")
	case operator.JudgeDuplicate:
		in.Text = c.FormValue("verdict")
	case operator.Reconcile:
		in.Text = c.FormValue("kind")
	case operator.Assign:
		if text := c.FormValue("assignee"); text != "" {
			id, err := uuid.Parse(text)
			if err != nil {
				wrong("assignee", "staff")
			}
			in.Assignee = id
		}
	case operator.Snooze:
		if text := c.FormValue("until"); text != "" {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				wrong("until", "time")
			}
			in.Until = at
		}
	}
	return in, broken
}

// setError puts the words for a broken rule beside its field.
func (m *actPage) setError(ctx context.Context, name string) {
	name = name[strings.LastIndexByte(name, '.')+1:] // delivery.address.city
	words := i18n.T(ctx, "act.broken."+name)
	if name == "reason" {
		m.ReasonError = words
		return
	}
	for i, f := range m.Fields {
		if f.Name == name {
			m.Fields[i].Error = words
			return
		}
	}
	m.Errors = append(m.Errors, ui.FieldError{Message: words})
}
