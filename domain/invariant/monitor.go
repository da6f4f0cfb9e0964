package invariant

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

const (
	// MonitorEvery is how often Monitor should be called.
	MonitorEvery = time.Minute
	// MonitorAtMost is the longest pause between two calls: less than changedWithin, so that nothing falls between them.
	MonitorAtMost = 2 * time.Minute
	// share of one core that looking at everything may take: one part in so many. What takes up to a quarter of a minute is done
	// every time, what takes a minute every four minutes; in between only what changed is looked at.
	share = 4
	// changedWithin is the time between two runs and some, so that nothing falls between them.
	changedWithin = 3 * time.Minute
	// changedAtMost bounds the orders that such a look judges; of more than that the latest.
	changedAtMost = 5000
	// monitorLock keeps two runs from the same work. It ends with its session, so nobody waits for one that was killed.
	monitorLock = 5814000003
)

// Monitor looks for violations at bounded cost and keeps what it finds in invariant_results, where console, alarms and metrics read
// it. Every run judges either everything, as Check does in one session, or only what changed lately: a violation found there counts
// at once, but only a look at everything takes one back. If another run is under way, it does nothing.
func Monitor(ctx context.Context, db store.DB, cfg Config) error {
	cfg.Sessions = 1
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		var mine, whole bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1), coalesce(rest <= $3::interval OR complete_at + rest <= now(), true)
			FROM set_config('idle_in_transaction_session_timeout', '0', true)
			LEFT JOIN (SELECT max(complete_at) AS complete_at, make_interval(secs => sum(took_ms) / 1000.0 * $2) AS rest FROM invariant_results) AS r ON true`,
			monitorLock, share, MonitorEvery).Scan(&mine, &whole)
		if err != nil {
			return fmt.Errorf("begin to monitor: %w", err)
		}
		switch {
		case !mine:
			return nil
		case whole:
			findings, err := Check(ctx, db, cfg)
			if err != nil {
				return err
			}
			return keep(ctx, tx, findings, true)
		}
		return changed(ctx, db, tx, cfg)
	})
}

// changed judges the orders that moved lately, each invariant by its own query (see ofOrder), and with them what is always cheap.
func changed(ctx context.Context, db store.DB, results pgx.Tx, cfg Config) error {
	var cheap, orders []Finding
	err := store.InTx(ctx, db, func(tx pgx.Tx) error {
		if err := settings(ctx, tx, cfg, ""); err != nil {
			return err
		}
		moved, err := lately(ctx, tx)
		if err != nil {
			return err
		}
		only, all := newWork(cfg), newWork(cfg)
		only.args["order"] = moved
		only.tasks, all.tasks = nil, nil
		for _, t := range newWork(cfg).tasks {
			switch t.invariant.ID {
			case 2, 9, 10: // their indexes hold only what is open
				all.tasks = append(all.tasks, t)
			case stockInvariant:
			default:
				t.sql = strings.ReplaceAll(ofOrder, "= @order", "= ANY(@order)") + "SELECT subject, detail FROM (" + t.sql + ") AS v(subject, detail)"
				only.tasks = append(only.tasks, t)
			}
		}
		if err := all.do(ctx, tx); err != nil {
			return err
		}
		if err := only.do(ctx, tx); err != nil {
			return err
		}
		cheap, orders = all.findings(), only.findings()
		return nil
	})
	if err != nil {
		return err
	}
	if err := keep(ctx, results, cheap, true); err != nil {
		return err
	}
	return keep(ctx, results, orders, false)
}

// lately lists orders that moved. Whatever moves one either places it or is an operation or event with a line in the journal's
// index of passing entries.
func lately(ctx context.Context, tx pgx.Tx) (ids []uuid.UUID, err error) {
	err = tx.QueryRow(ctx, `SELECT coalesce(array_agg(DISTINCT order_id), '{}') FROM (
			(SELECT order_id FROM journal WHERE split_part(kind, '.', 1) IN ('operation', 'inbox', 'outbox', 'effect') AND at >= now() - $1::interval
				AND order_id IS NOT NULL ORDER BY at DESC LIMIT $2)
			UNION ALL (SELECT order_id FROM outbox_events WHERE created_at >= now() - $1::interval ORDER BY created_at DESC LIMIT $2)) AS moved`,
		changedWithin, changedAtMost).Scan(&ids)
	if err != nil {
		return nil, fmt.Errorf("list changed orders: %w", err)
	}
	return ids, nil
}

// keep stores findings. Those that aren't of everything can only add violations. The time since when one is violated stays until it
// holds again.
func keep(ctx context.Context, tx pgx.Tx, findings []Finding, complete bool) error {
	b := &pgx.Batch{}
	for _, f := range findings {
		var sample *string
		if len(f.Examples) > 0 {
			text := f.Examples[0].Subject + " " + f.Examples[0].Detail
			sample = &text
		}
		b.Queue(`INSERT INTO invariant_results AS r (number, name, violations, sample, checked_at, complete_at, took_ms, since)
			VALUES ($1, $2, $3::bigint, $4, now(), CASE WHEN $5::boolean THEN now() END, $6, CASE WHEN $3::bigint > 0 THEN clock_timestamp() END)
			ON CONFLICT (number) DO UPDATE SET name = excluded.name, checked_at = excluded.checked_at,
				violations = CASE WHEN $5 THEN excluded.violations ELSE greatest(r.violations, excluded.violations) END,
				sample = CASE WHEN $5 THEN excluded.sample ELSE coalesce(excluded.sample, r.sample) END,
				complete_at = CASE WHEN $5 THEN excluded.complete_at ELSE r.complete_at END,
				took_ms = CASE WHEN $5 THEN excluded.took_ms ELSE r.took_ms END,
				since = CASE WHEN excluded.violations > 0 OR NOT $5 THEN coalesce(r.since, excluded.since) END`,
			f.ID, f.Name, f.Violations, sample, complete, f.Took.Milliseconds())
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep results: %w", err)
	}
	return nil
}
