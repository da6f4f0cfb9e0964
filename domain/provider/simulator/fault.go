package simulator

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// What a fault can do; doc.go says what each means.
const (
	dropAfter      = "drop_after"
	errorAfter     = "error_after"
	errorBefore    = "error_before"
	errorSticky    = "error_sticky"
	hang           = "hang"
	delay          = "delay"
	busy           = "busy"
	reject         = "reject"
	rateLimit      = "rate_limit"
	notFound       = "not_found"
	garbage        = "garbage"
	stayPending    = "pending"
	duplicate      = "duplicate"
	secondEvent    = "second_event"
	reorder        = "reorder"
	hold           = "hold"
	lose           = "lose"
	forge          = "forge"
	wrongAmount    = "wrong_amount"
	wrongCurrency  = "wrong_currency"
	unknownObject  = "unknown_object"
	beforeResponse = "before_response"

	webhooksSend = "webhooks.send"
	smtpSend     = "smtp.send"

	maxDelay = 10 * time.Minute
)

// possible lists what each kind of exchange can suffer.
func possible(on string) []string {
	api := []string{
		dropAfter, errorAfter, errorBefore, errorSticky, hang, delay, busy, reject, rateLimit, notFound, garbage,
	}
	switch on {
	case "payments.create", "payments.get", "payments.cancel", "refunds.get", "shipments.create", "shipments.get":
		return api
	case "refunds.create":
		return append(api, stayPending)
	case webhooksSend:
		return []string{
			duplicate, secondEvent, reorder, hold, lose, forge, wrongAmount, wrongCurrency, unknownObject, beforeResponse,
			delay, garbage, errorBefore, errorAfter, dropAfter,
		}
	case smtpSend:
		return []string{dropAfter, errorAfter, errorBefore, hang, delay, reject}
	default:
		return nil
	}
}

// fault is one instruction to misbehave.
type fault struct {
	ID        string `json:"id"`
	On        string `json:"on"`
	Do        string `json:"do"`
	Times     int    `json:"times"`   // 0 = until removed
	Used      int    `json:"used"`    // how often it has been used
	DelayMs   int    `json:"delayMs"` // milliseconds
	Status    int    `json:"status"`  // 0 = the kind's own default
	Reference string `json:"reference,omitempty"`
	Booked    bool   `json:"booked,omitempty"` // error_sticky only: book first
	// Percent of the exchanges that match are hit, chosen by a dice of its own; 0 = all of them.
	Percent float64 `json:"percent,omitempty"`
	Seed    uint64  `json:"seed,omitempty"` // of the dice
	dice    *rand.Rand
}

// strikes throws the dice.
func (f fault) strikes() bool { return f.Percent == 0 || f.dice.Float64()*100 < f.Percent }

func (f fault) delay() time.Duration { return time.Duration(f.DelayMs) * time.Millisecond }

// statusOr returns the asked status when it lies in the wanted class, else the default.
func (f fault) statusOr(lowest, fallback int) int {
	if f.Status >= lowest && f.Status <= 599 && (lowest == 500 || f.Status < 500) {
		return f.Status
	}
	return fallback
}

func (f fault) problem() *problem {
	var b rules
	allowed := possible(f.On)
	b.must(allowed != nil, "on", "known", "There is no such kind of exchange.")
	b.must(allowed == nil || slices.Contains(allowed, f.Do), "do", "possible", "This exchange cannot fail that way.")
	b.must(f.Times >= 0, "times", "min=0", "Give 1 or more, or 0 for no limit.")
	b.must(f.DelayMs >= 0 && f.delay() <= maxDelay, "delayMs", "range=0..600000", "Give up to ten minutes.")
	b.must(f.Percent >= 0 && f.Percent <= 100, "percent", "range=0..100", "Give a share of the exchanges.")
	b.must(f.Status == 0 || f.Status >= 400 && f.Status <= 599, "status", "range=400..599", "Give an error status.")
	return b.problem()
}

// faults is the list of instructions, oldest first.
type faults struct {
	mu   sync.Mutex
	list []*fault
}

func (l *faults) add(f fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.dice = rand.New(rand.NewPCG(f.Seed, 0)) //nolint:gosec // chance that can be repeated is what it is for
	l.list = append(l.list, &f)
}

// take returns the oldest fault that matches and counts its use; the zero fault when none does.
func (l *faults) take(on string, references ...string) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.list {
		spent := f.Times > 0 && f.Used >= f.Times
		if f.On == on && !spent && (f.Reference == "" || slices.Contains(references, f.Reference)) && f.strikes() {
			f.Used++
			return *f
		}
	}
	return fault{}
}

func (l *faults) all() []fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]fault, 0, len(l.list))
	for _, f := range l.list {
		out = append(out, *f)
	}
	return out
}

// remove drops one fault, or all for "".
func (l *faults) remove(id string) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(f *fault) bool { return id == "" || f.ID == id })
	return id == "" || len(l.list) < before
}
