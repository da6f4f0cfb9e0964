// Package console reads what operators look at: lists with filters, the queues of what needs a person, the search that takes any
// ID, and one intent with everything that belongs to it. It changes nothing.
//
// What it shows is masked here, not in the pages: mail addresses, licence keys and addresses inside error texts. Names,
// delivery addresses, payloads and stored answers are never read.
package console
