package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"onefold/components/i18n"
)

// Timeline is what happened and what comes, as it is looked at: some lanes or all, one trace or all, in one of two orders.
type Timeline struct {
	Entries []Entry   // oldest first, all of them
	Next    []Next    // soonest first
	Now     time.Time // the database's
	Order   []string  // every lane, in the order in which they are shown
	Lanes   []string  // those looked at; none means all
	Trace   string    // the only one looked at; "" means all
	Newest  bool      // first
	Address string    // of the page
}

// Entry is one line of the timeline.
type Entry struct {
	Anchor  string // its name in the page's address
	At      time.Time
	Kind    string // picks the sentence: "payment.succeeded"
	Lane    string // where it happened, one of Timeline.Order
	From    string // the state change; empty for none
	To      string
	Guard   string        // what absorbed a repeat
	Attempt string        // "2", or "2/25" where tries are limited; empty where there are none
	Took    time.Duration // 0 when not known
	// ProviderAt is the provider's own time; zero when it gave none or agreed to within two seconds.
	ProviderAt time.Time
	Trace      string
	By, Role   string // who pressed
	Reason     string
	Refusal    string
	Detail     []Detail // already redacted
	Omitted    int      // entries left out before this one
}

// Detail is a named value of an entry.
type Detail struct{ Name, Value string }

// Next is something planned: Key names the word "next.<Key>": reconcile, lease, dispatch, expire, key.
type Next struct {
	Key     string
	Subject string // an operation's or event's type
	At      time.Time
	Owner   string // of a lease
	Attempt int    // tries so far
}

// silence is how long nothing may happen before the timeline names the gap.
const silence = time.Minute

// row is an entry as it is drawn: with the silence before it and its repeats folded into it.
type row struct {
	Entry
	offset time.Duration // since the first entry
	gap    time.Duration // of silence before it; 0 when not worth naming
	last   time.Time     // the latest of those folded into it
	folded []Entry       // its repeats
}

func (r row) times() int { return len(r.folded) + 1 }

// rows folds neighbours of one kind and names gaps. Entries are oldest first. Looks that taught nothing are folded across the pauses
// between them: those are planned, not silence.
func rows(entries []Entry, start time.Time) []row {
	var list []row
	for _, e := range entries {
		r := row{Entry: e, offset: e.At.Sub(start), last: e.At}
		if n := len(list); n > 0 {
			previous := &list[n-1]
			gap := e.At.Sub(previous.last)
			if previous.same(e) && e.Omitted == 0 && (gap <= silence || e.Kind == "operation.postponed") {
				previous.folded = append(previous.folded, e)
				previous.last = e.At
				continue
			}
			if gap > silence {
				r.gap = gap
			}
		}
		list = append(list, r)
	}
	return list
}

// same says that an entry repeats what the row tells. What people did is told one by one.
func (r row) same(e Entry) bool {
	return r.Kind == e.Kind && r.Guard == e.Guard && r.Lane == e.Lane && r.By == "" && e.By == "" && r.ProviderAt.IsZero() && e.ProviderAt.IsZero() && r.To == e.To
}

// line is what the list shows one below the other: exactly one of its fields is set.
type line struct {
	entry   *row
	next    *Next
	gap     time.Duration
	omitted int
	day     time.Time
	now     bool
	since   time.Duration // with now: of silence until then; 0 when not worth naming
}

// lines puts entries, gaps, the present and the future into the order that is wanted.
func (t Timeline) lines(ctx context.Context) []line {
	shown := t.shown()
	var list []line
	var last time.Time
	for _, r := range rows(shown, t.start()) {
		if r.Omitted > 0 {
			list = append(list, line{omitted: r.Omitted})
		}
		if r.gap > 0 {
			list = append(list, line{gap: r.gap})
		}
		list = append(list, line{entry: &r})
		last = r.last
	}
	if len(t.Next) > 0 && t.whole() {
		now := line{now: true}
		if silent := t.Now.Sub(last); !last.IsZero() && silent > silence {
			now.since = silent
		}
		list = append(list, now)
		for _, n := range t.Next {
			list = append(list, line{next: &n})
		}
	}
	if t.Newest {
		slices.Reverse(list)
	}
	return days(ctx, list)
}

// days puts a date before the first line and wherever the date changes, in the reader's zone.
func days(ctx context.Context, list []line) []line {
	var out []line
	day := ""
	for _, l := range list {
		var at time.Time
		switch {
		case l.entry != nil:
			at = l.entry.At
		case l.next != nil:
			at = l.next.At
		}
		if d := i18n.Date(ctx, at); !at.IsZero() && d != day {
			if day != "" {
				out = append(out, line{day: at})
			}
			day = d
		}
		out = append(out, l)
	}
	return out
}

func (t Timeline) start() time.Time {
	if len(t.Entries) == 0 {
		return t.Now
	}
	return t.Entries[0].At
}

// whole says that nothing is filtered away.
func (t Timeline) whole() bool { return len(t.Lanes) == 0 && t.Trace == "" }

// shown are the entries of the lanes and the trace looked at.
func (t Timeline) shown() (list []Entry) {
	for _, e := range t.Entries {
		if (t.Trace == "" || t.Trace == e.Trace) && (len(t.Lanes) == 0 || slices.Contains(t.Lanes, e.Lane)) {
			list = append(list, e)
		}
	}
	return list
}

// laneChip switches a lane on or off.
type laneChip struct {
	name   string
	count  int
	active bool
	url    string
}

// chips are the lanes in which something happened.
func (t Timeline) chips() (list []laneChip) {
	for _, name := range t.Order {
		c := laneChip{name: name, active: slices.Contains(t.Lanes, name)}
		for _, e := range t.Entries {
			if e.Lane == name {
				c.count++
			}
		}
		other := t
		if c.active {
			other.Lanes = slices.DeleteFunc(slices.Clone(t.Lanes), func(l string) bool { return l == name })
		} else {
			other.Lanes = append(slices.Clone(t.Lanes), name)
		}
		if c.url = other.url(); c.count > 0 || c.active {
			list = append(list, c)
		}
	}
	return list
}

// url is the page with this view of the timeline.
func (t Timeline) url() string {
	q := url.Values{}
	for _, name := range t.Order {
		if slices.Contains(t.Lanes, name) {
			q.Add("lane", name)
		}
	}
	if t.Newest {
		q.Set("order", "newest")
	}
	if t.Trace != "" {
		q.Set("trace", t.Trace)
	}
	if len(q) == 0 {
		return t.Address + "#timeline"
	}
	return t.Address + "?" + q.Encode() + "#timeline"
}

func (t Timeline) inOrder(newest bool) string {
	t.Newest = newest
	return t.url()
}

func (t Timeline) ofTrace(trace string) string {
	t.Trace = trace
	return t.url()
}

func (t Timeline) ofAllLanes() string {
	t.Lanes = nil
	return t.url()
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
	case "inbox.quarantined", "order.flagged", "operation.failed", "payment.failed", "mail.refused", "outbox.parked", "job.failed", "job.discarded",
		"reconcile.unreachable":
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
	case alarming(r.Kind), r.Refusal != "":
		return "bad"
	case absorbed(r.Kind), r.Guard != "":
		return "absorbed"
	case strings.HasSuffix(r.Kind, ".succeeded"), strings.HasSuffix(r.Kind, ".paid"), strings.HasSuffix(r.Kind, ".fulfilled"),
		strings.HasSuffix(r.Kind, ".completed"), strings.HasSuffix(r.Kind, ".applied"):
		return "good"
	default:
		return "neutral"
	}
}

// since is the offset from the first entry: "+0 ms", "+41 min".
func (r row) since(ctx context.Context) string { return "+" + i18n.Span(ctx, max(r.offset, 0)) }

// apart says how far the provider's own time is from ours.
func (e Entry) apart(ctx context.Context) string {
	if apart := e.At.Sub(e.ProviderAt); apart >= 0 {
		return i18n.T(ctx, "timeline.clock.behind", i18n.Span(ctx, apart))
	}
	return i18n.T(ctx, "timeline.clock.ahead", i18n.Span(ctx, e.ProviderAt.Sub(e.At)))
}

// took says how long it took: a job and a request ran, an answer came after.
func (e Entry) took(ctx context.Context) string {
	if noun(e.Kind) == "job" || e.Kind == "http.request" {
		return i18n.T(ctx, "timeline.ran", i18n.Span(ctx, e.Took))
	}
	return i18n.T(ctx, "timeline.took", i18n.Span(ctx, e.Took))
}

// raw is the entry as text, for a ticket.
func (e Entry) raw() string {
	parts := []string{e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind}
	if e.From != "" || e.To != "" {
		parts = append(parts, e.From+"->"+e.To)
	}
	for _, d := range e.Detail {
		parts = append(parts, d.Name+"="+strconv.Quote(d.Value))
	}
	return strings.Join(parts, " ")
}
