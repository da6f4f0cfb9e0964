package console

import (
	"context"
	"strings"
	"time"

	"onefold/components/i18n"
)

// silence is how long nothing may happen before the timeline names the gap.
const silence = time.Minute

// row is an entry as it is drawn: with the silence before it and its repeats folded into it.
type row struct {
	Entry
	offset time.Duration // since the first entry
	gap    time.Duration // of silence before it; 0 when not worth naming
	times  int           // how many entries were folded; 1 for one
	last   time.Time     // the latest of them
}

// rows folds neighbours of one kind and names gaps. Entries are oldest first.
func rows(entries []Entry) []row {
	var list []row
	for _, e := range entries {
		if n := len(list); n > 0 {
			previous := &list[n-1]
			gap := e.At.Sub(previous.last)
			if previous.Kind == e.Kind && previous.Guard == e.Guard && e.Omitted == 0 && gap <= silence {
				previous.times++
				previous.last = e.At
				continue
			}
			list = append(list, row{Entry: e, offset: e.At.Sub(entries[0].At), times: 1, last: e.At, gap: named(gap)})
			continue
		}
		list = append(list, row{Entry: e, times: 1, last: e.At})
	}
	return list
}

func named(gap time.Duration) time.Duration {
	if gap > silence {
		return gap
	}
	return 0
}

// lane is where an entry happened.
func (r row) lane() string {
	switch r.Lane {
	case "operation", "order", "payment", "provider", "inbox", "outbox", "job", "effect", "mail", "operator", "http":
		return r.Lane
	default:
		return "other"
	}
}

// noun is what an entry is about, as its kind begins.
func noun(kind string) string {
	noun, _, _ := strings.Cut(kind, ".")
	return noun
}

// absorbed says that an entry is a repeat which changed nothing.
func absorbed(kind string) bool {
	switch kind {
	case "operation.replayed", "operation.key_reused", "operation.in_progress", "operation.late_owner", "operation.already_settled",
		"inbox.repeated", "inbox.no_change", "inbox.stale":
		return true
	default:
		return false
	}
}

// alarming says that an entry wants a person's eye.
func alarming(kind string) bool {
	switch kind {
	case "inbox.quarantined", "order.flagged", "operation.failed", "payment.failed", "mail.refused", "outbox.parked":
		return true
	default:
		return false
	}
}

// dot is the class of the point on the line.
func (r row) dot() string {
	switch {
	case strings.HasSuffix(r.Kind, ".unknown"):
		return "unknown"
	case alarming(r.Kind):
		return "bad"
	case absorbed(r.Kind):
		return "absorbed"
	case strings.HasSuffix(r.Kind, ".succeeded"), strings.HasSuffix(r.Kind, ".paid"), strings.HasSuffix(r.Kind, ".fulfilled"),
		strings.HasSuffix(r.Kind, ".completed"), strings.HasSuffix(r.Kind, ".applied"):
		return "good"
	default:
		return "neutral"
	}
}

// since is the offset from the first entry: "+0 ms", "+41 min".
func (r row) since(ctx context.Context) string { return "+" + i18n.Span(ctx, r.offset) }
