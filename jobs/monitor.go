package jobs

import (
	"cmp"
	"context"
	"time"

	"github.com/riverqueue/river"

	"onefold/domain/invariant"
)

// queueMonitor has one worker per process: what it runs may take a while and must not hold up anything else.
const queueMonitor = "monitor"

// MonitorInvariantsJob looks for violations of the invariants.
type MonitorInvariantsJob struct{}

// Kind is River's name of the job.
func (MonitorInvariantsJob) Kind() string { return "monitor_invariants" }

type monitorWorker struct {
	river.WorkerDefaults[MonitorInvariantsJob]
	jobs *Jobs
}

// Timeout lets a look at big tables take its time: each query has a limit of its own.
func (*monitorWorker) Timeout(*river.Job[MonitorInvariantsJob]) time.Duration {
	return 10 * time.Minute
}

// Work looks once. A run that another is at does nothing, and one that fails isn't repeated: the next one comes anyway.
func (w *monitorWorker) Work(ctx context.Context, job *river.Job[MonitorInvariantsJob]) error {
	ctx = w.jobs.context(ctx, job.ID, job.Metadata)
	err := w.jobs.logged(ctx, job.Kind, job.Attempt, func() error {
		return invariant.Monitor(ctx, w.jobs.pool, invariant.Config{Lease: w.jobs.cfg.Lease})
	})
	if err != nil {
		return river.JobCancel(err)
	}
	return nil
}

// monitoring makes River's leader insert the job every so often, the first time at once.
func monitoring(every time.Duration) []*river.PeriodicJob {
	return []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(cmp.Or(every, invariant.MonitorEvery)), func() (river.JobArgs, *river.InsertOpts) {
		return MonitorInvariantsJob{}, &river.InsertOpts{Queue: queueMonitor, MaxAttempts: 1}
	}, &river.PeriodicJobOpts{RunOnStart: true})}
}
