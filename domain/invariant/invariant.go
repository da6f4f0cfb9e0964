// Package invariant proves on the database what onefold promises (CONTRACT section 7). Each invariant is one SQL query that
// returns the rows that break it; none of them changes anything, so `onefold check` may run against production at any time.
//
// Everything is read in one snapshot: a transaction that commits meanwhile is seen whole or not at all, so a violation is
// never an artefact of reading while people buy.
package invariant

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/payment"
)

// Invariant is one promise and the query that looks for rows which break it.
type Invariant struct {
	ID      int    // number in CONTRACT section 7
	Name    string // short and stable, for the CLI and as a metric's label
	Promise string // one sentence
	// SQL returns violating rows as (subject text, detail text). subject is "<entity> <id>". Arguments are named: @grace,
	// @lease, @pause, @delay, @object_limit, @dispatch_limit (intervals), @issue, @accrue, @notify, @ship, @reverse, @watch,
	// @orphan (operation types), @system (user).
	SQL string
	// parts are queries of the same kind that together find what SQL finds, for running them side by side; nil means SQL alone.
	parts []string
}

// All lists the twelve invariants in the order of the contract.
func All() []Invariant {
	return []Invariant{
		{1, "one-order-per-intent", "One operation per (user, type, target, key), one order per operation and per cart.", oneOrder, nil},
		{2, "one-open-payment", "At most one payment attempt of an order isn't final.", oneOpenPayment, nil},
		{3, "paid-once", "A paid order has exactly one succeeded payment of its amount and currency, unless flagged.", paidOnce, nil},
		{4, "paid-event", "Every paid order has its ORDER_PAID event, once; no other order has one.", paidEvent, nil},
		{5, "licences-match-units", "Every paid licence unit has its licence, once; nothing else has one.", licensesMatch, nil},
		{6, "effects-once", "One bonus accrual and one notification per paid order, one shipment per parcel; none is missing, and a refunded order keeps none.", effectsOnce, nil},
		{7, "refunds-within-capture", "Refunds never exceed what was captured, and payment and order show what went back.", refundsWithin, nil},
		{8, "stock-adds-up", "Stock is never negative; reservations are the units of open and paid orders.", stockAddsUp, nil},
		{9, "operations-move", "No operation stays PROCESSING, and no payment unresolved, without somebody looking in time.", operationsMove, nil},
		{10, "boxes-drain", "No inbox or outbox row past its limit is neither done nor set aside.", boxesDrain, nil},
		{11, "results-exist", "What a COMPLETED operation says it made is there.", resultsExist, nil},
		{12, "journal-complete", "Every state has its journal row.", whole(journalComplete()), journalComplete()},
	}
}

// whole makes one query of parts.
func whole(parts []string) string { return "(" + strings.Join(parts, ")\nUNION ALL (") + ")" }

// Config holds the limits of the invariants about time. Zero values mean the defaults named here.
type Config struct {
	Lease time.Duration // how long one try may own a row (ONEFOLD_LEASE); default 60 s
	Sweep time.Duration // how long the relay and the queues may need to get to a row that is due; default 60 s
	// Statement bounds each query, in place of the pool's 5 s; default 5 min.
	Statement time.Duration
	// Sessions is how many queries may run side by side, each on a connection and a core of its own; default 2.
	Sessions int
}

const (
	// longestPause between two tries of an operation: an hour and 20 % jitter (operation.Backoff), rounded up.
	longestPause = 75 * time.Minute
	// longestDelay until a planned operation is first due: a receipt waits for its licences, a watch for the webhook.
	longestDelay = 30 * time.Second
	// objectLimit: after nine looks, about four minutes and 20 % jitter, an event's object is there or it is quarantined.
	objectLimit = 10 * time.Minute
	// dispatchLimit: eight tries to dispatch an event take about a minute, then it is parked.
	dispatchLimit = 5 * time.Minute
)

// Example is one violating row.
type Example struct {
	Subject string `json:"subject"` // "<entity> <id>"
	Detail  string `json:"detail"`
}

// Finding is what became of one invariant.
type Finding struct {
	ID         int       `json:"id"`
	Name       string    `json:"name"`
	Promise    string    `json:"promise"`
	OK         bool      `json:"ok"`
	Violations int64     `json:"violations"`
	Examples   []Example `json:"examples"` // at most 20
	// Took is how long its queries ran, added up.
	Took time.Duration `json:"-"`
}

// OK reports that no finding is a violation.
func OK(findings []Finding) bool {
	for _, f := range findings {
		if !f.OK {
			return false
		}
	}
	return true
}

func (c Config) arguments() pgx.NamedArgs {
	lease, sweep := c.Lease, c.Sweep
	if lease == 0 {
		lease = time.Minute
	}
	if sweep == 0 {
		sweep = time.Minute
	}
	return pgx.NamedArgs{
		"grace": lease + sweep, "lease": lease, "pause": longestPause, "delay": longestDelay, "object_limit": objectLimit, "dispatch_limit": dispatchLimit,
		"issue": fulfilment.IssueLicenses, "accrue": fulfilment.AccrueBonus, "notify": fulfilment.SendNotification, "ship": fulfilment.ShipParcel, "watch": payment.WatchPayment,
		"reverse": fulfilment.ReverseEffects, "orphan": payment.RefundOrphan,
		"system": operation.System,
	}
}
