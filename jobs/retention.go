package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"onefold/domain/retention"
)

// cleanEvery is the pause between two runs of retention, ± 10 % so that processes don't fall into step. The first comes after at
// most half of it: processes that are started together share the work, and one that is restarted often gets to it, too.
const cleanEvery = time.Hour

// clean removes what is no longer kept, now and then until ctx ends. Any number of processes may do it: rows that one holds are
// stepped over by the others.
func (j *Jobs) clean(ctx context.Context, every time.Duration) {
	pause := time.NewTimer(time.Duration(float64(every) * (0.05 + 0.45*rand.Float64()))) //nolint:gosec // jitter, not a secret
	defer pause.Stop()
	j.foresee(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		j.cleanOnce(ctx)
		j.foresee(ctx)
		pause.Reset(time.Duration(float64(every) * (0.9 + 0.2*rand.Float64()))) //nolint:gosec // jitter, not a secret
	}
}

// foresee keeps what the next run would remove, for the console.
func (j *Jobs) foresee(ctx context.Context) {
	if err := retention.Foresee(ctx, j.pool, j.cfg.Retention); err != nil && ctx.Err() == nil {
		j.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "retention not foreseen", slog.String("error", err.Error()))
	}
}

func (j *Jobs) cleanOnce(ctx context.Context) {
	tables, err := retention.Run(ctx, j.pool, j.cfg.Retention)
	switch {
	case err != nil && ctx.Err() == nil:
		j.cfg.Logger.LogAttrs(ctx, slog.LevelError, "retention failed; the next run goes on", slog.String("error", err.Error()))
	case err == nil:
		attrs := make([]slog.Attr, len(tables))
		for i, t := range tables {
			attrs[i] = slog.Int64(t.Name, t.Goes)
		}
		j.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "retention", attrs...)
	}
}
