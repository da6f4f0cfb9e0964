package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
)

// ApplyEventJob applies one inbox row.
type ApplyEventJob struct {
	IncomingEventID uuid.UUID `json:"incoming_event_id"`
}

// Kind is River's name of the job.
func (ApplyEventJob) Kind() string { return "apply_event" }

type applyEventWorker struct {
	river.WorkerDefaults[ApplyEventJob]
	jobs *Jobs
}

// Work applies the event and wakes the relay for what follows from it.
func (w *applyEventWorker) Work(ctx context.Context, job *river.Job[ApplyEventJob]) error {
	ctx = w.jobs.context(ctx, job.ID, job.Metadata, slog.String("incoming_event_id", job.Args.IncomingEventID.String()))
	return w.jobs.logged(ctx, job.Kind, job.Attempt, func() error {
		err := w.jobs.applier.Apply(ctx, job.Args.IncomingEventID)
		w.jobs.Wake()
		return err
	})
}

// logged writes the one line of a job.
func (j *Jobs) logged(ctx context.Context, kind string, attempt int, work func() error) error {
	start := time.Now()
	err := work()
	attrs := []slog.Attr{
		slog.String("kind", kind), slog.Int("attempt", attempt), slog.Float64("ms", float64(time.Since(start).Microseconds())/1000),
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	j.cfg.Logger.LogAttrs(ctx, level, "job", attrs...)
	return err
}

type metadata struct {
	TraceID string `json:"trace_id"`
}

func traceOf(raw []byte) string {
	var m metadata
	_ = json.Unmarshal(raw, &m)
	return m.TraceID
}
