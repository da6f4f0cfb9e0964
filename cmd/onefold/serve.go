package main

import (
	"context"
	"errors"
	"net"
	"os"
)

type serveCmd struct {
	database
	config
	Web  bool `help:"Serve the web."`
	Work bool `help:"Run the workers. Neither flag means both."`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(ctx context.Context) error {
	if !c.Web && !c.Work {
		c.Web, c.Work = true, true
	}
	log, err := newLogger(os.Stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	var listener net.Listener
	if c.Web {
		if listener, err = listen(ctx, "--addr (ONEFOLD_ADDR)", c.Addr); err != nil {
			return err
		}
		c.Addr = listener.Addr().String()
	}
	c.complete()
	if err := c.validate(); err != nil {
		return err
	}
	if c.DatabaseURL == "" {
		return errors.New("--database-url (DATABASE_URL) is required")
	}
	s, err := newServer(ctx, c.DatabaseURL, c.config, log, c.Work)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "serving", "web", c.Web, "work", c.Work, "addr", c.Addr)
	return s.run(ctx, listener, c.Work)
}

// complete derives the addresses that weren't given.
func (c *config) complete() {
	if c.PublicURL == "" {
		c.PublicURL = "http://" + c.Addr
	}
	if c.SimURL == "" {
		c.SimURL = "http://" + c.SimAddr
	}
}
