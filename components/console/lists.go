// Package console holds the operators' pages: lists of rows, one page per intent, search.
package console

import (
	"context"
	"time"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

// OperationsModel is a page of operations, newest first.
type OperationsModel struct {
	State string // the filter: PROCESSING, COMPLETED, FAILED; empty shows all
	Rows  []OperationRow
	Pager ui.Pager
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
	Result    string    // "order 1042", a failure code or the last error
	NextAt    time.Time // next look of an unfinished one; zero otherwise
	CreatedAt time.Time
}

// PaymentsModel is a page of payment attempts, newest first.
type PaymentsModel struct {
	State string
	Rows  []PaymentRow
	Pager ui.Pager
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

// InboxModel is a page of what came from outside, newest first.
type InboxModel struct {
	State string
	Rows  []InboxRow
	Pager ui.Pager
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

// OutboxModel is a page of what happened here, newest first.
type OutboxModel struct {
	State string // WAITING, DISPATCHED, PARKED
	Rows  []OutboxRow
	Pager ui.Pager
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

// States a list can be filtered by, as they stand in the address.
func operationStates() []string { return []string{"PROCESSING", "COMPLETED", "FAILED"} }

func paymentStates() []string {
	return []string{"CREATED", "SUBMITTING", "PENDING", "UNKNOWN", "SUCCEEDED", "CANCELED", "FAILED", "PARTIALLY_REFUNDED", "REFUNDED"}
}

func inboxStates() []string {
	return []string{"RECEIVED", "APPLIED", "NO_CHANGE", "STALE", "IGNORED", "QUARANTINED"}
}

func outboxStates() []string { return []string{"WAITING", "DISPATCHED", "PARKED"} }

// chips are the filters of a list: all, then each state. The first page of each, since a cursor belongs to a filter.
func chips(ctx context.Context, address, entity string, states []string, current string) []ui.Chip {
	list := []ui.Chip{{Label: i18n.T(ctx, "console.all"), URL: address, Active: current == ""}}
	for _, s := range states {
		list = append(list, ui.Chip{Label: i18n.Status(ctx, entity, s), URL: path.WithQuery(address, "state", s), Active: s == current})
	}
	return list
}
