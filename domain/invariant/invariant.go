// Package invariant proves on the database what onefold promises (CONTRACT section 7). Each invariant is one SQL query that
// returns the rows that break it; none of them changes anything, so `onefold check` may run against production at any time.
//
// Everything is read in one snapshot: a transaction that commits meanwhile is seen whole or not at all, so a violation is
// never an artefact of reading while people buy.
package invariant

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/store"
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
}

// All lists the twelve invariants in the order of the contract.
func All() []Invariant {
	return []Invariant{
		{1, "one-order-per-intent", "One operation per (user, type, target, key), one order per operation and per cart.", oneOrder},
		{2, "one-open-payment", "At most one payment attempt of an order isn't final.", oneOpenPayment},
		{3, "paid-once", "A paid order has exactly one succeeded payment of its amount and currency, unless flagged.", paidOnce},
		{4, "paid-event", "Every paid order has its ORDER_PAID event, once; no other order has one.", paidEvent},
		{5, "licences-match-units", "Every paid licence unit has its licence, once; nothing else has one.", licensesMatch},
		{6, "effects-once", "One bonus accrual and one notification per paid order, one shipment per parcel; none is missing, and a refunded order keeps none.", effectsOnce},
		{7, "refunds-within-capture", "Refunds never exceed what was captured, and payment and order show what went back.", refundsWithin},
		{8, "stock-adds-up", "Stock is never negative; reservations are the units of open and paid orders.", stockAddsUp},
		{9, "operations-move", "No operation stays PROCESSING, and no payment unresolved, without somebody looking in time.", operationsMove},
		{10, "boxes-drain", "No inbox or outbox row past its limit is neither done nor set aside.", boxesDrain},
		{11, "results-exist", "What a COMPLETED operation says it made is there.", resultsExist},
		{12, "journal-complete", "Every state has its journal row.", journalComplete()},
	}
}

// Config holds the limits of the invariants about time. Zero values mean the defaults named here.
type Config struct {
	Lease time.Duration // how long one try may own a row (ONEFOLD_LEASE); default 60 s
	Sweep time.Duration // how long the relay and the queues may need to get to a row that is due; default 60 s
	// Statement bounds each query, in place of the pool's 5 s; default 5 min.
	Statement time.Duration
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
	// Took is how long the query ran.
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

// Check evaluates all invariants on one snapshot of the database, read-only. An error means that the database failed, not
// that an invariant is violated. db must be a pool or connection, not a transaction that has begun.
func Check(ctx context.Context, db store.DB, cfg Config) ([]Finding, error) {
	var findings []Finding
	err := store.InTx(ctx, db, func(tx pgx.Tx) (err error) {
		if err = settings(ctx, tx, cfg); err == nil {
			findings, err = evaluate(ctx, tx, cfg)
		}
		return err
	})
	return findings, err
}

func evaluate(ctx context.Context, tx pgx.Tx, cfg Config) ([]Finding, error) {
	findings := make([]Finding, 0, len(All()))
	for _, i := range All() {
		f, err := i.find(ctx, tx, cfg.arguments())
		if err != nil {
			return nil, fmt.Errorf("check invariant %d (%s): %w", i.ID, i.Name, err)
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// settings give whole-table queries time and memory. Compiling them (JIT) would take longer than most of them run, and sorting
// whole tables to merge them longer than hashing one of the two.
func settings(ctx context.Context, tx pgx.Tx, cfg Config) error {
	statement := cfg.Statement
	if statement == 0 {
		statement = 5 * time.Minute
	}
	for _, sql := range []string{
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
		fmt.Sprintf("SET LOCAL statement_timeout = %d", statement.Milliseconds()),
		"SET LOCAL work_mem = '64MB'",
		"SET LOCAL jit = off",
		"SET LOCAL enable_mergejoin = off",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("prepare check: %w", err)
		}
	}
	return nil
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

const shown = 20

func (i Invariant) find(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (Finding, error) {
	f := Finding{ID: i.ID, Name: i.Name, Promise: i.Promise, OK: true, Examples: []Example{}}
	start := time.Now() //nolint:forbidigo // measures, decides nothing
	rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT subject, detail, count(*) OVER () FROM (%s) AS v(subject, detail)
		ORDER BY subject, detail LIMIT %d`, i.SQL, shown), args)
	if err != nil {
		return f, fmt.Errorf("run query: %w", err)
	}
	f.Examples, err = pgx.AppendRows(f.Examples, rows, func(row pgx.CollectableRow) (e Example, err error) {
		if err = row.Scan(&e.Subject, &e.Detail, &f.Violations); err != nil {
			return e, fmt.Errorf("read violation: %w", err)
		}
		return e, nil
	})
	if err != nil {
		return f, fmt.Errorf("read rows: %w", err)
	}
	f.OK, f.Took = f.Violations == 0, time.Since(start)
	return f, nil
}
