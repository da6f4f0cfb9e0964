package console

import (
	"context"
	"time"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

// Offer is an action that may be pressed for a thing, with what speaks for or against it.
type Offer struct {
	Name    string // names the words "act.<Name>"
	Object  string // ID of the thing
	About   string // which thing, where a page has several; empty where it is clear
	Verdict string // SAFE, WAIT or UNSAFE
	Guard   string // what makes it so; names the words "guard.<Guard>"
	Until   time.Time
	Role    string // the least that may press
	Allowed bool   // the person's role is high enough
	Own     bool   // the person asked for it: somebody else has to decide
	Page    bool   // its form asks for more than a press
	Key     string // made by the server: N presses of this form are one action
	Kind    string // of the thing
}

// ActionsModel is what may be done about an intent.
type ActionsModel struct {
	CSRF   string
	Return string // where a press comes back to
	Offers []Offer
	Done   DoneModel
	Case   CaseModel
}

// CaseModel is what people said about an intent. Its forms are offers like others.
type CaseModel struct {
	Object       string
	Assignee     string
	AssigneeID   string
	Mine         bool // it is the person's own
	Ticket       string
	TicketURL    string // if the ticket is an address
	Tags         []string
	SnoozedUntil time.Time
	Allowed      bool // the person may change it
	Role         string
	Keys         map[string]string // of the forms, by action
	Me           string            // the person's ID
	CSRF, Return string
}

// DoneModel is what a press did; the zero one says nothing.
type DoneModel struct {
	Action string // names the words "act.<Action>"
	ID     string // the press's own intent
	Object string
	By     string
	At     time.Time
	Again  int  // further presses of the same form, which changed nothing
	Asked  bool // a second person has to decide
}

// ActModel is the page of one action.
type ActModel struct {
	Offer
	CSRF, Return string
	ObjectType   string
	State        string // of the thing
	Subject      string // its type or reason
	Amount       string // the money it is about
	OrderID      string
	Order        string
	Fields       []ui.Field
	Hidden       []ui.Hidden
	Reason       bool // is required
	ReasonText   string
	ReasonError  string
	Refused      string          // why the last press did nothing, already translated
	Errors       []ui.FieldError // of fields that aren't shown
	Done         DoneModel
	Twins        []Alike // two orders, for a verdict about them
	Wish         []Detail
}

// ready says that the button may be pressed.
func (o Offer) ready() bool { return o.Verdict == "SAFE" && o.Allowed && !o.Own }

func (o Offer) tone() ui.Tone {
	switch o.Verdict {
	case "SAFE":
		return ui.Good
	case "WAIT":
		return ui.Warn
	}
	return ui.Neutral
}

func (o Offer) icon() string {
	switch o.Verdict {
	case "SAFE":
		return "check"
	case "WAIT":
		return "clock"
	}
	return "ban"
}

// address of the action's page, with the form's key, so that a reload keeps it.
func (o Offer) address(back string) string {
	return path.WithQuery(path.ConsoleAct(o.Name, o.Object), "key", o.Key, "return", back)
}

// why a control can't be pressed; empty if it can.
func (o Offer) why(ctx context.Context) string {
	switch {
	case !o.Allowed:
		return i18n.T(ctx, "act.role", o.Role)
	case o.Own:
		return i18n.T(ctx, "act.own")
	}
	return ""
}

// id of an element that belongs to the offer.
func (o Offer) id(part string) string { return part + "-" + o.Name + "-" + o.Object }

func (m ActModel) problems() []ui.FieldError {
	list := append([]ui.FieldError{}, m.Errors...)
	list = append(list, ui.Problems(m.Fields...)...)
	if m.ReasonError != "" {
		list = append(list, ui.FieldError{Field: "reason", Message: m.ReasonError})
	}
	return list
}

// Alike is one of two orders that look alike.
type Alike struct {
	ID, Number, State, Total, Items, Key string
	At                                   time.Time
}

// entity is the glossary's name of an object's type.
func entity(objectType string) string {
	switch objectType {
	case "event":
		return "inbox"
	case "duplicate":
		return "order"
	}
	return objectType
}

// titled is a page's title, which begins with "Error:" when the page was refused.
func titled(ctx context.Context, title string, wrong bool) string {
	if wrong {
		return i18n.T(ctx, "error.prefix", title)
	}
	return title
}
