package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// IntentModel is everything known about one intent.
type IntentModel struct {
	Kind     string   // "order" or "operation"
	Name     string   // an order's number, or an operation's type
	State    string   // of the order or the operation
	Facts    []string // what it is about, already translated: sum, things, time
	Verdict  Verdict
	Diagram  Diagram
	Identity []Identity
	Entries  []Entry // journal rows, oldest first
	Next     []Next  // what is planned, soonest first
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

// Entry is one journal row.
type Entry struct {
	ID     int64
	At     time.Time
	Kind   string // picks the sentence: "payment.succeeded"
	Lane   string // where it happened: operation, order, payment, provider, inbox, outbox, job, effect, mail, operator, http
	From   string // the state change; empty for none
	To     string
	Guard  string   // what absorbed a repeat
	Detail []Detail // already redacted
	// Omitted says how many entries were left out before this one.
	Omitted int
}

// Detail is a named value of an entry.
type Detail struct{ Name, Value string }

// Next is something planned: Key names the word "next.<Key>": reconcile, lease, dispatch, expire.
type Next struct {
	Key     string
	Subject string // an operation's or event's type
	At      time.Time
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
