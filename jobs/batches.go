package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"onefold/domain/operator"
)

// RunBatchJob does the next step of an operator's batch.
type RunBatchJob struct {
	BatchID uuid.UUID `json:"batch_id"`
}

// Kind is River's name of the job.
func (RunBatchJob) Kind() string { return "run_batch" }

type runBatchWorker struct {
	river.WorkerDefaults[RunBatchJob]
	jobs *Jobs
}

// Work presses the next things of the batch; its row is due again as long as things wait.
func (w *runBatchWorker) Work(ctx context.Context, job *river.Job[RunBatchJob]) error {
	ctx = w.jobs.context(ctx, job.ID, job.Metadata, slog.String("batch_id", job.Args.BatchID.String()))
	return w.jobs.logged(ctx, job.Kind, job.Attempt, func() error { return w.jobs.cfg.Step(ctx, job.Args.BatchID) })
}

func (j *Jobs) dispatchBatches(ctx context.Context, tx pgx.Tx) (int, error) {
	if j.cfg.Step == nil {
		return 0, nil
	}
	due, err := operator.TakeDue(ctx, tx, j.cfg.Lease)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	params := make([]river.InsertManyParams, len(due))
	for i, d := range due {
		params[i] = river.InsertManyParams{Args: RunBatchJob{BatchID: d.ID}, InsertOpts: options(queueConsole, d.Trace)}
	}
	return len(due), j.insert(ctx, tx, params)
}

// Retry makes a job that has ended or waits run as soon as a worker is free (operator.Jobs).
func (j *Jobs) Retry(ctx context.Context, tx pgx.Tx, id int64) error {
	if _, err := j.client.JobRetryTx(ctx, tx, id); err != nil {
		return fmt.Errorf("retry job: %w", err)
	}
	return nil
}

// Cancel gives up a job that hasn't begun (operator.Jobs). Its row is due again at its time.
func (j *Jobs) Cancel(ctx context.Context, tx pgx.Tx, id int64) error {
	if _, err := j.client.JobCancelTx(ctx, tx, id); err != nil {
		return fmt.Errorf("cancel job: %w", err)
	}
	return nil
}

var _ operator.Jobs = (*Jobs)(nil)
