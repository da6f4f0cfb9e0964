package payment

import "slices"

// State of a payment attempt.
type State string

// The states, with who moves next.
const (
	Created           State = "CREATED"    // the executor
	Submitting        State = "SUBMITTING" // the executor: a call may be on its way
	Pending           State = "PENDING"    // the shopper at the provider; we hear by webhook or by asking
	Unknown           State = "UNKNOWN"    // the executor asks until it is known; age never ends it
	Succeeded         State = "SUCCEEDED"  // nobody; an operator may refund
	Canceled          State = "CANCELED"   // nobody: no money moved
	Failed            State = "FAILED"     // nobody: no money moved
	PartiallyRefunded State = "PARTIALLY_REFUNDED"
	Refunded          State = "REFUNDED"
)

// States lists all states in the order of the schema's CHECK.
func States() []State {
	return []State{Created, Submitting, Pending, Unknown, Succeeded, Canceled, Failed, PartiallyRefunded, Refunded}
}

var next = map[State][]State{ //nolint:gochecknoglobals // the machine as a table
	Created:           {Submitting},
	Submitting:        {Pending, Unknown, Succeeded, Canceled, Failed},
	Unknown:           {Pending, Succeeded, Canceled, Failed},
	Pending:           {Succeeded, Canceled, Failed},
	Succeeded:         {PartiallyRefunded, Refunded},
	PartiallyRefunded: {Refunded},
	Canceled:          nil,
	Failed:            nil,
	Refunded:          nil,
}

// CanMove reports a legal move. Staying is not a move.
func (s State) CanMove(to State) bool { return slices.Contains(next[s], to) }

// Open reports that the attempt isn't final: the order must not get another one.
func (s State) Open() bool {
	return s == Created || s == Submitting || s == Pending || s == Unknown
}

// Captured reports that money came in through this attempt.
func (s State) Captured() bool { return s == Succeeded || s == PartiallyRefunded || s == Refunded }
