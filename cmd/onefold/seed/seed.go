// Package seed fills a database with the history of a shop that has been open for a while: most orders fulfilled, some canceled,
// expired or refunded, and of today's some that are unfinished or wait for a person. It is for trying things out at scale, never
// for a live shop.
//
// What it writes is consistent (all invariants of `onefold check` hold) and follows from the seed and the number of orders:
// people, keys and with them the operations' IDs. Times are relative to now.
package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options of Run.
type Options struct {
	Orders     int           // how many orders to add
	Operations int           // how many operations remain, as after retention; 0 means all, about six per order
	Events     int           // how many rows of inbox and outbox together remain; 0 means all, about three per order
	Span       time.Duration // how long ago the first order was placed; more than two days
	Seed       int64         // another one gives another history; the same can't be told twice in one database
	Force      bool          // also write into a database with orders of real people
	Now        time.Time
	Progress   func(what string, done, of int) // is told how far it is; nil says nothing
}

// strippedFrom how many orders on a load takes indexes off. Then nobody else can use these tables until it ends.
const strippedFrom = 50_000

// Run adds a chapter of history in one transaction: all of it or nothing. conn must be able to write for minutes.
//
// An error says which option can't be used, or that the database isn't one for this.
func Run(ctx context.Context, conn *pgx.Conn, o Options) (Counts, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	c := newChapter(o.Seed, o.Orders)
	e := &edition{chapter: c, now: o.Now.UTC().Truncate(time.Microsecond)}
	e.from = e.now.Add(-o.Span)
	if err := e.cut(o); err != nil {
		return nil, err
	}
	// Nothing here is worth compiling, and not every server can (its library is a package of its own).
	if _, err := conn.Exec(ctx, `SET jit = off`); err != nil {
		return nil, fmt.Errorf("set up connection: %w", err)
	}
	var counts Counts
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
		counts, err = e.run(ctx, tx, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return counts, settle(ctx, conn, o)
}

func (e *edition) cut(o Options) error {
	switch {
	case o.Orders < 1:
		return errors.New("--orders must be at least 1")
	case o.Span <= 48*time.Hour:
		return errors.New("--span must be more than 48h")
	}
	var all, least int
	for _, c := range []struct {
		flag string
		want int
		size func(fate) int
		into *cut
	}{{"--operations", o.Operations, fate.operations, &e.operations}, {"--events", o.Events, fate.events, &e.events}} {
		*c.into, all, least = e.cutTo(c.want, c.size)
		if c.want != 0 && (c.want < least || c.want > all) {
			return fmt.Errorf("%s: of %d orders between %d and %d can remain, not %d", c.flag, o.Orders, least, all, c.want)
		}
	}
	return nil
}

func (e *edition) run(ctx context.Context, tx pgx.Tx, o Options) (Counts, error) {
	for _, sql := range []string{
		"SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0", "SET LOCAL lock_timeout = '30s'",
		"SET LOCAL maintenance_work_mem = '512MB'", "SET LOCAL work_mem = '256MB'",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("prepare session: %w", err)
		}
	}
	if err := e.allowed(ctx, tx, o.Force); err != nil {
		return nil, err
	}
	var err error
	if e.shelf, err = readShelf(ctx, tx); err != nil {
		return nil, err
	}
	if len(e.shelf["license"]) == 0 || len(e.shelf["physical"]) == 0 {
		return nil, errors.New("the catalogue needs a licence and a physical product with prices")
	}
	var since int64
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(number), 0) FROM orders`).Scan(&since); err != nil {
		return nil, fmt.Errorf("read order number: %w", err)
	}
	var back stripped
	if o.Orders >= strippedFrom {
		if back, err = strip(ctx, tx); err != nil {
			return nil, err
		}
	}
	counts, err := e.load(ctx, tx, func(done int) { o.Progress("orders", done, o.Orders) })
	if err != nil {
		return nil, err
	}
	if err := back.restore(ctx, tx, func(done int) { o.Progress("indexes and constraints", done, len(back)) }); err != nil {
		return nil, err
	}
	return counts, stock(ctx, tx, since)
}

// allowed keeps this away from real shops and from telling the same twice.
func (e *edition) allowed(ctx context.Context, tx pgx.Tx, force bool) error {
	var told, demo, orders, live bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM users WHERE id = $1),
			EXISTS (SELECT FROM users WHERE email LIKE 'operator.%@seed.example.com' OR email = 'operator@example.com'),
			EXISTS (SELECT FROM orders), EXISTS (SELECT FROM payments WHERE provider <> $2)`, e.person(-1), providerName).Scan(&told, &demo, &orders, &live)
	switch {
	case err != nil:
		return fmt.Errorf("look at database: %w", err)
	case told:
		return fmt.Errorf("--seed %d is in this database already; another --seed adds more", e.seed)
	case live:
		return errors.New("this database has payments of a live provider")
	case orders && !demo && !force:
		return errors.New("this database has orders and is no demo's; --force adds to them")
	}
	return nil
}

// settle does what autovacuum would do in a database that grew slowly.
func settle(ctx context.Context, conn *pgx.Conn, o Options) error {
	if _, err := conn.Exec(ctx, "SET statement_timeout = 0"); err != nil {
		return fmt.Errorf("prepare vacuum: %w", err)
	}
	for i, l := range layout {
		if _, err := conn.Exec(ctx, "VACUUM (ANALYZE) "+l.name); err != nil {
			return fmt.Errorf("vacuum %s: %w", l.name, err)
		}
		o.Progress("tables analysed", i+1, len(layout))
	}
	return nil
}
