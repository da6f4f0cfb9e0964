package shop

import "time"

// State is what the status card of an order says. It joins the states of the order and of its last payment.
type State string

// The states, with who moves next.
const (
	Preparing         State = "PREPARING"        // no payment page yet; the provider moves next
	AwaitingPayment   State = "AWAITING_PAYMENT" // the customer moves next
	Unknown           State = "UNKNOWN"          // nobody may pay; the provider moves next
	UnknownLong       State = "UNKNOWN_LONG"     // the same for more than 15 minutes
	Paid              State = "PAID"             // we move next
	Fulfilled         State = "FULFILLED"
	Declined          State = "DECLINED" // the customer may try another card
	Canceled          State = "CANCELED"
	Expired           State = "EXPIRED"
	Refunding         State = "REFUNDING" // money came for an order that was closed
	PartiallyRefunded State = "PARTIALLY_REFUNDED"
	Refunded          State = "REFUNDED"
)

// long is how long UNKNOWN may last before the card says that it is not usual.
const long = 15 * time.Minute

// StateOf joins the state of an order, the state of its last payment attempt ("" without one), whether the
// payment page exists, and for how long the payment has been in its state.
func StateOf(order, payment string, hasPage bool, since time.Duration) State {
	switch order {
	case "PAID":
		return Paid
	case "FULFILLED":
		return Fulfilled
	case "PARTIALLY_REFUNDED":
		return PartiallyRefunded
	case "REFUNDED":
		return Refunded
	case "CANCELED", "EXPIRED":
		return closedState(order, payment)
	default:
		return openState(payment, hasPage, since)
	}
}

// closedState is about an order nobody pays any more: money that came all the same goes back.
func closedState(order, payment string) State {
	switch payment {
	case "SUCCEEDED", "PARTIALLY_REFUNDED":
		return Refunding
	case "REFUNDED":
		return Refunded
	case "UNKNOWN":
		return Unknown
	}
	return State(order)
}

func openState(payment string, hasPage bool, since time.Duration) State {
	switch payment {
	case "UNKNOWN":
		if since > long {
			return UnknownLong
		}
		return Unknown
	case "FAILED", "CANCELED":
		return Declined
	case "SUCCEEDED":
		return Paid
	}
	if hasPage {
		return AwaitingPayment
	}
	return Preparing
}

// Final says that nothing changes any more without the customer: polling ends.
func (s State) Final() bool {
	switch s {
	case Fulfilled, Declined, Canceled, Expired, PartiallyRefunded, Refunded:
		return true
	default:
		return false
	}
}

// PollEvery is the number of seconds between two looks of the page at itself, for an order in a state
// that has been watched for age: 2 s for half a minute, 5 s for two, 15 s for ten, then 0, which is never.
func PollEvery(s State, age time.Duration) int {
	switch {
	case s.Final() || age > 10*time.Minute:
		return 0
	case age > 2*time.Minute:
		return 15
	case age > 30*time.Second:
		return 5
	default:
		return 2
	}
}
