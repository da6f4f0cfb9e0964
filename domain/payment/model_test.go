package payment_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

// model is a purchase on paper: the three machines, the rules between them, and the provider's truth. It has no database; what it
// proves is that the tables of states allow no history that breaks the promise, whatever comes in whatever order.
type model struct {
	order    order.State
	attempts []attempt
	refunds  []back
	messages []message // what the provider said; any of them may come at any time, again, or never
	before   []attempt // after the last step
}

type attempt struct {
	ours, theirs payment.State // theirs "" until the provider has it
	orphan       bool          // money that the order can't take
	refunded     bool
}

type back struct {
	attempt      int
	ours, theirs refund.State
}

type message struct {
	attempt int // -1 if it is about a refund
	state   payment.State
	refund  int
	back    refund.State
}

func (m *model) say(n int) {
	m.messages = append(m.messages, message{attempt: n, state: m.attempts[n].theirs})
}

// pay starts an attempt if the order waits and no other attempt is open.
func (m *model) pay(t *rapid.T) {
	if m.order != order.AwaitingPayment || slices.ContainsFunc(m.attempts, func(a attempt) bool { return a.ours.Open() || a.ours.Captured() || a.orphan }) {
		t.Skip("nothing to pay")
	}
	m.attempts = append(m.attempts, attempt{ours: payment.Created})
}

func (m *model) any(t *rapid.T) (int, *attempt) {
	if len(m.attempts) == 0 {
		t.Skip("no attempt")
	}
	n := rapid.IntRange(0, len(m.attempts)-1).Draw(t, "attempt")
	return n, &m.attempts[n]
}

// submit sends the call: it may arrive or not, its answer may come or not. A repeat with the same key changes nothing there.
func (m *model) submit(t *rapid.T) {
	n, a := m.any(t)
	if a.ours.CanMove(payment.Submitting) {
		a.ours = payment.Submitting
	}
	if a.ours != payment.Submitting && a.ours != payment.Unknown {
		t.Skip("not to be sent")
	}
	if a.theirs == "" && rapid.Bool().Draw(t, "arrives") {
		if a.theirs = payment.Pending; rapid.IntRange(0, 5).Draw(t, "refused") == 0 {
			a.theirs = payment.Failed
		}
		m.say(n)
	}
	if a.theirs != "" && rapid.Bool().Draw(t, "answer comes") {
		m.learn(n, a.theirs)
	} else if a.ours.CanMove(payment.Unknown) {
		a.ours = payment.Unknown
	}
}

// payer decides at the provider, once, unless the bank has the last word: money may come after a refusal.
func (m *model) payer(t *rapid.T) {
	n, a := m.any(t)
	switch a.theirs {
	case payment.Pending:
		a.theirs = rapid.SampledFrom([]payment.State{payment.Succeeded, payment.Canceled}).Draw(t, "decides")
	case payment.Canceled, payment.Failed:
		a.theirs = payment.Succeeded
	default:
		t.Skip("nothing to decide")
	}
	m.say(n)
}

// hear takes any message that was ever sent.
func (m *model) hear(t *rapid.T) {
	if len(m.messages) == 0 {
		t.Skip("silence")
	}
	m.take(rapid.SampledFrom(m.messages).Draw(t, "message"))
}

func (m *model) take(x message) {
	if x.attempt >= 0 {
		m.learn(x.attempt, x.state)
		return
	}
	r := &m.refunds[x.refund]
	if !r.ours.CanMove(x.back) {
		return
	}
	if r.ours = x.back; x.back == refund.Succeeded {
		a := &m.attempts[r.attempt]
		a.refunded = true
		if a.ours.CanMove(payment.Refunded) {
			a.ours = payment.Refunded
		}
		if !a.orphan && m.order.CanMove(order.Refunded) {
			m.order = order.Refunded
		}
	}
}

// learn moves forward or not at all. Money that comes after the end, or for an order that can't take it, is an orphan.
func (m *model) learn(n int, said payment.State) {
	a := &m.attempts[n]
	switch {
	case a.ours == payment.Created:
		return // early: it waits in the inbox
	case a.ours.CanMove(said):
		a.ours = said
		if said == payment.Succeeded {
			if a.orphan = !m.order.CanMove(order.Paid); !a.orphan {
				m.order = order.Paid
			}
		}
	case said == payment.Succeeded && !a.ours.Captured():
		a.orphan = true
	}
}

// absent gives an unanswered attempt up, which is allowed only if the call can no longer arrive.
func (m *model) absent(t *rapid.T) {
	_, a := m.any(t)
	if a.ours != payment.Unknown || a.theirs != "" {
		t.Skip("not proved")
	}
	a.ours = payment.Failed
}

func (m *model) close(t *rapid.T) {
	to := rapid.SampledFrom([]order.State{order.Canceled, order.Expired}).Draw(t, "close")
	if !m.order.CanMove(to) || slices.ContainsFunc(m.attempts, func(a attempt) bool { return a.ours.Open() && a.ours != payment.Pending }) {
		t.Skip("can't be closed")
	}
	for n := range m.attempts { // a pending one is canceled at the provider first, and what it says counts
		if a := &m.attempts[n]; a.ours == payment.Pending {
			if a.theirs == payment.Pending {
				a.theirs = payment.Canceled
				m.say(n)
			}
			m.learn(n, a.theirs)
		}
	}
	if m.order.CanMove(to) {
		m.order = to
	}
}

func (m *model) fulfil(t *rapid.T) {
	if !m.order.CanMove(order.Fulfilled) {
		t.Skip("nothing to fulfil")
	}
	m.order = order.Fulfilled
}

// giveBack asks for all the money of an attempt, unless a refund of it hasn't failed.
func (m *model) giveBack(t *rapid.T) {
	n, a := m.any(t)
	if !a.ours.Captured() && !a.orphan || slices.ContainsFunc(m.refunds, func(r back) bool { return r.attempt == n && r.ours != refund.Failed }) {
		t.Skip("nothing to give back")
	}
	m.refunds = append(m.refunds, back{attempt: n, ours: refund.Created})
}

func (m *model) sendBack(t *rapid.T) {
	if len(m.refunds) == 0 {
		t.Skip("no refund")
	}
	n := rapid.IntRange(0, len(m.refunds)-1).Draw(t, "refund")
	r := &m.refunds[n]
	if r.ours.CanMove(refund.Submitting) {
		r.ours = refund.Submitting
	}
	if r.theirs == "" && rapid.Bool().Draw(t, "arrives") {
		r.theirs = rapid.SampledFrom([]refund.State{refund.Succeeded, refund.Succeeded, refund.Failed}).Draw(t, "decides")
		m.messages = append(m.messages, message{attempt: -1, refund: n, back: r.theirs})
	}
	if r.ours.CanMove(refund.Unknown) {
		r.ours = refund.Unknown
	}
}

// safe is what must hold after every step.
func (m *model) safe(t *rapid.T) {
	open, kept, given := 0, 0, map[int]int{}
	for _, r := range m.refunds {
		if r.ours != refund.Failed {
			given[r.attempt]++
		}
		require.LessOrEqual(t, given[r.attempt], 1, "money goes back once")
		require.False(t, r.ours == refund.Succeeded && r.theirs != refund.Succeeded, "a refund that the provider doesn't have")
	}
	for _, a := range m.attempts {
		if a.ours.Open() {
			open++
		}
		if a.ours.Captured() && !a.orphan {
			kept++
		}
		require.False(t, (a.ours.Captured() || a.orphan) && a.theirs != payment.Succeeded, "money that the provider doesn't have: %+v", a)
	}
	for n, was := range m.before {
		is := m.attempts[n]
		require.False(t, was.ours != is.ours && (was.ours == payment.Canceled || was.ours == payment.Failed), "an end was left: %+v, %+v", was, is)
		require.False(t, was.ours.Captured() && !is.ours.Captured() || was.orphan && !is.orphan, "money forgotten: %+v, %+v", was, is)
		require.False(t, !was.ours.Open() && is.ours.Open(), "a step back: %+v, %+v", was, is)
	}
	m.before = slices.Clone(m.attempts)
	require.LessOrEqual(t, open, 1, "nobody is asked to pay twice")
	require.LessOrEqual(t, kept, 1, "an order is paid once")
	paid := m.order != order.AwaitingPayment && m.order != order.Canceled && m.order != order.Expired
	require.Equal(t, paid, kept == 1, "order %s, attempts %+v", m.order, m.attempts)
}

// TestNoHistoryBreaksThePromise also shows that order doesn't matter: once everything that was said is heard, nothing the provider
// knows about money is unknown here, and hearing it all again changes nothing.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	t.Parallel()
	for range 30 { // each plays -rapid.checks histories (100): they take no time
		rapid.Check(t, history)
	}
}

func history(t *rapid.T) {
	m := &model{order: order.AwaitingPayment}
	t.Repeat(map[string]func(*rapid.T){
		"pay": m.pay, "submit": m.submit, "submit again": m.submit, "payer": m.payer, "hear": m.hear, "hear more": m.hear, "absent": m.absent,
		"close": m.close, "fulfil": m.fulfil, "give back": m.giveBack, "send back": m.sendBack, "": m.safe,
	})
	for _, x := range rapid.Permutation(m.messages).Draw(t, "late") {
		m.take(x)
		m.safe(t)
	}
	for _, a := range m.attempts {
		if a.theirs != "" && a.ours != payment.Created {
			require.Equal(t, a.theirs == payment.Succeeded, a.ours.Captured() || a.orphan, "%+v", a)
		}
	}
	before := *m
	before.attempts, before.refunds = slices.Clone(m.attempts), slices.Clone(m.refunds)
	for _, x := range m.messages {
		m.take(x)
	}
	require.Equal(t, before, *m)
}
