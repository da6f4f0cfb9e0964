package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"onefold/cmd/onefold/drills"
	"onefold/domain/account"
	"onefold/domain/store"
	"onefold/web"
)

type drillCmd struct {
	Names    []string `arg:"" optional:"" name:"name" help:"Drills to run; all by default."`
	Data     string   `env:"ONEFOLD_DATA" default:".onefold" help:"Folder of the running demo."`
	Provider string   `env:"ONEFOLD_PROVIDER" default:"sim" enum:"sim,stripe,yookassa" help:"Drills refuse to run unless it is sim."`
	JSON     bool     `help:"Print JSON."`
}

// Run runs the drills one after another and fails if one fails.
func (c *drillCmd) Run(ctx context.Context) error {
	if c.Provider != "sim" {
		return fmt.Errorf("--provider (ONEFOLD_PROVIDER) is %s: drills never run against a live provider", c.Provider)
	}
	demo, err := readDemoFile(c.Data)
	if err != nil {
		return fmt.Errorf("drills need a running demo: %w", err)
	}
	pool, err := store.Open(ctx, demo.DatabaseURL, store.Options{Name: "onefold drill"})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := onlySimulated(ctx, pool); err != nil {
		return err
	}
	results, err := drills.Run(ctx, drills.Shop{Web: demo.Web, Sim: demo.Sim, Token: demo.Users[0].APIToken, DB: pool}, c.Names)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(results)
	} else {
		err = printDrills(os.Stdout, results)
	}
	if err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	for _, r := range results {
		if !r.OK {
			return errors.New("a drill failed")
		}
	}
	return nil
}

// onlySimulated refuses a database in which a live provider has ever been used.
func onlySimulated(ctx context.Context, q store.Querier) error {
	live, err := liveProvider(ctx, q)
	if err == nil && live != "" {
		err = fmt.Errorf("this database has payments of %s: drills never run against a live provider", live)
	}
	return err
}

// liveProvider names a provider that has ever been used besides the simulator; "" if there is none.
func liveProvider(ctx context.Context, q store.Querier) (live string, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce((SELECT provider FROM payments WHERE provider <> 'sim' LIMIT 1), '')`).Scan(&live)
	if err != nil {
		return "", fmt.Errorf("look for live payments: %w", err)
	}
	return live, nil
}

// drills are those of the console. They buy from this very process.
func (s *server) drills() *web.Drills {
	return &web.Drills{
		Names: drills.Names(),
		Refused: func(ctx context.Context) (string, error) {
			if s.cfg.Environment == "PROD" {
				return "environment", nil
			}
			live, err := liveProvider(ctx, s.pool)
			if err == nil && (live != "" || s.cfg.Provider != "sim") {
				return "live", nil
			}
			return "", err
		},
		Run: s.drill,
	}
}

func (s *server) drill(ctx context.Context, name string, watch func(step string)) web.DrillResult {
	token, err := account.DrillToken(ctx, s.pool, []byte(s.cfg.SessionKey))
	if err != nil {
		return web.DrillResult{Error: err.Error()}
	}
	results, err := drills.Run(ctx, drills.Shop{Web: "http://" + s.cfg.Addr, Sim: s.cfg.SimURL, Token: token, DB: s.pool, Watch: watch}, []string{name})
	if err != nil || len(results) != 1 {
		return web.DrillResult{Error: fmt.Sprint("the drill couldn't be run: ", err)}
	}
	r := results[0]
	return web.DrillResult{
		OK: r.OK, Sent: r.Sent, Absorbed: r.Absorbed, Error: r.Error, Tries: r.Calls, Want: r.Want, Orders: r.Orders,
		Counts: []web.DrillCount{
			{Kind: "orders", N: r.Counts.Orders},
			{Kind: "charges", N: r.Counts.Charges},
			{Kind: "licenses", N: r.Counts.Licenses},
			{Kind: "bonuses", N: r.Counts.Bonuses},
			{Kind: "mails", N: r.Counts.Mails},
		},
	}
}

func printDrills(out io.Writer, results []drills.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "drill\t\tsent\tabsorbed\torders\tcharges\tlicences\tbonuses\tmails")
	for _, r := range results {
		state := "ok"
		if !r.OK {
			state = "FAILED"
		}
		c := r.Counts
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", r.Name, state, r.Sent, r.Absorbed, c.Orders, c.Charges, c.Licenses, c.Bonuses, c.Mails)
		if r.Error != "" {
			fmt.Fprintf(w, "\t%s\n", r.Error)
		}
	}
	return w.Flush()
}
