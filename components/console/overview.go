package console

import (
	"context"
	"strconv"
	"time"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// OverviewModel is the console's front door: what waits for whom, how it went lately, and the proof that nothing was doubled.
type OverviewModel struct {
	Address  string // of this page, with its range
	Every    int    // seconds between two looks; 0 never
	Ranges   []ui.Chip
	Queues   []Queue
	Charts   []Chart
	Proof    Proof
	Clients  []Client
	Runs     []LastRun
	Latest   []OperationRow
	LookedAt time.Time // when the alarms were last evaluated; zero for never
	Stale    bool      // that is too long ago
}

// Queue is a number of things that wait; Name names the words "queue.<Name>" and "waits.<Name>".
type Queue struct {
	Name   string
	N      int
	More   bool // N is where counting stopped
	Age    time.Duration
	Oldest time.Time // zero when nothing waits
	Limit  time.Duration
	Over   bool // the limit is crossed
	URL    string
	Recent []float64 // the last hour
}

// Proof is whether the promises hold, and what was absorbed to keep them.
type Proof struct {
	Known      bool
	Violations int
	CheckedAt  time.Time
	Took       time.Duration
	Promises   []Promise
	Absorbed   int64
	Layers     []Layer
}

// Promise is one invariant; Name names the word "promise.<Number>".
type Promise struct {
	Number     int
	Name       string
	Violations int
	Sample     string
	Since      time.Time
}

// Layer absorbed repeats; Name names the word "label.absorbed.<Name>".
type Layer struct {
	Name  string
	N     int64
	Share int // of the largest, in percent
}

// Client used keys for more than one request.
type Client struct {
	Who string
	N   int64
	At  time.Time
	URL string // the latest case
}

// LastRun is a reconcile run or a batch.
type LastRun struct {
	Kind, By    string
	Label       string // a run's scope or a batch's action
	Total, Done int
	At          time.Time
	Running     bool
	URL         string
}

// words are the key of what the label means.
func (r LastRun) words() string {
	if r.Kind == "batch" {
		return "act." + r.Label
	}
	return "run.scope." + r.Label
}

// waiting counts the queues that aren't empty.
func (m OverviewModel) waiting() (n int) {
	for _, q := range m.Queues {
		if q.N > 0 {
			n++
		}
	}
	return n
}

// number is where counting stopped, if it did.
func (q Queue) number() string {
	if q.More {
		return strconv.Itoa(q.N) + "+"
	}
	return strconv.Itoa(q.N)
}

func (q Queue) tone() string {
	switch {
	case q.N == 0:
		return "calm"
	case q.Over:
		return string(ui.Bad)
	case q.Name == "unknown_payments":
		return string(ui.Unknown)
	default:
		return string(ui.Warn)
	}
}

func (q Queue) icon() string {
	switch {
	case q.N == 0:
		return "check"
	case q.Over:
		return "alert"
	case q.Name == "unknown_payments":
		return "question"
	default:
		return "clock"
	}
}

// word names how it stands, for those who don't see colours.
func (q Queue) word() string {
	switch {
	case q.N == 0:
		return "queue.word.calm"
	case q.Over:
		return "queue.word.over"
	default:
		return "queue.word.waiting"
	}
}

// waits says for whom the things of a queue wait.
func (q Queue) waits(ctx context.Context) string {
	if key := "waits." + q.Name; i18n.Has(key) {
		return i18n.T(ctx, key)
	}
	return i18n.T(ctx, "waits.person")
}

// filled is how much of its limit the oldest has used, in percent.
func (q Queue) filled() int {
	if q.N == 0 || q.Limit <= 0 {
		return 0
	}
	return int(min(100, 100*q.Age/q.Limit))
}

func (p Proof) tone() ui.Tone {
	switch {
	case !p.Known:
		return ui.Neutral
	case p.Violations > 0:
		return ui.Bad
	default:
		return ui.Good
	}
}
