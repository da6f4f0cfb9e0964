package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
	"riverqueue.com/riverui"

	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/checkout"
	"onefold/domain/crash"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/operator"
	"onefold/domain/payment"
	"onefold/domain/provider"
	"onefold/domain/provider/sim"
	"onefold/domain/provider/smtp"
	"onefold/domain/refund"
	"onefold/domain/store"
	"onefold/jobs"
	"onefold/jobs/riverschema"
	"onefold/static"
	"onefold/web"
)

// server is what one process runs: web, workers or both.
type server struct {
	cfg config
	log *slog.Logger
	// Three pools, so that none of these can starve the others: commands that queue for a hot row, what people read, and work.
	pool, commands, work *pgxpool.Pool
	jobs                 *jobs.Jobs
	desk                 *operator.Desk
	sim                  *sim.Client
	web                  *fiber.App
	handlers             *web.Handlers
}

// A request waits twinWait for an equal one that runs, and commandWait for rows that others hold: a twin must be told to come
// back well before the first gives up, or it would take the first's place and wait again.
const (
	twinWait    = 2 * time.Second
	commandWait = 7 * time.Second
)

func newServer(ctx context.Context, databaseURL string, cfg config, log *slog.Logger, doWork bool) (*server, error) {
	s := &server{cfg: cfg, log: log}
	var err error
	if s.pool, err = store.Open(ctx, databaseURL, store.Options{MaxConns: max(cfg.MaxConns/2, 4), Name: "onefold reads"}); err != nil {
		return nil, err
	}
	if s.commands, err = store.Open(ctx, databaseURL, store.Options{MaxConns: cfg.MaxConns, LockTimeout: commandWait, Name: "onefold commands"}); err != nil {
		return nil, err
	}
	if s.work, err = store.Open(ctx, databaseURL, store.Options{MaxConns: cfg.MaxConns, Name: "onefold work"}); err != nil {
		return nil, err
	}
	s.sim = sim.New(sim.Config{BaseURL: cfg.SimURL, Secrets: cfg.webhookSecrets()})
	wake := func() {}
	if doWork {
		wake = func() { s.jobs.Wake() }
	}
	if err := s.newDesk(wake); err != nil {
		return nil, err
	}
	if s.jobs, err = s.newJobs(); err != nil {
		return nil, err
	}
	s.desk.Jobs = s.jobs
	s.web, err = s.newWeb(ctx, wake)
	return s, err
}

// newDesk is where shoppers' and operators' commands are decided.
func (s *server) newDesk(wake func()) error {
	limits, err := s.cfg.refundLimits()
	if err != nil {
		return err
	}
	run := &operation.Runner{DB: s.commands, Retention: s.cfg.Retention, Wait: twinWait}
	s.desk = &operator.Desk{
		Operations: run, Limits: limits, Wake: wake,
		Checkout: &checkout.Desk{Operations: run, Provider: s.sim.Name(), Wake: wake},
	}
	return nil
}

func (s *server) newJobs() (*jobs.Jobs, error) {
	mailer, err := smtp.New(smtp.Config{Addr: s.cfg.SMTPAddr, From: s.cfg.MailFrom, Username: s.cfg.SMTPUser, Password: string(s.cfg.SMTPPassword)})
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	executor := &operation.Executor{
		DB: s.work, Lease: s.cfg.Lease, Owner: fmt.Sprintf("%s/%d", host, os.Getpid()),
		Handlers: handlers(s.sim, s.sim, mailer, s.cfg.PublicURL, s.cfg.Retention),
	}
	applier := &payment.Applier{DB: s.work, Providers: s.providers(), Refunds: refund.Apply, Shipments: fulfilment.ApplyShipment}
	kept, err := s.cfg.policy()
	if err != nil {
		return nil, err
	}
	alarms, err := s.alarms(mailer)
	if err != nil {
		return nil, err
	}
	return jobs.New(s.work, executor, applier, jobs.Config{
		Alarms: alarms, Monitor: s.cfg.MonitorEvery, Step: s.desk.Step,
		Lease: s.cfg.Lease, Workers: s.cfg.Workers, Expire: s.cfg.OrderTTL, Logger: s.log, Retention: kept, Skew: crash.Skew(),
	})
}

func (s *server) providers() map[string]provider.Payments {
	return map[string]provider.Payments{s.sim.Name(): s.sim}
}

func (s *server) newWeb(ctx context.Context, wake func()) (*fiber.App, error) {
	path.ResolveAssets(static.Path)
	river, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(s.jobs.Client(), nil), Logger: s.log, Prefix: path.ConsoleRiver(), JobListHideArgsByDefault: true,
	})
	if err != nil {
		return nil, fmt.Errorf("set up job pages: %w", err)
	}
	if err := river.Start(ctx); err != nil {
		return nil, fmt.Errorf("start job pages: %w", err)
	}
	limits, err := s.cfg.limits()
	if err != nil {
		return nil, err
	}
	s.handlers = &web.Handlers{
		Limits: limits, Drills: s.drills(), Done: ctx.Done(),
		Config: web.Config{
			PublicURL: s.cfg.PublicURL, PayOrigins: []string{s.cfg.SimURL}, Environment: s.cfg.Environment, SessionKey: []byte(s.cfg.SessionKey),
			Retention: s.cfg.Retention, OrderTTL: s.cfg.OrderTTL, Logger: s.log,
		},
		DB:   s.pool,
		Desk: s.desk.Checkout, Operator: s.desk,
		Tokens: account.NewTokens(s.pool, now), Providers: s.providers(), Wake: wake, Ready: s.ready, River: river,
		Metrics: web.NewMetrics(), Now: now,
	}
	return web.New(s.handlers), nil //nolint:contextcheck // requests have contexts of their own
}

// now is this process's clock. It may be wrong: leases and schedules go by the database's.
func now() time.Time { return time.Now().Add(crash.Skew()) }

// ready says whether the database is there and migrated.
func (s *server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	current, err := store.MigrationsCurrent(ctx, s.pool)
	if err == nil && current {
		current, err = riverschema.Current(ctx, s.pool)
	}
	if err == nil && current {
		return nil
	}
	message := "The database can't be reached."
	if err == nil {
		message = "The database's schema is older than this program."
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "TEMPORARILY_UNAVAILABLE", Message: message, Err: err}
}

// stopWithin is how long requests in flight may take at the end; each is bounded by its own limits anyway.
const stopWithin = 5 * time.Second

// run serves until ctx ends. The order of the end: no new requests, jobs finish, connections close.
func (s *server) run(ctx context.Context, listener net.Listener, doWork bool) error {
	group, ctx := errgroup.WithContext(ctx)
	if listener != nil {
		group.Go(func() error {
			if err := s.web.Listener(listener); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve web: %w", err)
			}
			return nil
		})
		group.Go(func() error { s.handlers.Report(ctx); return nil })
		group.Go(func() error {
			<-ctx.Done()
			err := s.web.ShutdownWithTimeout(stopWithin)
			_ = listener.Close() // a shutdown that comes before the server began to accept knows nothing of its listener
			if errors.Is(err, context.DeadlineExceeded) {
				return nil // what is still open has sent no request: a browser's spare sockets
			}
			return err
		})
	}
	if doWork {
		group.Go(func() error { return s.jobs.Run(ctx) })
	}
	err := group.Wait()
	s.pool.Close()
	s.commands.Close()
	s.work.Close()
	return err
}

// listen names the setting that an unusable address comes from.
func listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: listen on %s: %w", setting, addr, err)
	}
	return l, nil
}
