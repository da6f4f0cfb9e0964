// Package provider is the port to payment and delivery companies. One call is one HTTP exchange: no retries inside, because
// only the executor (domain/operation) knows whether an earlier call may have reached the other side.
package provider

import (
	"context"
	"net/http"
	"time"

	"onefold/domain/money"
)

// Status of a payment or refund as the provider reports it.
type Status string

// What a provider may say. An adapter translates its own words into these and refuses (Garbage) what it doesn't know.
const (
	Pending   Status = "pending"
	Succeeded Status = "succeeded"
	Canceled  Status = "canceled"
	Failed    Status = "failed"
)

// Payment is the provider's own record of a payment.
type Payment struct {
	ID              string // the provider's
	Reference       string // ours: payments.id
	Status          Status
	Amount          money.Amount
	ConfirmationURL string // hosted page; "" once it is of no use
	FailureCode     string // "" unless canceled or failed
	CreatedAt       time.Time
}

// CreatePayment holds the exact inputs of a create call. They come from stored rows, so a repeat sends the same bytes.
type CreatePayment struct {
	Key         string // the provider's idempotency key, stored before the first call
	Reference   string
	Amount      money.Amount
	ReturnURL   string
	Description string
	Metadata    map[string]string
}

// Refund is the provider's own record of a refund.
type Refund struct {
	ID          string
	PaymentID   string
	Reference   string // ours; "" for a refund made in the provider's dashboard
	Status      Status
	Amount      money.Amount
	FailureCode string
	CreatedAt   time.Time
}

// CreateRefund holds the exact inputs of a refund call.
type CreateRefund struct {
	Key       string
	Reference string
	PaymentID string
	Amount    money.Amount
}

// Object is what an event is about; at most one is set, none for an event of another kind.
type Object struct {
	Payment  *Payment
	Refund   *Refund
	Shipment *Shipment
}

// Event is an authentic message from the provider, translated.
type Event struct {
	ID        string // the provider's event ID
	Type      string // the provider's own word, e.g. "payment.succeeded"
	ObjectID  string // the provider's ID of what it is about
	CreatedAt time.Time
	Object    Object
}

// Payments is a payment provider.
type Payments interface {
	// Name is the value of payments.provider and of the path /webhooks/{provider}.
	Name() string
	// CreatePayment asks for a payment. A repeat with the same key and inputs returns the same payment.
	CreatePayment(ctx context.Context, in CreatePayment) (Payment, error)
	// GetPayment reads the current state: knowledge from behind the idempotency layer.
	GetPayment(ctx context.Context, id string) (Payment, error)
	// FindPayment looks a payment up by our reference. NotFound is conclusive only when the last send is old enough (see
	// operation.Executor).
	FindPayment(ctx context.Context, reference string) (Payment, error)
	// CancelPayment asks to cancel an unpaid payment and returns its state after that, which may be Succeeded.
	CancelPayment(ctx context.Context, key, id string) (Payment, error)
	// CreateRefund asks for a refund.
	CreateRefund(ctx context.Context, in CreateRefund) (Refund, error)
	// FindRefund looks a refund up by our reference.
	FindRefund(ctx context.Context, reference string) (Refund, error)
	// Authenticate proves that a webhook's raw bytes come from the provider; an Error of kind Auth if not. now is for the
	// signature's tolerance.
	Authenticate(header http.Header, body []byte, now time.Time) error
	// Translate reads an authentic webhook; an Error of kind Garbage if it can't be understood.
	Translate(body []byte) (Event, error)
}

// Address is where a parcel goes.
type Address struct {
	Name     string `json:"name"`
	Line1    string `json:"line1"`
	Line2    string `json:"line2,omitempty"`
	City     string `json:"city"`
	Postcode string `json:"postcode"`
	Country  string `json:"country"`
}

// Shipment is the carrier's own record of a label.
type Shipment struct {
	ID        string // the carrier's
	Reference string // ours: shipments.id
	Tracking  string // number for people
	Delivered bool   // handed over
}

// CreateShipment holds the exact inputs of a label call.
type CreateShipment struct {
	Key       string
	Reference string
	Address   Address
	Parcels   int
}

// Delivery is a carrier.
type Delivery interface {
	// CreateShipment buys a label. A repeat with the same key and inputs returns the same one.
	CreateShipment(ctx context.Context, in CreateShipment) (Shipment, error)
	// FindShipment looks a label up by our reference (see Payments.FindPayment).
	FindShipment(ctx context.Context, reference string) (Shipment, error)
}
