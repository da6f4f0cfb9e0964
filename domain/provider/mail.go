package provider

import "context"

// Message is a mail ready to be sent. Its ID is made from the business key, so a technical repeat carries the same one and
// mail programs fold the two.
type Message struct {
	ID      string // without angle brackets
	To      string
	Subject string
	Text    string
}

// Mailer hands one message to a mail server, in one conversation. Errors: NotSent while the message
// can't have been accepted, Rejected for a permanent refusal, Unknown once it may have been.
type Mailer interface {
	Send(ctx context.Context, m Message) error
}
