package console

import (
	"context"
	"strings"
	"time"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// IntentModel is everything known about one intent.
type IntentModel struct {
	Kind     string // "order" or "operation"
	Name     string // an order's number, or an operation's type
	State    string // of the order or the operation
	Verdict  Verdict
	Diagram  Diagram
	Identity []Identity
	Entries  []Entry // journal rows, oldest first
	Next     []Next  // what is planned, soonest first
}

// VerdictKind is the answer to "is it exactly once?".
type VerdictKind string

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
	Reason   string // the violation in words, already translated; for VerdictBad
}

// Identity is one ID that belongs to the intent.
type Identity struct {
	Kind   string // order, operation, key, payment, provider_payment, trace, event, outbox, job, refund, shipment, user
	Value  string
	Entity string // whose state State is: operation, order, payment…; empty without one
	State  string
	Note   string // e.g. "attempt 2"; already translated
}

// Entry is one journal row.
type Entry struct {
	ID     int64
	At     time.Time
	Kind   string   // picks the sentence and the lane: "payment.succeeded"
	Detail []Detail // already redacted
}

// Detail is a named value of an entry.
type Detail struct{ Name, Value string }

// Next is something planned: Key names the word "next.<Key>": reconcile, lease, dispatch, expire.
type Next struct {
	Key string
	At  time.Time
}

func (v Verdict) tone() ui.Tone {
	switch v.Kind {
	case VerdictOK:
		return ui.Good
	case VerdictUnknown:
		return ui.Unknown
	case VerdictBad:
		return ui.Bad
	default:
		return ui.Neutral
	}
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
	default:
		return "clock"
	}
}

// sum is "4 attempts → 1 order · 1 charge · 3 effects".
func (v Verdict) sum(ctx context.Context) string {
	return i18n.T(ctx, "count.attempts", v.Attempts) + " → " + strings.Join([]string{
		i18n.T(ctx, "count.orders", v.Orders), i18n.T(ctx, "count.charges", v.Charges), i18n.T(ctx, "count.effects", v.Effects),
	}, "\u00a0· ")
}

func (v Verdict) text(ctx context.Context) string {
	if v.Kind == VerdictBad && v.Reason != "" {
		return v.Reason
	}
	return i18n.T(ctx, "intent.verdict."+string(v.Kind)+".text")
}

func (m IntentModel) title(ctx context.Context) string {
	return i18n.T(ctx, "intent.title."+m.Kind, m.Name)
}
