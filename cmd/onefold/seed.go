package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	history "onefold/cmd/onefold/seed"
	"onefold/domain/catalog"
	"onefold/domain/store"
)

type seedCmd struct {
	database
	Provider   string        `env:"ONEFOLD_PROVIDER" default:"sim" help:"Payment provider; with a live one nothing is written."`
	Orders     int           `default:"1000" help:"How many orders to add, each with payment, events, effects and journal. From 50000 on the tables are locked meanwhile."`
	Operations int           `default:"0" help:"How many operations remain, the oldest settled orders losing theirs as by retention; 0 keeps all, about six per order."`
	Events     int           `default:"0" help:"The same for inbox and outbox rows together; 0 keeps all, about three per order."`
	Span       time.Duration `default:"672h" help:"How long ago the first order was placed; more than 48h. Beyond 720h running workers begin to remove what is old."`
	Seed       int64         `default:"1" help:"Another number gives another history, which is added; the same one is refused the second time."`
	Force      bool          `help:"Also add to a database that has orders and is no demo's."`
}

// Run adds history, says how far it is, and prints what was added.
func (c *seedCmd) Run(ctx context.Context) error {
	if c.Provider != "sim" {
		return fmt.Errorf("--provider (ONEFOLD_PROVIDER) is %s: a live shop gets no made-up history", c.Provider)
	}
	pool, err := c.open(ctx, "seed")
	if err != nil {
		return err
	}
	defer pool.Close()
	current, err := store.MigrationsCurrent(ctx, pool)
	if err == nil && !current {
		err = errors.New("the schema isn't current: run `onefold migrate up`")
	}
	if err == nil {
		err = catalog.SeedDemo(ctx, pool) // products that are there stay as they are
	}
	if err != nil {
		return err
	}
	var counts history.Counts
	start := time.Now()
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		counts, err = history.Run(ctx, conn.Conn(), history.Options{
			Orders: c.Orders, Operations: c.Operations, Events: c.Events, Span: c.Span, Seed: c.Seed, Force: c.Force, Now: start,
			Progress: reporter(os.Stderr, start),
		})
		return err
	})
	if err != nil {
		return err
	}
	return printCounts(os.Stdout, counts, time.Since(start))
}

// reporter prints a line now and then, and at each end.
func reporter(out io.Writer, start time.Time) func(string, int, int) {
	var last time.Time
	return func(what string, done, of int) {
		if done < of && time.Since(last) < 2*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(out, "%5.0fs  %s: %d of %d\n", time.Since(start).Seconds(), what, done, of)
	}
}

func printCounts(out io.Writer, counts history.Counts, took time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%d\t %s\n", counts[name], name)
	}
	fmt.Fprintf(w, "%s\t in all\n", took.Round(time.Second))
	return w.Flush()
}
