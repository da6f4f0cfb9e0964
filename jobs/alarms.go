package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"onefold/domain/alarm"
	"onefold/domain/store"
)

// Alarms is how people are told of what goes wrong. Without a Teller nobody is, and nothing is counted for the charts.
type Alarms struct {
	Teller *alarm.Teller
	Limits alarm.Limits
	Every  time.Duration // between two looks; 0 means alarm.Every
}

// SendAlertJob tells one channel of one transition of an alarm.
type SendAlertJob struct {
	HistoryID uuid.UUID `json:"history_id"`
	Channel   string    `json:"channel"`
}

// Kind is River's name of the job.
func (SendAlertJob) Kind() string { return "send_alert" }

type sendAlertWorker struct {
	river.WorkerDefaults[SendAlertJob]
	jobs *Jobs
}

// Work sends the alert unless it has been sent. What failed is in the log and in the row, which is due again by itself: a failed job
// would be an alarm of its own.
func (w *sendAlertWorker) Work(ctx context.Context, job *river.Job[SendAlertJob]) error {
	ctx = w.jobs.context(ctx, job.ID, job.Metadata, slog.String("alert_id", job.Args.HistoryID.String()), slog.String("channel", job.Args.Channel))
	_ = w.jobs.logged(ctx, job.Kind, job.Attempt, func() error {
		return w.jobs.cfg.Alarms.Teller.Tell(ctx, alarm.Delivery{HistoryID: job.Args.HistoryID, Channel: job.Args.Channel})
	})
	return nil
}

// lookoutEvery is how often a process asks whether a look, a reading of the journal or a delivery is due.
const lookoutEvery = time.Second

// lookout looks after alarms and counters until ctx ends. Any number of processes may: each thing is done by whoever finds it due.
func (j *Jobs) lookout(ctx context.Context) {
	if j.cfg.Alarms.Teller == nil {
		return
	}
	pause := time.NewTicker(lookoutEvery)
	defer pause.Stop()
	watcher := alarm.Watcher{DB: j.pool, Limits: j.cfg.Alarms.Limits, Channels: j.cfg.Alarms.Teller.Channels(), Every: j.cfg.Alarms.Every}
	failing := ""
	for {
		failure := ""
		for what, do := range map[string]func(context.Context) error{
			"alarms": func(ctx context.Context) error { return watch(ctx, j.pool, watcher) }, "rollup": j.rollup, "alerts": j.tell,
		} {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				failure = what + ": " + err.Error()
			}
		}
		if failure != "" && failing == "" { // once, not every second
			j.cfg.Logger.LogAttrs(ctx, slog.LevelError, "lookout failed; retrying", slog.String("error", failure))
		}
		failing = failure
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

func watch(ctx context.Context, db store.DB, w alarm.Watcher) error {
	ran, err := w.Watch(ctx)
	if err != nil || !ran {
		return err
	}
	return alarm.Sweep(ctx, db)
}

// rollup reads on in the journal, as far as it is worth at once.
func (j *Jobs) rollup(ctx context.Context) error {
	every := alarm.RollupEvery
	for {
		more, err := alarm.Rollup(ctx, j.pool, every)
		if err != nil || !more {
			return err
		}
		every = 0
	}
}

// tell makes jobs of the deliveries that are due.
func (j *Jobs) tell(ctx context.Context) error {
	return store.InTx(ctx, j.pool, func(tx pgx.Tx) error {
		due, err := alarm.TakeDue(ctx, tx, batchSize)
		if err != nil {
			return err
		}
		params := make([]river.InsertManyParams, len(due))
		for i, d := range due {
			params[i] = river.InsertManyParams{Args: SendAlertJob{HistoryID: d.HistoryID, Channel: d.Channel}, InsertOpts: options(queueNotify, "")}
		}
		return j.insert(ctx, tx, params)
	})
}
