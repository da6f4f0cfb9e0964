package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"onefold/domain/money"
	"onefold/domain/retention"
	"onefold/domain/store"
)

// database is what every command needs that talks to Postgres.
type database struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" placeholder:"postgres://…" help:"Postgres to work on; without it, that of the demo in ONEFOLD_DATA."`
	DemoData    string `name:"data" env:"ONEFOLD_DATA" default:".onefold" help:"Folder of the demo."`
}

// url is DATABASE_URL or, next to a running demo, the demo's.
func (d database) url() (string, error) {
	if d.DatabaseURL != "" {
		return d.DatabaseURL, nil
	}
	file, err := readDemoFile(d.DemoData)
	if err != nil {
		return "", fmt.Errorf("--database-url (DATABASE_URL) is not set and no demo runs: %w", err)
	}
	return file.DatabaseURL, nil
}

func (d database) open(ctx context.Context, name string) (*pgxpool.Pool, error) {
	address, err := d.url()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, address, store.Options{Name: "onefold " + name})
}

// config holds the settings of web and workers. Each has a flag and an environment variable of the same meaning.
type config struct {
	Addr      string `env:"ONEFOLD_ADDR" default:"127.0.0.1:8080" help:"Where the web listens; port 0 takes a free one."`
	SimAddr   string `env:"ONEFOLD_SIM_ADDR" default:"127.0.0.1:8081" help:"Where the provider simulator listens."`
	Provider  string `env:"ONEFOLD_PROVIDER" default:"sim" enum:"sim,stripe,yookassa" help:"Payment provider of new payments (${enum})."`
	SimURL    string `name:"sim-url" env:"ONEFOLD_SIM_URL" help:"Base address of the simulator; default http:// and sim-addr."`
	PublicURL string `name:"public-url" env:"ONEFOLD_PUBLIC_URL" help:"Scheme and host as browsers see them; default http:// and addr. https makes cookies Secure."`
	keeping
	alerting
	RefundLimits  []string      `name:"refund-limit" env:"ONEFOLD_REFUND_LIMIT" placeholder:"RUB=10000" default:"RUB=100000,USD=1000,EUR=1000,JPY=150000,KWD=300" help:"More than that of one payment goes back only when two people agree; a currency that is not named always takes two."`
	Lease         time.Duration `env:"ONEFOLD_LEASE" default:"60s" help:"How long one try may own an operation."`
	OrderTTL      time.Duration `name:"order-ttl" env:"ONEFOLD_ORDER_TTL" default:"24h" help:"How long an order waits for its payment before it expires."`
	LogFormat     string        `env:"ONEFOLD_LOG_FORMAT" default:"json" enum:"json,text" help:"Log lines on standard error (${enum})."`
	LogLevel      string        `env:"ONEFOLD_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Lowest level that is logged (${enum})."`
	Environment   string        `env:"ONEFOLD_ENVIRONMENT" default:"PROD" help:"The badge of the console."`
	WebhookSecret []secret      `name:"webhook-secret" env:"ONEFOLD_WEBHOOK_SECRET" help:"Secrets that sign the provider's webhooks; several while one is replaced."`
	SessionKey    secret        `name:"session-key" env:"ONEFOLD_SESSION_KEY" help:"Signs form tokens; at least 32 characters."`
	SMTPAddr      string        `name:"smtp-addr" env:"ONEFOLD_SMTP_ADDR" default:"127.0.0.1:8025" help:"Mail server."`
	SMTPUser      string        `name:"smtp-user" env:"ONEFOLD_SMTP_USER" help:"Mail server's user; empty sends without signing in."`
	SMTPPassword  secret        `name:"smtp-password" env:"ONEFOLD_SMTP_PASSWORD" help:"Mail server's password."`
	MailFrom      string        `name:"mail-from" env:"ONEFOLD_MAIL_FROM" default:"orders@onefold.example" help:"Sender of receipts."`
	MaxConns      int32         `name:"max-conns" env:"ONEFOLD_MAX_CONNS" default:"24" help:"Database connections of the web, and again of the workers."`
	Workers       int           `env:"ONEFOLD_WORKERS" default:"16" help:"Jobs at a time in each queue; 0 runs only the relay."`
}

// keeping says how long what has ended is kept.
type keeping struct {
	Retention time.Duration `name:"operation-retention" env:"ONEFOLD_OPERATION_RETENTION" default:"720h" help:"How long a key and its result are kept after the end."`
	Events    time.Duration `name:"event-retention" env:"ONEFOLD_EVENT_RETENTION" default:"2160h" help:"How long a provider's event is kept after it was dealt with."`
	Outbox    time.Duration `name:"outbox-retention" env:"ONEFOLD_OUTBOX_RETENTION" default:"720h" help:"How long an outbox event is kept after its dispatch."`
	Journal   time.Duration `name:"journal-retention" env:"ONEFOLD_JOURNAL_RETENTION" default:"8760h" help:"How long the journal tells of operations and events; of orders and money it does for ever."`
	Guests    time.Duration `name:"guest-retention" env:"ONEFOLD_GUEST_RETENTION" default:"720h" help:"How long a guest's basket is kept that nobody comes back to."`
}

// refundLimits reads the limits into minor units by currency.
func (c *config) refundLimits() (map[string]int64, error) {
	limits := map[string]int64{}
	for _, text := range c.RefundLimits {
		code, number, _ := strings.Cut(text, "=")
		amount, err := money.Parse(strings.TrimSpace(number), strings.TrimSpace(code))
		if err != nil {
			return nil, fmt.Errorf("--refund-limit (ONEFOLD_REFUND_LIMIT): %q must be a currency and an amount, e.g. RUB=10000", text)
		}
		limits[amount.Currency] = amount.Minor
	}
	return limits, nil
}

// policy names the setting that can't be used.
func (k keeping) policy() (retention.Config, error) {
	for _, s := range []struct {
		name string
		kept time.Duration
	}{
		{"--operation-retention (ONEFOLD_OPERATION_RETENTION)", k.Retention},
		{"--event-retention (ONEFOLD_EVENT_RETENTION)", k.Events},
		{"--outbox-retention (ONEFOLD_OUTBOX_RETENTION)", k.Outbox},
		{"--journal-retention (ONEFOLD_JOURNAL_RETENTION)", k.Journal},
		{"--guest-retention (ONEFOLD_GUEST_RETENTION)", k.Guests},
	} {
		if s.kept <= 0 {
			return retention.Config{}, errors.New(s.name + " must be positive")
		}
	}
	return retention.Config{Operations: k.Retention, Events: k.Events, Outbox: k.Outbox, Journal: k.Journal, Guests: k.Guests}, nil
}

// secret never shows its content.
type secret string

// String says only whether there is one.
func (s secret) String() string {
	if s == "" {
		return "unset"
	}
	return "set"
}

// MarshalText keeps the content out of every encoder.
func (s secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil } //nolint:unparam // encoding.TextMarshaler

const minSessionKey = 32

// validate names the setting that can't be used.
func (c *config) validate() error {
	if c.Provider != "sim" {
		return fmt.Errorf("--provider (ONEFOLD_PROVIDER): this version has no adapter for %s yet, only sim", c.Provider)
	}
	if c.Lease < time.Second {
		return errors.New("--lease (ONEFOLD_LEASE) must be at least 1s")
	}
	if c.MaxConns < 1 {
		return errors.New("--max-conns (ONEFOLD_MAX_CONNS) must be at least 1")
	}
	if c.Workers < 0 {
		return errors.New("--workers (ONEFOLD_WORKERS) must not be negative")
	}
	if _, err := c.policy(); err != nil {
		return err
	}
	if _, err := c.refundLimits(); err != nil {
		return err
	}
	if _, err := c.limits(); err != nil {
		return err
	}
	if len(c.SessionKey) < minSessionKey {
		return fmt.Errorf("--session-key (ONEFOLD_SESSION_KEY) needs at least %d characters", minSessionKey)
	}
	if len(c.WebhookSecret) == 0 {
		return errors.New("--webhook-secret (ONEFOLD_WEBHOOK_SECRET) is required")
	}
	for name, value := range map[string]string{"--sim-addr (ONEFOLD_SIM_ADDR)": c.SimAddr, "--smtp-addr (ONEFOLD_SMTP_ADDR)": c.SMTPAddr} {
		if _, _, err := net.SplitHostPort(value); err != nil {
			return fmt.Errorf("%s must look like 127.0.0.1:8081, not %q", name, value)
		}
	}
	if _, err := mail.ParseAddress(c.MailFrom); err != nil {
		return fmt.Errorf("--mail-from (ONEFOLD_MAIL_FROM) must be an e-mail address, not %q", c.MailFrom)
	}
	for name, value := range map[string]string{"--public-url (ONEFOLD_PUBLIC_URL)": c.PublicURL, "--sim-url (ONEFOLD_SIM_URL)": c.SimURL} {
		u, err := url.Parse(value)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("%s must look like https://shop.example, not %q", name, value)
		}
	}
	return nil
}

func (c *config) webhookSecrets() []string {
	out := make([]string, len(c.WebhookSecret))
	for i, s := range c.WebhookSecret {
		out[i] = string(s)
	}
	return out
}
