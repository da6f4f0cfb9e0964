package console

import (
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/lead"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

// Providers lists what a provider filter may name: the values of ONEFOLD_PROVIDER.
func Providers() []string { return []string{"sim", "stripe", "yookassa"} }

// OperationTypes lists what the type filter of operations may name.
func OperationTypes() []string {
	types := []string{
		string(checkout.CreateOrder), string(checkout.RetryPayment), string(checkout.CancelOrder), string(checkout.ExpireOrder),
		string(payment.CreatePayment), string(payment.WatchPayment), string(lead.CreateLead),
		string(refund.RefundOrder), string(refund.CreateRefund), string(payment.RefundOrphan), string(refund.ExternalRefund), string(fulfilment.ReverseEffects),
	}
	for _, t := range fulfilment.Types() {
		types = append(types, string(t))
	}
	return types
}

// OutboxTypes lists what the type filter of outbox events may name.
func OutboxTypes() []string {
	return []string{string(outbox.OrderPlaced), string(outbox.OrderPaid), string(outbox.OrderRefunded)}
}

// OperationStates lists what the state filter of operations may name; PaymentStates, EventStates and OutboxStates are its like.
func OperationStates() []string {
	return []string{string(operation.Processing), string(operation.Completed), string(operation.Failed)}
}

// PaymentStates see OperationStates.
func PaymentStates() []string {
	var states []string
	for _, s := range payment.States() {
		states = append(states, string(s))
	}
	return states
}

// EventStates see OperationStates.
func EventStates() []string {
	return []string{
		string(inbox.Received), string(inbox.Applied), string(inbox.NoChange), string(inbox.Stale), string(inbox.Ignored),
		string(inbox.Quarantined),
	}
}

// The states of an outbox event are read off its times.
const (
	outboxWaiting    = "WAITING"    // the relay takes it, again if it failed before
	outboxDispatched = "DISPATCHED" // its consequences are written
	outboxParked     = "PARKED"     // given up until somebody settles it
)

// OutboxStates see OperationStates.
func OutboxStates() []string { return []string{outboxWaiting, outboxDispatched, outboxParked} }

// literally makes the condition column = 'STATE' for each state of our own.
func literally(column string, states []string) map[string]string {
	conditions := make(map[string]string, len(states))
	for _, s := range states {
		conditions[s] = column + " = '" + s + "'"
	}
	return conditions
}
