package web

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"onefold/domain/alarm"
)

// latency counts answers by how long they took, for the console's chart; Prometheus has its own.
type latency struct {
	mu     sync.Mutex
	counts [len(bounds)]int64
}

// bounds in milliseconds; the last takes all that is slower.
var bounds = [...]int{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000} //nolint:gochecknoglobals // a table

func (l *latency) add(elapsed time.Duration) {
	i := 0
	for i < len(bounds)-1 && elapsed > time.Duration(bounds[i])*time.Millisecond {
		i++
	}
	l.mu.Lock()
	l.counts[i]++
	l.mu.Unlock()
}

// take returns what was counted since the last time, by bound.
func (l *latency) take() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := map[string]int64{}
	for i, n := range l.counts {
		if n > 0 {
			taken[strconv.Itoa(bounds[i])] = n
		}
	}
	l.counts = [len(bounds)]int64{}
	return taken
}

// background says that nobody waits for a route's answer with their eyes or their client.
func background(route string) bool {
	for _, prefix := range []string{"/assets/", "/healthz", "/readyz", "/metrics", "/console/stream", "/console/river"} {
		if strings.HasPrefix(route, prefix) {
			return true
		}
	}
	return false
}

// reportEvery is the pause between two reports.
const reportEvery = 15 * time.Second

// Report adds this process's times to answer to the console's counters until ctx ends. A report that fails is lost: charts may miss
// a quarter of a minute.
func (h *Handlers) Report(ctx context.Context) {
	pause := time.NewTicker(reportEvery)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		taken := h.Metrics.latency.take()
		if len(taken) == 0 {
			continue
		}
		if err := alarm.AddLatency(ctx, h.DB, taken); err != nil && ctx.Err() == nil {
			h.Logger.LogAttrs(ctx, slog.LevelWarn, "times not reported", slog.String("error", err.Error()))
		}
	}
}
