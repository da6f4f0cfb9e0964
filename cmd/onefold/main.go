// Command onefold is the whole product: shop, console, workers and, for demos and tests, its own Postgres and a payment
// provider simulator. One file per subcommand; this package is the only place that builds things.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the Makefile.
var version = "dev"

type cli struct {
	Demo      demoCmd      `cmd:"" help:"Embedded Postgres, migrations, demo data, provider simulator, web and workers in one process."`
	Serve     serveCmd     `cmd:"" help:"Web, workers or both, against DATABASE_URL."`
	Sim       simCmd       `cmd:"" help:"Only the provider simulator."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the schema and River's schema up or down, or show where it is."`
	Check     checkCmd     `cmd:"" help:"Prove the invariants on the database. Exit 1 if one is violated."`
	Drill     drillCmd     `cmd:"" help:"Run the seed scenarios live against the running demo. Exit 1 if one fails."`
	Seed      seedCmd      `cmd:"" help:"Fill an empty or a demo's database with history, to try things out at scale."`
	Retention retentionCmd `cmd:"" help:"Remove what is old and finished, as the workers do every hour; --dry-run only says what would go."`
	Token     tokenCmd     `cmd:"" help:"API tokens."`
	User      userCmd      `cmd:"" help:"People."`

	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "onefold:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string) error {
	var c cli
	parser, err := kong.New(&c, kong.Name("onefold"), kong.Vars{"version": version}, kong.UsageOnError(),
		kong.Description("N technical retries of one business intent give exactly one business result."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return fmt.Errorf("build command line: %w", err)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return command.Run()
}
