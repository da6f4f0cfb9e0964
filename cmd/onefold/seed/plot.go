package seed

import (
	"math/rand/v2"
)

// plot is what happens to an order.
type plot int

const (
	// How most orders end. Retention may have removed what belongs to these.
	plain     plot = iota // paid, licences, bonus, mail
	parcelled             // a parcel as well
	nameless              // nobody to write to
	retried               // the first payment is declined, the second succeeds
	answered              // the answer to the first call was lost: UNKNOWN for a while
	expired               // nobody paid
	canceled              // the shopper changed their mind
	returned              // a part of the money went back
	refunded              // all of it did
	refused               // the first key got OUT_OF_STOCK, the second an order

	// What is unfinished or waits for a person; these are recent.
	pending       // the shopper is on the pay page
	unknown       // nobody knows whether the payment exists
	declined      // the shopper may try again
	undelivered   // the mail server is away; the mail is tried again
	mailRefused   // the mail server refused the mail for good
	labelRefused  // the carrier refused the address
	mismatch      // the provider tells of another amount: event quarantined, order under review
	late          // money came after the order was canceled; it went back, the order is under review
	parked        // ORDER_PAID can't be dispatched
	stranger      // an event about nothing of ours, quarantined
	contradiction // another payload under a known event ID, quarantined
	refunding     // the outcome of a refund isn't known
	plots         // how many there are
)

// size of a plot's rows in operations, and in inbox and outbox together, without what fate adds.
var size = [plots]struct{ operations, events int }{ //nolint:gochecknoglobals // a table
	plain: {6, 3}, parcelled: {7, 3}, nameless: {6, 3}, retried: {9, 4}, answered: {6, 3}, expired: {4, 2}, canceled: {4, 2}, returned: {8, 4},
	refunded: {9, 5}, refused: {7, 3}, pending: {3, 1}, unknown: {2, 1}, declined: {2, 1}, undelivered: {6, 3}, mailRefused: {6, 3}, labelRefused: {7, 3},
	mismatch: {3, 2}, late: {5, 4}, parked: {3, 3}, stranger: {6, 4}, contradiction: {6, 4}, refunding: {8, 3},
}

// weights of the ends, in percent.
var weights = []struct { //nolint:gochecknoglobals // a table
	plot
	percent int
}{
	{plain, 59}, {parcelled, 8}, {nameless, 3}, {retried, 3}, {answered, 4}, {expired, 8}, {canceled, 7}, {returned, 3}, {refunded, 3}, {refused, 2},
}

// fate is what was decided about an order before its story is told.
type fate struct {
	plot
	replays   int  // of its CREATE_ORDER, by an impatient client
	reused    bool // its key came with other content
	waiting   bool // a twin was told to come back
	repeats   int  // further deliveries of the webhook
	second    bool // a second event about the same fact
	outOfTime bool // payment.pending arrives after payment.succeeded
}

func (f fate) operations() int { return size[f.plot].operations }

func (f fate) events() int {
	n := size[f.plot].events
	if f.second {
		n++
	}
	if f.outOfTime {
		n++
	}
	return n
}

// live reports that retention may not touch the order.
func (f fate) live() bool { return f.plot >= pending }

// chapter is everything that one call of Run tells.
type chapter struct {
	seed   int64
	orders int
	recent int // the last so many orders are of today and show each of the unfinished plots once per hundred
}

func newChapter(seed int64, n int) chapter {
	return chapter{seed: seed, orders: n, recent: min(n, max(100, n/20))}
}

func (c chapter) random(i int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(c.seed), uint64(i))) //nolint:gosec // believable, not secret
}

// fate of order number i, from 0; the same for the same seed and number of orders.
func (c chapter) fate(i int, random *rand.Rand) fate {
	f := fate{plot: drawn(random.IntN(100))}
	if place := (c.orders - 1 - i) % 100; c.orders-i <= c.recent && pending+plot(place) < plots {
		f.plot = pending + plot(place)
	}
	if f.plot == expired && c.orders-i <= c.recent {
		f.plot = canceled // it couldn't have waited long enough
	}
	f.replays, f.reused, f.waiting = few(random, 6), random.IntN(100) < 1, random.IntN(100) < 1
	if f.succeeds() {
		f.repeats, f.second, f.outOfTime = few(random, 8), random.IntN(100) < 3, random.IntN(100) < 2
	}
	return f
}

// succeeds: a payment does, by a webhook that tells the truth.
func (f fate) succeeds() bool {
	switch f.plot { //nolint:exhaustive // the rest don't
	case expired, canceled, pending, unknown, declined, mismatch, late:
		return false
	}
	return true
}

func drawn(n int) plot {
	for _, w := range weights {
		if n -= w.percent; n < 0 {
			return w.plot
		}
	}
	return plain
}

// few is mostly none, in percent of cases one or two.
func few(random *rand.Rand, percent int) int {
	if n := random.IntN(100); n < percent {
		return 1 + n%2
	}
	return 0
}
