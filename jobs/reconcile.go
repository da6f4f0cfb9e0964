package jobs

import (
	"context"
	"log/slog"
	"time"

	"onefold/domain/reconcile"
)

const (
	recordEvery   = 250 * time.Millisecond // a person waits for the answers of a run
	scheduleEvery = time.Minute            // how often it is looked whether the hour's run has begun
)

// reconcile writes down what open runs have learned, and begins the hourly run over everything unknown, until ctx ends. What it
// misses it finds the next time.
func (j *Jobs) reconcile(ctx context.Context) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	var began time.Time
	for {
		_, err := reconcile.Record(ctx, j.pool)
		if err == nil && time.Since(began) > scheduleEvery {
			if err = reconcile.RunScheduled(ctx, j.pool); err == nil {
				began = time.Now()
			}
		}
		if err != nil && ctx.Err() == nil {
			j.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "reconciliation waits", slog.String("error", err.Error()))
			select {
			case <-ctx.Done():
			case <-time.After(scheduleEvery / 12):
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
