package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"onefold/domain/invariant"
)

type checkCmd struct {
	database
	Lease    time.Duration `env:"ONEFOLD_LEASE" default:"60s" help:"The lease that the workers run with."`
	Sessions int           `default:"2" help:"How many queries may run side by side, each on a core of the database."`
	JSON     bool          `help:"Print JSON."`
}

// Run prints a row per invariant, with the time its queries took, and fails if one is violated.
func (c *checkCmd) Run(ctx context.Context) error {
	pool, err := c.open(ctx, "check")
	if err != nil {
		return err
	}
	defer pool.Close()
	findings, err := invariant.Check(ctx, pool, invariant.Config{Lease: c.Lease, Sessions: c.Sessions})
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(findings)
	} else {
		err = printFindings(os.Stdout, findings)
	}
	if err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	if !invariant.OK(findings) {
		return errors.New("an invariant is violated")
	}
	return nil
}

func printFindings(out io.Writer, findings []invariant.Finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		state := "ok"
		if !f.OK {
			state = fmt.Sprintf("VIOLATED ×%d", f.Violations)
		}
		fmt.Fprintf(w, "%2d\t%s\t%s\t%.1f s\t%s\n", f.ID, state, f.Name, f.Took.Seconds(), f.Promise)
		for _, e := range f.Examples {
			fmt.Fprintf(w, "\t\t%s\t\t%s\n", e.Subject, e.Detail)
		}
	}
	return w.Flush()
}
