// Package console holds the operators' pages: lists of rows, one page per intent, search.
package console

import (
	"context"
	"time"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

// Filter is what a list shows; an empty field shows all. The lists say what a person may choose; nil offers no choice.
type Filter struct {
	State, Type, Provider, Limit string
	States, Types, Providers     []string
}

// OperationsModel is a page of operations, newest first.
type OperationsModel struct {
	Filter Filter
	Rows   []OperationRow
	Pager  ui.Pager
}

// OperationRow is one intent.
type OperationRow struct {
	ID        string
	Type      string
	Key       string
	State     string
	OrderID   string // empty while there is none
	Order     string // its number
	Attempts  int
	Result    string    // what it made, a failure code or the last error
	NextAt    time.Time // next look of an unfinished one; zero otherwise
	CreatedAt time.Time
}

// PaymentsModel is a page of payment attempts, newest first.
type PaymentsModel struct {
	Filter Filter
	Rows   []PaymentRow
	Pager  ui.Pager
}

// PaymentRow is one attempt to take money.
type PaymentRow struct {
	ID          string
	OrderID     string
	Order       string
	Attempt     int
	State       string
	Amount      string // formatted with its code
	Provider    string
	ProviderRef string
	UpdatedAt   time.Time
}

// OrdersModel is a page of orders, newest first.
type OrdersModel struct {
	Filter Filter
	Rows   []OrderRow
	Pager  ui.Pager
}

// OrderRow is one order.
type OrderRow struct {
	ID        string
	Number    string
	State     string
	Review    string // why it is under review; empty if it isn't
	Email     string // masked
	Total     string // formatted with its code
	Units     int
	CreatedAt time.Time
}

// InboxModel is a page of what came from outside, newest first.
type InboxModel struct {
	Filter Filter
	Rows   []InboxRow
	Pager  ui.Pager
}

// InboxRow is one event, however often it was delivered.
type InboxRow struct {
	ID         string
	EventID    string // the provider's
	Provider   string
	Type       string
	State      string
	Deliveries int
	OrderID    string
	Order      string
	Reason     string
	ReceivedAt time.Time
}

// address leads to the order that the event was matched with, otherwise to what a search for it says.
func (r InboxRow) address() string {
	if r.OrderID != "" {
		return path.ConsoleIntent(r.OrderID)
	}
	return path.Go(r.ID)
}

// OutboxModel is a page of what happened here, newest first.
type OutboxModel struct {
	Filter Filter
	Rows   []OutboxRow
	Pager  ui.Pager
}

// OutboxRow is one fact with consequences.
type OutboxRow struct {
	ID        string
	Type      string
	State     string // WAITING, DISPATCHED or PARKED
	OrderID   string
	Order     string
	Attempts  int
	Lag       time.Duration // from creation to dispatch, or until now
	Error     string
	CreatedAt time.Time
}

// limits are the page sizes, as they stand in the address.
func limits() []string { return []string{"25", "50", "100", "200"} }

// any says that the list doesn't show everything.
func (f Filter) any() bool { return f.State != "" || f.Type != "" || f.Provider != "" }

// chips are the states: all, then each. Other filters stay; a cursor belongs to a filter, so each starts at the newest page.
func (f Filter) chips(ctx context.Context, address, entity string) []ui.Chip {
	with := func(state string) string {
		return path.WithQuery(address, "state", state, "type", f.Type, "provider", f.Provider, "limit", f.Limit)
	}
	list := []ui.Chip{{Label: i18n.T(ctx, "console.all"), URL: with(""), Active: f.State == ""}}
	for _, s := range f.States {
		list = append(list, ui.Chip{Label: i18n.Status(ctx, entity, s), URL: with(s), Active: s == f.State})
	}
	return list
}
