package console

import "slices"

// State answers "is it exactly once?".
type State string

// The answers, from the best to the worst.
const (
	Good    State = "ok"      // one result, and it is known
	Running State = "running" // work is under way, or the customer's turn
	Ended   State = "failed"  // refused, canceled or expired: a known end without a result
	Unknown State = "unknown" // the outside's answer is missing
	Bad     State = "bad"     // a promise is broken, or only a person can go on
)

// Reason says why a verdict isn't Good.
type Reason struct {
	Code    string // see reasons.go
	Subject string // what it is about: a state, a type, a failure code; "" for none
}

// Absorbed counts the repeats that one guard met.
type Absorbed struct {
	Guard string
	Count int
}

// Verdict counts what went in and what came out.
type Verdict struct {
	State    State
	Reasons  []Reason // of this state, worst first
	Attempts int      // technical tries of the intent: the first, its replays, and those told to wait
	Orders   int
	Charges  int // payments that brought money in
	Effects  int // kinds of effects that are there
	Absorbed []Absorbed
}

// Duplicates is the sum of Absorbed.
func (v Verdict) Duplicates() (n int) {
	for _, a := range v.Absorbed {
		n += a.Count
	}
	return n
}

// judge works out what the rows mean.
func (in *Intent) judge() {
	in.related()
	in.Money = in.balance()
	in.Attempts, in.Effects, in.Next = in.attempts(), in.effects(), in.steps()
	v := Verdict{Attempts: 1}
	if in.Order != nil {
		v.Orders = 1
	}
	for _, p := range in.Payments {
		if p.brought() {
			v.Charges++
		}
	}
	for _, e := range in.Effects {
		if e.State == done {
			v.Effects++
		}
	}
	for _, c := range in.counts {
		if guard := guardOf(c.kind, c.guard); guard != "" {
			v.absorb(guard, c.n)
		}
		if isRepeat(c.kind) {
			v.Attempts += c.root
		}
	}
	v.State, v.Reasons = in.answer(v.Charges)
	in.Verdict = v
}

func (v *Verdict) absorb(guard string, n int) {
	i := slices.IndexFunc(v.Absorbed, func(a Absorbed) bool { return a.Guard == guard })
	if i < 0 {
		v.Absorbed, i = append(v.Absorbed, Absorbed{Guard: guard}), len(v.Absorbed)
	}
	v.Absorbed[i].Count += n
}
