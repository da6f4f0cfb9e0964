package console

import (
	"context"
	"time"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

// WorkModel is a page of a queue, the longest waiting first.
type WorkModel struct {
	Queue   string
	CSRF    string
	Filter  WorkFilter
	States  []string
	Rows    []WorkRow
	Groups  []WorkGroup // instead of rows
	Grouped bool
	Count   int // of the whole queue
	More    bool
	Age     time.Duration
	Bulk    []BulkAction
	Older   string // addresses of the neighbouring pages
	Newer   string
	Done    DoneModel
}

// WorkFilter is what the page shows, as in its address.
type WorkFilter struct{ State, Type, Error, Assignee, Tag, Limit string }

// BulkAction is one that may be done to many.
type BulkAction struct {
	Name    string
	Allowed bool
	Role    string
	Choice  ui.Field // what it needs to know besides; one without options: nothing
}

// WorkRow is a thing that waits.
type WorkRow struct {
	ID       string
	Key      string // by which a bulk form names it
	Kind     string
	URL      string
	Label    string
	State    string
	OrderID  string
	Order    string
	Amount   string
	At       time.Time
	NextAt   time.Time
	Attempts int
	Said     string
	Who      string
	Lease    *Lease
	Assignee string
	Ticket   string
	Tags     []string
	Wish     []Detail // of an approval
	Alike    []Alike  // the later and the earlier order
	Offers   []Offer
}

// Lease says who is at an operation, and what somebody who takes it over would do.
type Lease struct {
	Owner    string
	Attempt  int
	Ends     time.Time // zero: nobody holds it
	Takeover string    // names the words "lease.<Takeover>": wait, look, run
}

// WorkGroup is a number of failures of one kind.
type WorkGroup struct {
	Label, Error string
	Count        int
	First, Last  time.Time
	URL          string
}

// any says that the page doesn't show the whole queue.
func (f WorkFilter) any() bool {
	return f.State != "" || f.Type != "" || f.Error != "" || f.Assignee != "" || f.Tag != ""
}

// address of the queue with the filter and further parameters.
func (m WorkModel) address(f WorkFilter, more ...string) string {
	return path.WithQuery(path.ConsoleWork(m.Queue), append([]string{
		"state", f.State, "type", f.Type, "error", f.Error, "assignee", f.Assignee, "tag", f.Tag, "limit", f.Limit,
	}, more...)...)
}

// here is the page's address, to which a press comes back.
func (m WorkModel) here() string { return m.address(m.Filter) }

func (m WorkModel) chips(ctx context.Context) []ui.Chip {
	list := []ui.Chip{{Label: i18n.T(ctx, "console.all"), URL: m.address(WorkFilter{Limit: m.Filter.Limit}), Active: !m.Filter.any() && !m.Grouped}}
	if len(m.States) > 1 {
		for _, s := range m.States {
			f := m.Filter
			f.State = s
			list = append(list, ui.Chip{Label: i18n.Status(ctx, entity(m.kind()), s), URL: m.address(f), Active: s == m.Filter.State})
		}
	}
	f := m.Filter
	f.Assignee = "me"
	list = append(list, ui.Chip{Label: i18n.T(ctx, "work.mine"), URL: m.address(f), Active: m.Filter.Assignee == "me"},
		ui.Chip{Label: i18n.T(ctx, "work.group"), URL: m.address(m.Filter, "group", "1"), Active: m.Grouped})
	// What is narrowed otherwise is a chip that takes it away.
	for _, one := range []struct {
		name, value string
		without     func(*WorkFilter)
	}{
		{"col.type", m.Filter.Type, func(f *WorkFilter) { f.Type = "" }},
		{"work.error", m.Filter.Error, func(f *WorkFilter) { f.Error = "" }},
		{"case.tags", m.Filter.Tag, func(f *WorkFilter) { f.Tag = "" }},
	} {
		if one.value != "" {
			f := m.Filter
			one.without(&f)
			list = append(list, ui.Chip{Label: i18n.T(ctx, one.name) + ": " + one.value + " ×", URL: m.address(f), Active: true})
		}
	}
	return list
}

// kind of the things whose states the filter names.
func (m WorkModel) kind() string {
	switch m.Queue {
	case "orders_in_review", "possible_duplicates":
		return "order"
	case "failed_jobs":
		return "job"
	}
	return "payment"
}

// tries names the words for how often a thing was looked at.
func tries(kind string) string {
	switch kind {
	case "payment", "refund", "shipment":
		return "work.checks"
	}
	return "work.tries"
}

func workColumns(ctx context.Context) (list []ui.Column) {
	return append(list, ui.Column{Label: i18n.T(ctx, "bulk.column")}, ui.Column{Label: i18n.T(ctx, "work.thing")}, ui.Column{Label: i18n.T(ctx, "work.since")},
		ui.Column{Label: i18n.T(ctx, "col.order"), Number: true, Extra: true}, ui.Column{Label: i18n.T(ctx, "work.next"), Extra: true},
		ui.Column{Label: i18n.T(ctx, "work.safe")})
}
