// Command bench prints rates, not verdicts: orders, replays and webhooks per second through onefold's HTTP, beside two
// references on the same Postgres in the same run: the same rows inserted by pgx without HTTP, and an unprotected POST (order,
// item and outbox row, nothing else) behind the same Fiber. Rounds alternate, so that a slow moment hits everybody. With -console it
// prints how long the console's pages take on a database of any size.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"
)

func main() {
	binary := flag.String("onefold", "bin/onefold", "the binary to measure")
	seconds := flag.Int("seconds", 4, "of each round")
	rounds := flag.Int("rounds", 3, "of each measure")
	clients := flag.Int("clients", 32, "at a time")
	database := flag.String("console", "", "measure the console's pages on this filled database (onefold seed) instead")
	times := flag.Int("times", 60, "each page of the console")
	unprotected := flag.String("unprotected", "", "internal: serve the unprotected reference against this database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *unprotected != "":
		err = serveUnprotected(ctx, *unprotected)
	case *database != "":
		err = measureConsole(ctx, *binary, *database, *times)
	default:
		err = measure(ctx, *binary, time.Duration(*seconds)*time.Second, *rounds, *clients)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}

// contest is one thing measured; do performs it once for client i.
type contest struct {
	name string
	do   func(ctx context.Context, client int) error
	n    int
	took time.Duration
}

func (c *contest) rate() float64 { return float64(c.n) / c.took.Seconds() }

func measure(ctx context.Context, binary string, round time.Duration, rounds, clients int) error {
	lab, err := open(ctx, binary, clients)
	if err != nil {
		return err
	}
	defer lab.close()
	contests := lab.contests()
	for range rounds {
		for i := range contests {
			if err := run(ctx, &contests[i], round, clients); err != nil {
				return fmt.Errorf("%s: %w", contests[i].name, err)
			}
		}
	}
	behind, err := lab.behind(ctx)
	if err != nil {
		return err
	}
	report(contests, behind, clients)
	return nil
}

func run(ctx context.Context, c *contest, round time.Duration, clients int) error {
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	type tally struct {
		n   int
		err error
	}
	done := make(chan tally, clients)
	start := time.Now()
	for i := range clients {
		go func() {
			t := tally{}
			for ctx.Err() == nil && t.err == nil {
				if t.err = c.do(ctx, i); t.err == nil {
					t.n++
				}
			}
			if ctx.Err() != nil {
				t.err = nil // the round is over
			}
			done <- t
		}()
	}
	var first error
	for range clients {
		t := <-done
		c.n += t.n
		if first == nil {
			first = t.err
		}
	}
	c.took += time.Since(start)
	return first
}

func report(contests []contest, behind string, clients int) {
	rates := map[string]float64{}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%d clients\tper second\t\n", clients)
	for i := range contests {
		c := &contests[i]
		rates[c.name] = c.rate()
		fmt.Fprintf(w, "%s\t%.0f\t\n", c.name, c.rate())
	}
	fmt.Fprintf(w, "\t\t\n")
	for _, r := range []struct{ name, over, under string }{
		{"orders ÷ unprotected orders (aim 0.8)", ordersName, unprotectedName},
		{"orders ÷ their rows by pgx", ordersName, rowsName},
		{"replays ÷ orders (aim > 1)", replaysName, ordersName},
		{"webhooks ÷ plain inserts (aim 0.7)", webhooksName, insertsName},
	} {
		fmt.Fprintf(w, "%s\t%.2f\t\n", r.name, rates[r.over]/rates[r.under])
	}
	_ = w.Flush()
	fmt.Println(behind)
}
