// Package retention removes what is old, finished and no longer needed, in short transactions that any number of processes may
// run at the same time.
//
// What goes is decided row by row, never by age alone. These stay, however old they are:
//   - what is unfinished: a PROCESSING operation, a waiting event, and everything that belongs to an order which still waits
//     for something;
//   - what waits for a person: FAILED system operations, quarantined and parked events, and everything that belongs to an order
//     under review (DESIGN rule 12);
//   - what makes a repeat harmless (DESIGN rule 16): orders, payments, refunds, parcels, licences, bonus entries, notifications
//     and enquiries. Each keeps the ID of the operation that made it, so a key outlives its operation: a late retry gets
//     IDEMPOTENCY_KEY_EXPIRED, never a second effect. The journal of their states stays with them.
//
// What a removed row proved is remembered where an invariant needs it: an order keeps the types of its removed outbox events.
package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// Config says how long what has ended is kept. Zero values mean the defaults named here.
type Config struct {
	Operations time.Duration // after the end, and never less than the key was promised; default 720 h
	Events     time.Duration // incoming events, after they were dealt with; default 2160 h
	Outbox     time.Duration // after the dispatch; default 720 h
	Journal    time.Duration // entries about operations and events; default 8760 h
	Guests     time.Duration // baskets that guests left, and guests who ordered nothing; default 720 h
	Batch      int           // rows looked at in one transaction; default 1000
}

func (c Config) arguments() pgx.NamedArgs {
	or := func(d, standard time.Duration) time.Duration {
		if d == 0 {
			return standard
		}
		return d
	}
	batch := c.Batch
	if batch == 0 {
		batch = 1000
	}
	return pgx.NamedArgs{
		"operations": or(c.Operations, 720*time.Hour), "incoming_events": or(c.Events, 2160*time.Hour),
		"outbox_events": or(c.Outbox, 720*time.Hour), "journal": or(c.Journal, 8760*time.Hour), "guests": or(c.Guests, 720*time.Hour),
		"batch": batch, "system": operation.System,
	}
}

// Table is what retention means for one table.
type Table struct {
	Name  string
	Goes  int64  // rows that would go, or went
	Stays []Stay // rows that are old enough and stay, by reason
}

// Stay is a number of rows that stay for one reason.
type Stay struct {
	Why  string `json:"why"`
	Rows int64  `json:"rows"`
}

// planWithin bounds one statement of Plan, which reads whole tables.
const planWithin = 5 * time.Minute

// Plan says what Run would remove now, and why the rest of what is old stays. It reads one snapshot and changes nothing. db must
// be a pool or connection, not a transaction that has begun.
func Plan(ctx context.Context, db store.DB, cfg Config) ([]Table, error) {
	var tables []Table
	err := store.InTx(ctx, db, func(tx pgx.Tx) error {
		tables = nil
		for _, sql := range []string{
			"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
			fmt.Sprintf("SET LOCAL statement_timeout = %d", planWithin.Milliseconds()), "SET LOCAL work_mem = '64MB'", "SET LOCAL jit = off",
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("prepare plan: %w", err)
			}
		}
		for _, r := range rules() {
			t, err := r.plan(ctx, tx, cfg.arguments())
			if err != nil {
				return err
			}
			tables = append(tables, t)
		}
		ended, err := account.Ended(ctx, tx)
		tables = append(tables, swept(ended)...)
		return err
	})
	return tables, err
}

// Run removes what Plan lists, batch by batch, and returns what went. A row that somebody holds at that moment is left for the
// next run; so are all others when ctx ends, with an error.
func Run(ctx context.Context, db store.DB, cfg Config) ([]Table, error) {
	ended, err := account.Sweep(ctx, db)
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, r := range rules() {
		t := Table{Name: r.table}
		if t.Goes, err = r.run(ctx, db, cfg.arguments()); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return append(tables, swept(ended)...), nil
}

func swept(e account.Swept) []Table {
	return []Table{{Name: "sessions", Goes: e.Sessions}, {Name: "login_throttle", Goes: e.Counters}}
}
