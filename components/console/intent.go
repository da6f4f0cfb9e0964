package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// IntentModel is everything known about one intent.
type IntentModel struct {
	Kind     string    // "order", "operation" or "lead"
	Name     string    // an order's number, an operation's type
	State    string    // of the order or the operation; empty for none
	Facts    []string  // what it is about, already translated: sum, things
	At       time.Time // when it was made
	Link     string    // the stable address of the page
	JSON     string    // addresses of the evidence
	Text     string
	Verdict  Verdict
	Diagram  Diagram
	Identity []Identity
	Money    Money
	Hooks    []Hook // what the provider told by itself
	Reuses   []Reuse
	Twins    []Twin
	Notes    []Note
	Stories  []Story // the customer's language first
	Timeline Timeline

	// Places for what others show; nil shows nothing.
	Actions  templ.Component // what may be done, and whether it is safe
	NoteForm templ.Component // below the notes
	Personal Personal        // what is masked elsewhere; no fields unless this person asked to see it
}

// Personal is what masks hide.
type Personal struct {
	Until  time.Time
	Fields []PersonalField
}

// PersonalField is one of it: email, name, address, recipient, message, license.
type PersonalField struct{ Name, Value string }

// Money is where the money is, and what both sides say of each payment.
type Money struct {
	Known                              bool // false for an intent without money
	Captured, Returned, OnItsWay, Left string
	Payments                           []Sides
}

// Sides is one payment as we and the provider know it. Empty fields of the provider's mean that it never said.
type Sides struct {
	ID        string
	Attempt   int
	Got       string // whether it reached the provider: yes, refused, absent, unanswered, no
	Sends     int
	Failure   string
	State     string
	Amount    string
	Refunded  string
	Provider  string // its name
	Theirs    string // its state, in our words
	TheirsSum string
	Reference string // the provider's
	UpdatedAt time.Time
	HeardAt   time.Time
	SaidAt    time.Time // by the provider's clock; zero when it didn't say
	Via       string    // event, answer, lookup, watch or cancel
	Differs   []string  // state, amount, reference
}

// Hook is an event that the provider sent.
type Hook struct {
	EventID    string
	Type       string
	State      string
	Reason     string
	Deliveries int
	ReceivedAt time.Time
	Anchor     string // its line in the timeline
}

// Reuse is a request under a known key that asked for something else.
type Reuse struct {
	At     time.Time
	Anchor string
	Fields []Field
}

// Field is one difference; empty values weren't there.
type Field struct{ Path, First, Later string }

// Twin is an order that looks like this one.
type Twin struct {
	Number, State, URL string
	At                 time.Time
	Earlier            bool
	Verdict            string // technical_retry, on_purpose or empty
	Note               string
}

// Note is what somebody wrote down.
type Note struct {
	By, Text string
	At       time.Time
}

// Story explains the intent to the customer, in one language.
type Story struct {
	Lang  string
	Lines []Sentence
}

// Sentence has at most one time in it, between its words.
type Sentence struct {
	Before, After string
	Time          string // written out
	At            time.Time
}

func (s Sentence) String() string { return s.Before + s.Time + s.After }

// String is the whole explanation.
func (s Story) String() string {
	var lines []string
	for _, l := range s.Lines {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, " ")
}

// Violation is a promise that doesn't hold for this order, with the rows that show it.
type Violation struct {
	Number  int
	Promise string // already translated
	Details []string
}

// VerdictKind is the answer to "is it exactly once?".
type VerdictKind string

// The answers.
const (
	VerdictOK      VerdictKind = "ok"
	VerdictRunning VerdictKind = "running"
	VerdictUnknown VerdictKind = "unknown"
	VerdictFailed  VerdictKind = "failed" // refused or cancelled: a known end without a result
	VerdictBad     VerdictKind = "bad"    // an invariant is violated
)

// Verdict counts what went in and what came out.
type Verdict struct {
	Kind     VerdictKind
	Attempts int // technical tries of the intent, the first included
	Absorbed int // repeats, of tries and of deliveries, that changed nothing
	Orders   int
	Charges  int // successful payments
	Effects  int
	Guards   []Guard
	Reasons  []string // why it isn't "ok", already translated, worst first
	Broken   []Violation
	Money    string // one sentence, already translated; empty without money
	Next     *Next  // the soonest; nil when nothing is planned
}

// Guard is what absorbed repeats, and how many.
type Guard struct {
	Name  string
	Count int
}

// Identity is one ID that belongs to the intent.
type Identity struct {
	Kind   string // order, operation, key, payment, provider_payment, trace, event, outbox, job, refund, shipment, license, user
	Value  string
	Entity string // whose state State is: operation, order, payment…; empty without one
	State  string
	Note   string // e.g. "attempt 2"; already translated
	Masked bool   // not worth copying
	Minor  bool   // shown on demand
}

func (v Verdict) tone() ui.Tone {
	switch v.Kind {
	case VerdictOK:
		return ui.Good
	case VerdictUnknown:
		return ui.Unknown
	case VerdictBad:
		return ui.Bad
	case VerdictRunning, VerdictFailed:
	}
	return ui.Neutral
}

func (v Verdict) icon() string {
	switch v.Kind {
	case VerdictOK:
		return "check-double"
	case VerdictUnknown:
		return "question"
	case VerdictBad:
		return "alert"
	case VerdictFailed:
		return "ban"
	case VerdictRunning:
	}
	return "clock"
}

// sum is "4 attempts → 1 order · 1 charge · 3 effects".
func (v Verdict) sum(ctx context.Context) string {
	return i18n.T(ctx, "count.attempts", v.Attempts) + " → " + strings.Join([]string{
		i18n.T(ctx, "count.orders", v.Orders), i18n.T(ctx, "count.charges", v.Charges), i18n.T(ctx, "count.effects", v.Effects),
	}, "\u00a0· ")
}

// Summary is sum, for those who write it elsewhere.
func (v Verdict) Summary(ctx context.Context) string {
	return strings.ReplaceAll(v.sum(ctx), "\u00a0", " ")
}

// named is "operations_identity × 3" for each guard.
func (g Guard) named() string { return g.Name + " × " + strconv.Itoa(g.Count) }

// identities divides the IDs into those shown at once and those on demand.
func (m IntentModel) identities(minor bool) (list []Identity) {
	for _, id := range m.Identity {
		if id.Minor == minor {
			list = append(list, id)
		}
	}
	return list
}

func (m IntentModel) title(ctx context.Context) string {
	return i18n.T(ctx, "intent.title."+m.Kind, m.Name)
}

// differs says that the provider's side of a fact isn't ours.
func (s Sides) differs(fact string) bool { return slices.Contains(s.Differs, fact) }

func (t Twin) judged() string {
	if t.Verdict == "" {
		return "open"
	}
	return t.Verdict
}

// stamp is the machine's form of a time.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
