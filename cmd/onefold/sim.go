package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"onefold/domain/provider/simulator"
)

type simCmd struct {
	SimAddr   string `env:"ONEFOLD_SIM_ADDR" default:"127.0.0.1:8081" help:"Where the simulator listens."`
	SMTPAddr  string `name:"smtp-addr" env:"ONEFOLD_SMTP_ADDR" default:"127.0.0.1:8025" help:"Where its mail sink listens."`
	Data      string `env:"ONEFOLD_DATA" default:".onefold" help:"Folder of the ledger."`
	Webhook   string `env:"ONEFOLD_SIM_WEBHOOK_URL" default:"http://127.0.0.1:8080/webhooks/sim" help:"Where events are sent."`
	Secret    secret `name:"webhook-secret" env:"ONEFOLD_WEBHOOK_SECRET" required:"" help:"Signs the events."`
	LogFormat string `env:"ONEFOLD_LOG_FORMAT" default:"json" enum:"json,text" help:"Log lines on standard error (${enum})."`
}

// Run simulates until it is told to stop.
func (c *simCmd) Run(ctx context.Context) error {
	log, err := newLogger(os.Stderr, c.LogFormat, "info")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	web, err := listen(ctx, "--sim-addr (ONEFOLD_SIM_ADDR)", c.SimAddr)
	if err != nil {
		return err
	}
	mail, err := listen(ctx, "--smtp-addr (ONEFOLD_SMTP_ADDR)", c.SMTPAddr)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "simulating", "addr", web.Addr().String(), "smtp", mail.Addr().String())
	return simulate(ctx, web, mail, c.Data, c.Webhook, string(c.Secret), log)
}

// simulate serves the provider on web and its mail sink on mail until ctx ends.
func simulate(ctx context.Context, web, mail net.Listener, data, webhook, secret string, log *slog.Logger) error {
	sim, err := simulator.Open(simulator.Config{
		DataFile: filepath.Join(data, "simulator.db"), WebhookURL: webhook, Secret: secret, PublicURL: "http://" + web.Addr().String(), Logger: log,
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: sim.Handler(), ReadHeaderTimeout: 10 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(web); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve simulator: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if err := sim.ServeSMTP(mail); err != nil && ctx.Err() == nil {
			return fmt.Errorf("serve mail sink: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		sim.Run(ctx)
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		closed := sim.Close() // first: it ends hanging answers
		_ = mail.Close()      // a close that comes before the sink began to accept knows nothing of its listener
		return errors.Join(server.Shutdown(stop), closed)
	})
	return group.Wait()
}
