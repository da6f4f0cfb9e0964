// Package providertest is the conformance suite of the provider port. An adapter is done when Run passes for it.
package providertest

import (
	"net/http"
	"testing"
	"time"

	"onefold/domain/money"
	"onefold/domain/provider"
)

// On names the call that a fault is for.
type On string

// The calls of the port.
const (
	CreatePayment  On = "payments.create"
	GetPayment     On = "payments.get" // by ID or reference
	CancelPayment  On = "payments.cancel"
	CreateRefund   On = "refunds.create"
	GetRefund      On = "refunds.get"
	CreateShipment On = "shipments.create"
	GetShipment    On = "shipments.get"
)

// Fault is a way to fail, once.
type Fault string

// The faults that every provider has been seen to have.
const (
	Drop     Fault = "drop"     // the work is done, the connection closes without an answer
	Broken   Fault = "broken"   // the work is done, the answer is a 500
	Refused  Fault = "refused"  // a 500 before the work
	Hang     Fault = "hang"     // the work is done, no answer ever
	Garbage  Fault = "garbage"  // the work is done, the answer is a 200 with an unreadable body
	Busy     Fault = "busy"     // the same key is still running
	Reject   Fault = "reject"   // a final refusal, bound to the key
	Limited  Fault = "limited"  // too many requests
	Denied   Fault = "denied"   // our credentials are not accepted
	Vanished Fault = "vanished" // a lookup that finds nothing although there is something
)

// Signer says whose signature a webhook carries.
type Signer string

// The signers.
const (
	Good    Signer = "good"    // the present secret
	Next    Signer = "next"    // the other one of two configured secrets, as during a rotation
	Several Signer = "several" // a foreign signature first, then the present one
	Bad     Signer = "bad"     // a secret we don't know
	None    Signer = "none"    // no signature at all
	Mangled Signer = "mangled" // a header that can't be read
)

// Sample is an authentic webhook body and what it means. Body is asked for after the payment and refund in it exist.
type Sample struct {
	Name string
	Body func(paid provider.Payment, back provider.Refund) []byte
	// Want is compared but for ID and CreatedAt; its Object decides whether there must be one.
	Want func(paid provider.Payment, back provider.Refund) provider.Event
}

// Harness is one fresh provider with a client. Every subtest gets its own.
type Harness struct {
	Payments provider.Payments
	Delivery provider.Delivery // nil: the company delivers nothing
	Dead     provider.Payments // the same adapter, for an address where nobody listens
	Timeout  time.Duration     // of one call, as the clients were made

	Inject    func(t *testing.T, on On, fault Fault)
	Pay       func(t *testing.T, paymentID string)                   // the customer pays
	Exchanges func(t *testing.T) int                                 // calls the provider has seen
	Effects   func(t *testing.T) (payments, refunds, shipments int)  // what it really did
	Sign      func(body []byte, at time.Time, by Signer) http.Header // as the provider signs
	Samples   []Sample                                               // one for each event type it sends
	Nonsense  [][]byte                                               // authentic bodies that can't be understood
	Skip      map[string]string                                      // subtest → why this provider can't do it
	Rules     Rules
}

// Rules are the provider's own limits.
type Rules struct {
	Currency  string        // one that it takes, with two digits
	Tolerance time.Duration // of a signature's age; 0 = signatures carry no time
}

func (h Harness) amount(minor int64) money.Amount {
	return money.Amount{Minor: minor, Currency: h.Rules.Currency}
}
