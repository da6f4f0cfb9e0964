// Package console reads what operators look at: lists with filters, the queues of what needs a person, the search that takes any
// ID, and one intent with everything that belongs to it. It changes nothing.
//
// What it shows is masked here, not in the pages: mail addresses, licence keys and addresses inside error texts. Names,
// delivery addresses and stored answers are never read. The payload of an event is read for one purpose: its provider's adapter says
// from it when the event was made and what it says of the payment (Intent.Hear); the payload itself is shown nowhere.
package console
