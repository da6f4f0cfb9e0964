package ui

// Tone is the meaning of a colour. Unknown is neither good nor bad and looks like neither.
type Tone string

// The tones.
const (
	Neutral Tone = "neutral"
	Good    Tone = "good"
	Warn    Tone = "warn"
	Bad     Tone = "bad"
	Unknown Tone = "unknown"
)

// look is how a state is shown beside its word, so that it can be read without colour.
type look struct {
	tone Tone
	icon string
}

//nolint:gochecknoglobals // constant
var looks = map[string]look{
	"PROCESSING": {Neutral, "clock"}, "COMPLETED": {Good, "check"}, "FAILED": {Bad, "cross"},
	"AWAITING_PAYMENT": {Neutral, "clock"}, "PAID": {Good, "check"}, "FULFILLED": {Good, "check-double"},
	"CANCELED": {Neutral, "ban"}, "EXPIRED": {Neutral, "ban"},
	"PARTIALLY_REFUNDED": {Warn, "undo"}, "REFUNDED": {Warn, "undo"}, "REFUNDING": {Warn, "undo"},
	"NEEDS_REVIEW": {Bad, "alert"},
	"CREATED":      {Neutral, "dot"}, "SUBMITTING": {Neutral, "arrow-right"}, "PENDING": {Neutral, "clock"},
	"UNKNOWN": {Unknown, "question"}, "UNKNOWN_LONG": {Unknown, "question"}, "SUCCEEDED": {Good, "check"},
	"RECEIVED": {Neutral, "clock"}, "APPLIED": {Good, "check"}, "NO_CHANGE": {Neutral, "equal"},
	"STALE": {Neutral, "equal"}, "IGNORED": {Neutral, "ban"}, "QUARANTINED": {Bad, "alert"},
	"WAITING": {Neutral, "clock"}, "DISPATCHED": {Good, "check"}, "PARKED": {Bad, "alert"}, "DONE": {Good, "check"},
	"PREVIEW": {Neutral, "eye"}, "RUNNING": {Neutral, "clock"}, "PAUSED": {Warn, "clock"}, "STOPPED": {Neutral, "ban"},
	"REPLAYED": {Neutral, "equal"}, "REFUSED": {Warn, "ban"}, "OPEN": {Neutral, "clock"}, "APPROVED": {Good, "check"}, "REJECTED": {Neutral, "ban"},
	"discarded": {Bad, "cross"}, "cancelled": {Neutral, "ban"},
	"PREPARING": {Neutral, "clock"}, "DECLINED": {Bad, "cross"},
}

// ToneOf is the tone of a state of any entity; Neutral for one it does not know.
func ToneOf(state string) Tone {
	if l, ok := looks[state]; ok {
		return l.tone
	}
	return Neutral
}

// IconOf is the icon of a state of any entity.
func IconOf(state string) string {
	if l, ok := looks[state]; ok {
		return l.icon
	}
	return "dot"
}
