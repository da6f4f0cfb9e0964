package console

import (
	"slices"
	"strings"
	"time"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
)

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
	Code    string // see the reasons in judge
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

// Attempt is one technical try of the intent.
type Attempt struct {
	At    time.Time
	Guard string // what absorbed it; "" for the one that did the work
}

// Effect is one kind of consequence.
type Effect struct {
	Kind  string // licenses, bonus, mail, shipment or refund
	Count int
	State string // DONE, WAITING, UNKNOWN or FAILED
}

// judge works out what the rows mean.
func (in *Intent) judge() {
	in.weave()
	in.related()
	in.Attempts, in.Effects, in.Next = in.attempts(), in.effects(), in.steps()
	v := Verdict{Attempts: 1}
	if in.Order != nil {
		v.Orders = 1
	}
	for _, p := range in.Payments {
		if p.Status.Captured() {
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

// isRepeat says that a journal row is another try of the same intent. A reused key with other content is not.
func isRepeat(kind string) bool {
	return kind == "operation.replayed" || kind == "operation.in_progress"
}

func (in *Intent) attempts() []Attempt {
	var list []Attempt
	var root operation.ID
	switch {
	case in.Root != nil:
		root, list = in.Root.ID, append(list, Attempt{At: in.Root.CreatedAt})
	case in.Order != nil:
		root, list = in.Order.OperationID, append(list, Attempt{At: in.Order.CreatedAt})
	}
	for _, e := range in.Timeline {
		if isRepeat(e.Kind) && e.OperationID.UUID == root {
			list = append(list, Attempt{At: e.At, Guard: e.Guard})
		}
	}
	return list
}

const (
	done    = "DONE"
	waiting = "WAITING"
	unknown = "UNKNOWN"
	failed  = "FAILED"
)

// effects lists what follows from the money, from the rows of the effects themselves; what has none yet, from its operation.
func (in *Intent) effects() []Effect {
	var list []Effect
	add := func(kind string, n int, t operation.Type) {
		state := ""
		if n > 0 {
			state = done
		}
		if o := in.operation(t); o != nil {
			switch o.Status {
			case operation.Processing:
				state = waiting
			case operation.Failed:
				state = failed
			case operation.Completed:
			}
		}
		if state != "" {
			list = append(list, Effect{kind, n, state})
		}
	}
	sent := 0
	for _, n := range in.Notifications {
		if n.SentAt != nil {
			sent++
		}
	}
	add("licenses", len(in.Licenses), fulfilment.IssueLicenses)
	add("bonus", len(in.Bonus), fulfilment.AccrueBonus)
	add("mail", sent, fulfilment.SendNotification)
	for _, s := range in.Shipments {
		list = append(list, Effect{"shipment", 1, outside(s.Status)})
	}
	for _, r := range in.Refunds {
		list = append(list, Effect{"refund", 1, outside(r.Status)})
	}
	return list
}

func (in *Intent) operation(t operation.Type) *Operation {
	for i, o := range in.Operations {
		if o.Type == t {
			return &in.Operations[i]
		}
	}
	return nil
}

// outside reads the state of a refund or shipment.
func outside(status string) string {
	switch status {
	case "SUCCEEDED":
		return done
	case unknown, failed:
		return status
	}
	return waiting
}

// answer looks for the worst that is true.
func (in *Intent) answer(charges int) (State, []Reason) {
	for _, look := range []struct {
		state   State
		reasons []Reason
	}{
		{Bad, in.broken(charges)}, {Unknown, in.unresolved()}, {Ended, in.ended()}, {Running, in.open()},
	} {
		if len(look.reasons) > 0 {
			return look.state, look.reasons
		}
	}
	return Good, nil
}

// broken: promises that don't hold, and what only a person can settle.
func (in *Intent) broken(charges int) (reasons []Reason) {
	add := func(code, subject string) { reasons = append(reasons, Reason{code, subject}) }
	if charges > 1 {
		add("several_charges", "")
	}
	if o := in.Order; o != nil {
		paid := o.PaidAt != nil
		switch {
		case o.NeedsReview:
			add("needs_review", o.ReviewReason)
		case paid && charges == 0:
			add("paid_without_charge", string(o.Status))
		case !paid && charges > 0:
			add("charge_without_paid", string(o.Status))
		}
		if units := o.units(); len(in.Licenses) > units || (o.Status == order.Fulfilled && len(in.Licenses) < units) {
			add("licenses_mismatch", string(o.Status))
		}
	}
	for _, e := range in.Events {
		if e.Status == inbox.Quarantined {
			add("event_quarantined", e.Reason)
		}
	}
	for _, o := range in.Operations {
		if o.Status == operation.Failed && slices.Contains(fulfilment.Types(), o.Type) {
			add("effect_failed", o.FailureCode)
		}
	}
	for _, x := range in.Outbox {
		if x.State == outboxParked {
			add("event_parked", x.Type)
		}
	}
	return reasons
}

func (o Order) units() (n int) {
	for _, i := range o.Items {
		if i.Kind == "license" {
			n += i.Quantity
		}
	}
	return n
}

// unresolved: the outside hasn't said.
func (in *Intent) unresolved() (reasons []Reason) {
	for _, p := range in.Payments {
		if p.Status == payment.Unknown {
			reasons = append(reasons, Reason{"payment_unknown", p.FailureCode})
		}
	}
	for _, r := range in.Refunds {
		if r.Status == unknown {
			reasons = append(reasons, Reason{"refund_unknown", ""})
		}
	}
	for _, s := range in.Shipments {
		if s.Status == unknown {
			reasons = append(reasons, Reason{"shipment_unknown", ""})
		}
	}
	return reasons
}

// ended: there is no result, and that is known.
func (in *Intent) ended() []Reason {
	switch {
	case in.Order != nil && (in.Order.Status == order.Canceled || in.Order.Status == order.Expired):
		return []Reason{{"order_" + strings.ToLower(string(in.Order.Status)), ""}}
	case in.Order == nil && in.Root != nil && in.Root.Status == operation.Failed:
		return []Reason{{"refused", in.Root.FailureCode}}
	}
	return nil
}

// open: work is under way, or it is the customer's turn.
func (in *Intent) open() (reasons []Reason) {
	if in.Order != nil && in.Order.Status == order.AwaitingPayment {
		reasons = append(reasons, Reason{"awaiting_payment", in.lastPayment()})
	}
	if in.Order != nil && in.Order.Status == order.Paid {
		reasons = append(reasons, Reason{"effects_open", ""})
	}
	for _, s := range in.steps() {
		reasons = append(reasons, Reason{"step_planned", s.Subject})
	}
	return reasons
}

func (in *Intent) lastPayment() string {
	if len(in.Payments) == 0 {
		return ""
	}
	return string(in.Payments[len(in.Payments)-1].Status)
}
