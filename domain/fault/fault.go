// Package fault is the one error of the domain: a kind that decides the HTTP status and what a job does next, a code that
// clients match on (CONTRACT section 2), a message that is safe for a customer, and a cause for operators.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what an error means to a caller.
type Kind string

// The kinds, from a caller's point of view.
const (
	Invalid     Kind = "invalid"     // the input broke a rule; nothing happened
	NotFound    Kind = "not_found"   // absent, or somebody else's
	Forbidden   Kind = "forbidden"   // known, but not allowed
	Conflict    Kind = "conflict"    // the state refuses it; final for this input
	KeyReused   Kind = "key_reused"  // the key belongs to another request
	InProgress  Kind = "in_progress" // the same intent is running
	Gone        Kind = "gone"        // the key's result was cleaned away
	Unavailable Kind = "unavailable" // a dependency is down; the same request may succeed later
	Internal    Kind = "internal"    // a defect of ours
)

// Field names one broken rule of the input.
type Field struct {
	Field   string `json:"field"`   // path in the caller's own spelling, e.g. "items[0].quantity"
	Rule    string `json:"rule"`    // machine-readable, e.g. "required", "max=99"
	Message string `json:"message"` // for people
}

// Error is the domain's error. Message must be safe for a customer; Err is for the log only.
type Error struct {
	Kind        Kind
	Code        string        // e.g. "OUT_OF_STOCK"
	Message     string        // safe for a customer
	Fields      []Field       // for Invalid only
	RetryAfter  time.Duration // 0 means no advice
	OperationID string        // the operation concerned; "" means none
	Err         error         // cause; nil means none
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error without a cause.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Validation makes the error for an input that broke the named rules.
func Validation(fields ...Field) *Error {
	return &Error{Kind: Invalid, Code: "VALIDATION_FAILED", Message: "Some fields need correction.", Fields: fields}
}

// Missing makes the answer for what does not exist or belongs to somebody else: the two are not told apart.
func Missing(what string) *Error {
	return New(NotFound, "NOT_FOUND", "There is no such "+what+".")
}

// Of finds the domain error in a chain; ok is false for a foreign error, which callers treat as Internal.
func Of(err error) (e *Error, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}

// KindOf returns the kind of err; Internal for a foreign error.
func KindOf(err error) Kind {
	if e, ok := Of(err); ok {
		return e.Kind
	}
	return Internal
}
