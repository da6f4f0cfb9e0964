package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/invariant"
	"onefold/domain/money"
	"onefold/domain/order"
	"onefold/domain/store"
)

// Intent is everything about one intent: an order with all that follows from it, or an operation that made no order.
type Intent struct {
	Now           time.Time  // the database's clock, for countdowns
	Order         *Order     // nil for an operation without one
	Root          *Operation // the operation that the intent is; nil once retention has removed it
	Operations    []Operation
	Payments      []Payment
	Refunds       []Refund
	Shipments     []Shipment
	Events        []IncomingEvent // applied to it, contradicting those, and received ones that name its payments
	Outbox        []OutboxEvent
	Licenses      []License
	Bonus         []BonusEntry
	Notifications []Notification
	Lead          *Lead   // the enquiry that the operation took
	Presses       []Press // of the console's buttons, oldest first; refused and repeated ones, too
	Looks         []Look  // at the outside, on request
	Notes         []Note  // oldest first
	Twins         []Twin  // orders that look alike
	Reuses        []Reuse // later requests of its keys that asked for something else
	Heard         []Heard // what the provider last said of each payment
	Money         Money
	Violations    []invariant.Finding // of this order; those that hold are left out
	Timeline      []Entry             // oldest first
	Omitted       int                 // entries left out of the middle of Timeline; 0 when it is whole
	Traces        []string
	Jobs          []int64

	// What the domain makes of it.
	Attempts []Attempt // technical tries of the intent, the first one first; no more than Timeline shows
	Effects  []Effect
	Verdict  Verdict
	Next     []Step // what is planned, soonest first

	counts []count
	fields map[string]string // of the first request
	said   []message
}

// Order is an order as operators see it.
type Order struct {
	ID           uuid.UUID
	Number       int64
	UserID       uuid.UUID
	CartID       uuid.NullUUID
	OperationID  uuid.UUID // the intent's identity, also after its operation was cleaned away
	Status       order.State
	NeedsReview  bool
	ReviewReason string
	Email        string // masked
	Locale       string
	Subtotal     money.Amount
	Discount     money.Amount
	Total        money.Amount
	PromoCode    string
	CreatedAt    time.Time
	PaidAt       *time.Time
	FulfilledAt  *time.Time
	ClosedAt     *time.Time
	Items        []Item
}

// Item is a line of an order; Price is per unit.
type Item struct {
	ID        uuid.UUID
	ProductID string
	Kind      string
	Name      string
	Quantity  int
	Price     money.Amount
}

// Lead is an enquiry, without what it says.
type Lead struct {
	ID          uuid.UUID
	OperationID uuid.UUID
	CreatedAt   time.Time
}

// Refund is money on its way back.
type Refund struct {
	ID               uuid.UUID
	PaymentID        uuid.UUID
	OperationID      uuid.UUID
	Status           string
	Amount           money.Amount
	Reason           string
	ProviderRefundID string
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Shipment is a parcel.
type Shipment struct {
	ID                 uuid.UUID
	Parcel             int
	Attempt            int
	OperationID        uuid.UUID // of the attempt
	Status             string
	ProviderShipmentID string
	Tracking           string
	FailureCode        string
	CreatedAt          time.Time
	UpdatedAt          time.Time
	DeliveredAt        *time.Time
}

// License is one issued unit.
type License struct {
	ItemID    uuid.UUID
	Unit      int
	Key       string // masked
	IssuedAt  time.Time
	RevokedAt *time.Time
}

// BonusEntry is a line of the bonus ledger.
type BonusEntry struct {
	Kind      string // ACCRUAL or REVERSAL
	Points    int64
	CreatedAt time.Time
}

// Notification is a mail to the customer.
type Notification struct {
	Kind      string
	Recipient string // masked
	MessageID string
	Sends     int // conversations with the mail server
	SentAt    *time.Time
	CreatedAt time.Time
}

// Find reads an intent by its order's ID, by the ID of any of its operations, or by an enquiry's, in a few round trips; NOT_FOUND if
// there is none.
func Find(ctx context.Context, q store.Querier, id uuid.UUID) (Intent, error) {
	orderID, rootID, err := locate(ctx, q, id)
	if err != nil {
		return Intent{}, err
	}
	in, err := gather(ctx, q, orderID, rootID)
	if err != nil {
		return in, err
	}
	if in.Order == nil && in.Root == nil && in.Lead == nil {
		return in, fault.Missing("intent")
	}
	if in.Order != nil {
		if in.Violations, err = invariant.Of(ctx, q, in.Order.ID, invariant.Config{}); err != nil {
			return in, err
		}
	}
	runs, err := runsOf(ctx, q, in.jobs())
	if err != nil {
		return in, err
	}
	in.weave(runs)
	in.judge()
	return in, nil
}

// locateSQL: an order by its own ID, that of any of its operations, or that of the operation that made it; else an enquiry's.
const locateSQL = `SELECT id, operation_id FROM (
	SELECT 1, id, operation_id FROM orders WHERE id = $1 OR id = (SELECT order_id FROM operations WHERE id = $1) OR operation_id = $1
	UNION ALL SELECT 2, NULL, operation_id FROM leads WHERE id = $1) AS found(rank, id, operation_id) ORDER BY rank LIMIT 1`

// locate finds the order of an ID and the operation that made it. An order remembers its operation for ever.
func locate(ctx context.Context, q store.Querier, id uuid.UUID) (orderID uuid.NullUUID, rootID uuid.UUID, err error) {
	rootID = id
	err = q.QueryRow(ctx, locateSQL, id).Scan(&orderID, &rootID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return orderID, rootID, fmt.Errorf("find intent: %w", err)
	}
	return orderID, rootID, nil
}

// related collects what the lists of an intent have in common.
func (in *Intent) related() {
	for _, o := range in.Operations {
		in.trace(o.TraceID)
	}
	for _, e := range in.Events {
		in.trace(e.TraceID)
	}
	for _, e := range in.Timeline {
		in.trace(e.TraceID)
	}
	in.Jobs = in.jobs()
}

// jobs are those that wrote into the timeline.
func (in *Intent) jobs() (ids []int64) {
	for _, e := range in.Timeline {
		if e.JobID != nil && !slices.Contains(ids, *e.JobID) {
			ids = append(ids, *e.JobID)
		}
	}
	return ids
}

func (in *Intent) trace(id string) {
	if id != "" && !slices.Contains(in.Traces, id) {
		in.Traces = append(in.Traces, id)
	}
}
