package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"onefold/domain/retention"
)

type retentionCmd struct {
	database
	keeping
	DryRun bool `help:"Change nothing."`
}

// Run prints a row per table: what goes (or went) and, below each other, why the rest of what is old stays.
func (c *retentionCmd) Run(ctx context.Context) error {
	policy, err := c.policy()
	if err != nil {
		return err
	}
	pool, err := c.open(ctx, "retention")
	if err != nil {
		return err
	}
	defer pool.Close()
	if c.DryRun {
		plan, err := retention.Plan(ctx, pool, policy)
		if err != nil {
			return err
		}
		return printRetention(os.Stdout, "goes", plan)
	}
	went, err := retention.Run(ctx, pool, policy)
	if err != nil {
		return err
	}
	left, err := retention.Plan(ctx, pool, policy)
	if err != nil {
		return err
	}
	for i := range went {
		went[i].Stays = left[i].Stays
	}
	return printRetention(os.Stdout, "went", went)
}

func printRetention(out io.Writer, goes string, tables []retention.Table) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "table\t%s\tstays although old\twhy\n", goes)
	for _, t := range tables {
		fmt.Fprintf(w, "%s\t%d", t.Name, t.Goes)
		if len(t.Stays) == 0 {
			fmt.Fprint(w, "\t0\t")
		}
		for i, s := range t.Stays {
			if i > 0 {
				fmt.Fprint(w, "\n\t")
			}
			fmt.Fprintf(w, "\t%d\t%s", s.Rows, s.Why)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
