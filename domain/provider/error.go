package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what an error of a call proves.
type Kind string

// The error kinds. Only Rejected (and NotFound on a lookup that is old enough) are knowledge; all others leave open what an
// earlier call did.
const (
	Rejected    Kind = "rejected"     // the provider decided no, from behind its idempotency layer: final
	Unknown     Kind = "unknown"      // sent, no usable answer: it may have happened
	NotSent     Kind = "not_sent"     // the request never left (dial error): this call did nothing
	RateLimited Kind = "rate_limited" // refused before it was looked at: this call did nothing
	InProgress  Kind = "in_progress"  // the same key is running there
	KeyReused   Kind = "key_reused"   // the key is known there with other inputs: a defect, or somebody else's key
	Auth        Kind = "auth"         // our credentials or the signature were refused: this call did nothing
	NotFound    Kind = "not_found"    // nothing under that ID or reference, as of now
	NotYet      Kind = "not_yet"      // asked and answered: still undecided there
	Garbage     Kind = "garbage"      // an incoming event that can't be understood
)

// Error is what every adapter returns.
type Error struct {
	Kind       Kind
	Code       string        // the provider's own code, for people; "" if none
	RetryAfter time.Duration // the provider's advice; 0 if none
	Err        error
}

func (e *Error) Error() string {
	text := "provider: " + string(e.Kind)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind with a formatted cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of err; Unknown for a foreign error, because not knowing is the safe reading.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Unknown
}
