package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"onefold/domain/account"
	"onefold/domain/catalog"
	"onefold/domain/store"
	"onefold/domain/store/localpg"
	"onefold/jobs/riverschema"
	"onefold/static"
)

type demoCmd struct {
	config
	Data string `env:"ONEFOLD_DATA" default:".onefold" help:"Folder of everything the demo keeps."`
}

// demoFile is demo.json: where everything is, for people and tools on this machine (CONTRACT section 1).
type demoFile struct {
	Web         string             `json:"web"`
	Sim         string             `json:"sim"`
	DatabaseURL string             `json:"databaseUrl"`
	Users       []account.DemoUser `json:"users"`
}

// Run brings everything up in this process and stops it again in the opposite order.
func (c *demoCmd) Run(ctx context.Context) error {
	log, err := newLogger(os.Stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o755); err != nil { //nolint:gosec // the database's user must reach its folder below
		return fmt.Errorf("make data folder: %w", err)
	}
	postgres, err := localpg.Start(ctx, localpg.Config{Dir: filepath.Join(c.Data, "postgres"), Log: log, Owned: c.removeDemoFile})
	if err != nil {
		return err
	}
	err = c.serve(ctx, postgres, log)
	return errors.Join(err, c.removeDemoFile(), postgres.Stop())
}

// removeDemoFile: whoever waits for demo.json must not find one that tells of a demo that ended.
func (c *demoCmd) removeDemoFile() error {
	if err := os.Remove(filepath.Join(c.Data, "demo.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old demo.json: %w", err)
	}
	return nil
}

func (c *demoCmd) serve(ctx context.Context, postgres *localpg.Instance, log *slog.Logger) error {
	ready := filepath.Join(c.Data, "demo.json")
	master, err := masterSecret(filepath.Join(c.Data, "secret"))
	if err != nil {
		return err
	}
	if err := migrate(ctx, postgres.URL()); err != nil {
		return err
	}
	web, err := listen(ctx, "--addr (ONEFOLD_ADDR)", c.Addr)
	if err != nil {
		return err
	}
	provider, err := listen(ctx, "--sim-addr (ONEFOLD_SIM_ADDR)", c.SimAddr)
	if err != nil {
		return err
	}
	mail, err := listen(ctx, "mail sink", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.Addr, c.SimAddr, c.SMTPAddr = web.Addr().String(), provider.Addr().String(), mail.Addr().String()
	c.complete()
	c.WebhookSecret = []secret{secret(derive(master, "webhook"))}
	c.SessionKey, c.Environment = secret(derive(master, "session")), "DEMO"
	if err := c.validate(); err != nil {
		return err
	}
	s, err := newServer(ctx, postgres.URL(), c.config, log, true)
	if err != nil {
		return err
	}
	users, err := seed(ctx, s, master)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return simulate(ctx, provider, mail, c.Data, "http://"+c.Addr+"/webhooks/sim", string(c.WebhookSecret[0]), log)
	})
	group.Go(func() error { return s.run(ctx, web, true) })
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-postgres.Done():
			return errors.New("the embedded Postgres ended")
		}
	})
	file := demoFile{Web: c.PublicURL, Sim: c.SimURL, DatabaseURL: postgres.URL(), Users: users}
	if err := writeDemoFile(ready, file); err != nil {
		return err
	}
	announce(os.Stdout, file, ready)
	return group.Wait()
}

func seed(ctx context.Context, s *server, master []byte) ([]account.DemoUser, error) {
	if err := catalog.SeedDemo(ctx, s.pool); err != nil {
		return nil, err
	}
	return account.SeedDemo(ctx, s.pool, master)
}

func migrate(ctx context.Context, databaseURL string) error {
	if err := store.Migrate(ctx, databaseURL); err != nil {
		return err
	}
	return riverschema.Migrate(ctx, databaseURL)
}

// masterSecret reads or makes the 32 random bytes from which the demo derives its secrets, so that they survive restarts.
func masterSecret(file string) ([]byte, error) {
	if known, err := os.ReadFile(file); err == nil {
		return hex.DecodeString(string(known))
	}
	made := make([]byte, 32)
	_, _ = rand.Read(made) // never fails (crypto/rand)
	if err := os.WriteFile(file, []byte(hex.EncodeToString(made)), 0o600); err != nil {
		return nil, fmt.Errorf("keep demo secret: %w", err)
	}
	return made, nil
}

func derive(master []byte, use string) string {
	mac := hmac.New(sha256.New, master)
	mac.Write([]byte(use))
	return hex.EncodeToString(mac.Sum(nil))
}

// writeDemoFile makes the file appear whole, readable by its owner only.
func writeDemoFile(name string, f demoFile) error {
	out, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write demo.json: %w", err)
	}
	if err := os.WriteFile(name+".new", append(out, '\n'), 0o600); err != nil {
		return fmt.Errorf("write demo.json: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write demo.json: %w", err)
	}
	return nil
}

// readDemoFile reads demo.json of the demo that runs in folder data.
func readDemoFile(data string) (demoFile, error) {
	var f demoFile
	raw, err := os.ReadFile(filepath.Join(data, "demo.json"))
	if err != nil {
		return f, fmt.Errorf("read demo.json: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("read demo.json: %w", err)
	}
	return f, nil
}

func announce(w io.Writer, f demoFile, file string) {
	fmt.Fprintf(w, "\nonefold is ready.\n\n  Shop      %s\n  Console   %s/console\n  Provider  %s (mailbox: %s/mailbox)\n\nSign in as:\n", f.Web, f.Web, f.Sim, f.Sim)
	for _, u := range f.Users {
		fmt.Fprintf(w, "  %-9s %-26s %s\n", u.Role, u.Email, u.Password)
	}
	fmt.Fprintf(w, "\nAPI tokens and the database's address are in %s. Ctrl-C stops everything; the data stays.\n", file)
	if !static.HasScripts() {
		fmt.Fprintln(w, "htmx is not built in (run `make run`): pages work without scripts.")
	}
}
