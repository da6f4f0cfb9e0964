// Package jobs is transport between due rows and the domain: the relay makes River jobs of rows, workers call one domain
// function each. The row is the truth; a job that is lost, repeated or deleted changes nothing (DESIGN rule 8).
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/retention"
	"onefold/domain/store"
)

// Config of the workers. Zero durations mean the defaults named here.
type Config struct {
	Lease   time.Duration // how long a dispatched row isn't dispatched again; default 60 s
	Workers int           // jobs at a time in each queue; 0 runs only the relay
	Expire  time.Duration // how long an order waits for its payment; default 24 h
	Logger  *slog.Logger

	Retention retention.Config // how long what has ended is kept
	Alarms    Alarms
	Monitor   time.Duration                                    // between two looks at the invariants; 0 means invariant.MonitorEvery
	Step      func(ctx context.Context, batch uuid.UUID) error // carries on an operator's batch; nil dispatches none

	Skew time.Duration // tests only: how far this process's clock is ahead
}

// Jobs runs River and the relay in this process.
type Jobs struct {
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	executor *operation.Executor
	applier  *payment.Applier
	cfg      Config
	wake     chan struct{}
}

// New prepares workers. Nothing runs before Run.
func New(pool *pgxpool.Pool, executor *operation.Executor, applier *payment.Applier, cfg Config) (*Jobs, error) {
	if cfg.Lease == 0 {
		cfg.Lease = time.Minute
	}
	if cfg.Expire == 0 {
		cfg.Expire = 24 * time.Hour
	}
	j := &Jobs{pool: pool, executor: executor, applier: applier, cfg: cfg, wake: make(chan struct{}, 1)}
	workers := river.NewWorkers()
	river.AddWorker(workers, &operationWorker[CreatePaymentJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[WatchPaymentJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[CancelOrderJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[ExpireOrderJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[CreateRefundJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[RefundOrphanJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[ReverseEffectsJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[SettlePaymentJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[IssueLicensesJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[AccrueBonusJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[ShipParcelJob]{jobs: j})
	river.AddWorker(workers, &operationWorker[SendNotificationJob]{jobs: j})
	river.AddWorker(workers, &applyEventWorker{jobs: j})
	river.AddWorker(workers, &runBatchWorker{jobs: j})
	river.AddWorker(workers, &sendAlertWorker{jobs: j})
	river.AddWorker(workers, &monitorWorker{jobs: j})
	queues := map[string]river.QueueConfig{}
	for _, name := range []string{queuePayments, queueWebhooks, queueFulfilment, queueDelivery, queueNotify, queueConsole} {
		if cfg.Workers == 0 {
			break
		}
		queues[name] = river.QueueConfig{MaxWorkers: cfg.Workers, FetchCooldown: 20 * time.Millisecond, FetchPollInterval: time.Second}
	}
	if cfg.Workers > 0 {
		queues[queueMonitor] = river.QueueConfig{MaxWorkers: 1}
	}
	settings := &river.Config{
		Queues: queues, Workers: workers, PeriodicJobs: monitoring(cfg.Monitor), Logger: cfg.Logger, Middleware: []rivertype.Middleware{river.JobInsertMiddlewareFunc(j.backdate)},
		// A try is bounded by the operation's lease, not by River: a job that hangs is given up well before its row is due again.
		JobTimeout: cfg.Lease / 2, RescueStuckJobsAfter: max(2*cfg.Lease, time.Minute),
		// The row is due again anyway, so River need not insist.
		MaxAttempts:                 3,
		CompletedJobRetentionPeriod: 24 * time.Hour,
		ReindexerSchedule:           river.NeverSchedule(), // this pool's statement_timeout would leave half-built indexes behind
		SoftStopTimeout:             20 * time.Second,
	}
	if cfg.Skew != 0 {
		settings.Test.Time = skewed(cfg.Skew)
	}
	client, err := river.NewClient(riverpgxv5.New(pool), settings)
	if err != nil {
		return nil, fmt.Errorf("set up River: %w", err)
	}
	j.client = client
	return j, nil
}

// Client is River's client, for the operator's job pages.
func (j *Jobs) Client() *river.Client[pgx.Tx] { return j.client }

// Wake tells the relay that something became due; it never blocks. Without it the relay finds out within 50 ms.
func (j *Jobs) Wake() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, then lets running jobs finish (at most 20 s).
func (j *Jobs) Run(ctx context.Context) error {
	var cleaning sync.WaitGroup
	cleaning.Go(func() { j.clean(ctx, cleanEvery) })
	cleaning.Go(func() { j.lookout(ctx) })
	cleaning.Go(func() { j.reconcile(ctx) })
	defer cleaning.Wait()
	if j.cfg.Workers == 0 {
		j.relay(ctx)
		return nil
	}
	if err := j.start(ctx); err != nil {
		return err
	}
	j.relay(ctx)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := j.client.Stop(stop); err != nil {
		return fmt.Errorf("stop River: %w", err)
	}
	return nil
}

// start waits for a database that is away; whatever else is wrong is an error. If ctx ends meanwhile, nothing was started.
func (j *Jobs) start(ctx context.Context) error {
	for waits := 0; ; waits++ {
		err := j.client.Start(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		if !store.IsTransient(err) {
			return fmt.Errorf("start River: %w", err)
		}
		if waits == 0 {
			j.cfg.Logger.LogAttrs(ctx, slog.LevelError, "workers wait for the database", slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (j *Jobs) execute(ctx context.Context, id uuid.UUID) error {
	err := j.executor.Execute(ctx, id)
	j.Wake() // what was learned may have made something else due
	return err
}
