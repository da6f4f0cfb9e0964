package web

import (
	"sync"
	"time"

	"onefold/domain/fault"
)

// pressesPerMinute is how often one checkout may be sent to one process. People and the page's own retry stay far below.
const pressesPerMinute = 30

// presses counts them in fixed minutes. Repeats are harmless, only not free: the limit is there for pages gone mad.
type presses struct {
	mu     sync.Mutex
	since  time.Time
	counts map[string]int
}

// count returns Unavailable RATE_LIMITED, with the rest of the minute, when a checkout is sent too often.
func (p *presses) count(key string, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.since) >= time.Minute {
		p.since, p.counts = now, map[string]int{}
	}
	p.counts[key]++
	if p.counts[key] <= pressesPerMinute {
		return nil
	}
	limited := fault.New(fault.Unavailable, "RATE_LIMITED", "Too many tries. Wait a little, then send the same request again.")
	limited.RetryAfter = time.Minute - now.Sub(p.since)
	return limited
}
