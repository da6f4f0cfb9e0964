package console

import "time"

// RunsModel lists looks at the outside on request and by the schedule, newest first.
type RunsModel struct {
	CSRF    string
	Keys    map[string]string // of the form of each kind; "" is all
	Allowed bool
	Role    string
	Runs    []Reconciliation
	Done    DoneModel
}

// Reconciliation is one of them.
type Reconciliation struct {
	ID          string
	By          string // empty for the schedule
	Scope       string // one, selected, matching, schedule
	Kind        string // empty for all
	Total, Done int
	Changed     int
	Unchanged   int
	Unreachable int
	Skipped     int
	At          time.Time
	FinishedAt  time.Time // zero while it runs
	TraceID     string
}

// RunModel is one run with its things.
type RunModel struct {
	Run   Reconciliation
	Items []RunItem
	Done  DoneModel
}

// RunItem is one thing that was asked about.
type RunItem struct {
	Kind, ID, OrderID, Order string
	Before, After, Result    string
	Detail                   string
	DoneAt, NextAt           time.Time
}

// every is how many seconds lie between two looks at the page; 0 ends them.
func (r Reconciliation) every() int {
	if r.FinishedAt.IsZero() {
		return 1
	}
	return 0
}

func (r Reconciliation) took() time.Duration { return r.FinishedAt.Sub(r.At) }
