package web

import (
	"net/url"
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
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/operator"
)

// acted is an action on a thing, as an address names it.
type acted struct {
	operator.Kind
	object string
}

// actedOn reads which action an address means. What isn't known is no page.
func actedOn(c *fiber.Ctx) (a acted, err error) {
	i := slices.IndexFunc(operator.Kinds(), func(k operator.Kind) bool { return string(k.Name) == c.Params("action") })
	if i < 0 {
		return a, fault.Missing("action")
	}
	a = acted{operator.Kinds()[i], c.Params("object")}
	_, broken := uuid.Parse(a.object)
	if a.Object == "job" {
		_, broken = strconv.ParseInt(a.object, 10, 64)
	}
	if broken != nil && (a.Name != operator.Reconcile || a.object != operator.Everything) {
		return a, fault.Missing(a.Object)
	}
	return a, nil
}

// consoleActPage: GET /console/act/{action}/{object}. The form's key is made here and stands in the address, so that a reload, a second
// tab and Back carry the same.
func (h *Handlers) consoleActPage(c *fiber.Ctx) error {
	a, err := actedOn(c)
	if err != nil {
		return err
	}
	if _, err := uuid.Parse(c.Query("key")); err != nil {
		return c.Redirect(path.WithQuery(c.Path(), "key", newKey(), "return", c.Query("return")), fiber.StatusSeeOther)
	}
	m, err := h.actModel(c, a, c.Query("key"), c.Query("return"))
	if err != nil {
		return err
	}
	if m.Done, err = h.doneModel(c, pressID(c, a, m.Key)); err != nil {
		return err
	}
	p, _ := h.consolePage(c, "")
	return h.render(c, fiber.StatusOK, view.Act(p, m.ActModel))
}

// consoleAct: POST /console/act/{action}/{object} is the press. The domain checks role, reason and verdict again; what it refuses
// comes back as the same page with what is true now.
func (h *Handlers) consoleAct(c *fiber.Ctx) error {
	a, err := actedOn(c)
	if err != nil {
		return err
	}
	key, err := operation.ParseKey([]string{c.FormValue("key")})
	if err != nil {
		return err
	}
	input, broken := h.actInput(c, a.Name)
	if len(broken) > 0 && currentUser(c).Role.AtLeast(a.Role) {
		return h.actRefused(c, a, key, fault.Validation(broken...))
	}
	c.Locals(localAudited, true)
	out, err := h.Operator.Press(c.UserContext(), operator.Press{
		Actor: currentUser(c), Action: a.Name, Object: a.object, Key: key, Reason: c.FormValue("reason"), Input: input,
	})
	if err == nil && out.Failure != nil {
		err = out.Failure
	}
	if err != nil {
		return h.actRefused(c, a, key, err)
	}
	if out.Result.ResourceType == "reconciliation" {
		return redirect(c, path.WithQuery(path.ConsoleRun(out.Result.ResourceID), "done", out.ID.String()))
	}
	return redirect(c, withDone(ownPage(c.FormValue("return"), pageOf(a, out.Result.OrderID)), out.ID))
}

// actRefused shows the action's page again with why nothing was done. A form whose key is spent gets a new one; one that can be
// corrected keeps its own.
func (h *Handlers) actRefused(c *fiber.Ctx, a acted, key string, err error) error {
	e, ok := fault.Of(err)
	if !ok {
		return err
	}
	switch e.Kind {
	case fault.Invalid, fault.InProgress:
	case fault.Conflict, fault.KeyReused, fault.Gone:
		key = newKey()
	case fault.Forbidden:
		if e.Code != "FOUR_EYES" {
			return err
		}
	case fault.NotFound, fault.Unavailable, fault.Internal:
		return err
	}
	m, failed := h.actModel(c, a, key, c.FormValue("return"))
	if failed != nil {
		return failed
	}
	ctx := h.speak(c)
	m.ReasonText = c.FormValue("reason")
	if e.Kind == fault.Invalid && len(e.Fields) > 0 {
		for i, f := range m.Fields {
			m.Fields[i].Value = c.FormValue(f.Name)
		}
		for _, f := range e.Fields {
			m.setError(ctx, f.Field)
		}
	} else if m.Refused = e.Message; i18n.Has("act.conflict." + e.Code) {
		m.Refused = i18n.T(ctx, "act.conflict."+e.Code)
	}
	setErrorHeaders(c, e)
	p, _ := h.consolePage(c, "")
	return h.render(c, statusOf(e), view.Act(p, m.ActModel))
}

// actModel is what the page of an action says now: the verdict is read again for every page.
func (h *Handlers) actModel(c *fiber.Ctx, a acted, key, back string) (actPage, error) {
	m := actPage{}
	offers, err := operator.Offers(c.UserContext(), h.DB, currentUser(c), a.Object, a.object)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(offers, func(o operator.Offer) bool { return o.Name == a.Name })
	if i < 0 {
		return m, fault.Missing(a.Object)
	}
	o := offers[i]
	m.Offer, m.CSRF, m.Return = offerModel(o), h.csrfToken(c), ownPage(back, pageOf(a, o.OrderID.UUID))
	m.Key, m.ObjectType, m.State, m.Subject, m.Reason = key, a.Object, o.State, o.Label, o.Reason
	m.Page = true
	if o.OrderID.Valid {
		m.OrderID, m.Order = o.OrderID.UUID.String(), ui.Middle(o.OrderID.UUID.String())
	}
	if o.Minor != nil && o.Money != nil {
		m.Amount = amountOf(o.Judgement)
	}
	return m, h.actFields(c, &m, o)
}

func offerModel(o operator.Offer) view.Offer {
	return view.Offer{
		Name: string(o.Name), Object: o.Judgement.Object, Verdict: string(o.Verdict), Guard: o.Guard, Until: orZero(o.Until), Role: string(o.Role),
		Allowed: o.Allowed, Page: o.Reason || asksMore(o.Name), Key: newKey(), Kind: o.Kind.Object,
	}
}

func newKey() string { return uuid.Must(uuid.NewV7()).String() }

// pressID is the operation that a press of a form is.
func pressID(c *fiber.Ctx, a acted, key string) string {
	return operation.Identity{User: currentUser(c).ID, Type: a.Name.Type(), Target: a.Object + ":" + a.object, Key: key}.ID().String()
}

// doneModel says what a press did, from the audit; nothing for an ID that isn't a press's.
func (h *Handlers) doneModel(c *fiber.Ctx, id string) (m view.DoneModel, err error) {
	press, err := uuid.Parse(id)
	if err != nil {
		return m, nil //nolint:nilerr // an address that names no press has nothing to say
	}
	line, again, ok, err := console.Pressed(c.UserContext(), h.DB, press)
	if err != nil || !ok {
		return m, err
	}
	_, asked := line.Detail["approval"]
	return view.DoneModel{Action: line.Action, ID: id, Object: line.ObjectID, By: line.Person, At: line.At, Again: again, Asked: asked}, nil
}

// ownPage is an address inside the console, or else home.
func ownPage(address, home string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || u.Scheme != "" || (u.Path != path.Console() && !strings.HasPrefix(u.Path, path.Console()+"/")) || strings.Contains(address, `\`) {
		return home
	}
	return address
}

// pageOf is where somebody goes who came from nowhere: to the intent, else to what the audit tells of the thing.
func pageOf(a acted, order uuid.UUID) string {
	if order != uuid.Nil {
		return path.ConsoleIntent(order.String())
	}
	return path.WithQuery(path.ConsoleAudit(), "object", a.object)
}

// withDone makes a page say what the press did.
func withDone(address string, id uuid.UUID) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set("done", id.String())
	u.RawQuery = q.Encode()
	return u.String()
}

const localAudited = "audited"

// auditRefusals writes into the audit that somebody sent a form of the console and was refused: without the role for it, without its
// token, or with what makes no sense. It stands before every rule, so that a new route can't forget it; presses tell by themselves.
func (h *Handlers) auditRefusals(c *fiber.Ctx) error {
	err := c.Next()
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead {
		return err
	}
	who, code := currentUser(c), refusal(c, err)
	if audited, _ := c.Locals(localAudited).(bool); audited || code == "" || !who.Role.AtLeast(account.Shopper) || h.Operator == nil {
		return err
	}
	failed := h.Operator.Refused(c.UserContext(), operator.Told{Actor: who, What: "tried", ObjectType: "address", Object: c.Path()}, code)
	if failed != nil {
		h.unread(c, "refusal", failed)
	}
	return err
}

// refusal is the code of an answer that refuses; "" for one that doesn't, or that is our fault.
func refusal(c *fiber.Ctx, err error) string {
	e, ok := fault.Of(err)
	switch {
	case ok && e.Kind != fault.Internal && e.Kind != fault.Unavailable:
		return e.Code
	case err == nil && c.Response().StatusCode() == fiber.StatusUnprocessableEntity:
		return "VALIDATION_FAILED"
	}
	return ""
}
