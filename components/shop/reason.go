package shop

import "strings"

// Reason is why a payment did not go through, as a class: the raw code is for operators.
type Reason string

// The reasons; each has its word "order.reason.<reason>".
const (
	ReasonUnknown Reason = "other"
	ReasonBank    Reason = "bank"     // the card's bank said no
	ReasonFunds   Reason = "funds"    // not enough money
	ReasonCard    Reason = "card"     // expired or mistyped
	ReasonPayer   Reason = "payer"    // given up at the provider's page, or too late
	ReasonSystem  Reason = "provider" // the provider refused or lost it
)

// ReasonOf finds the class of a provider's code; payment is the state of the attempt.
func ReasonOf(payment, code string) Reason {
	code = strings.ToLower(code)
	for _, r := range []struct {
		part   string
		reason Reason
	}{
		{"insufficient", ReasonFunds},
		{"expired_card", ReasonCard},
		{"invalid_card", ReasonCard},
		{"incorrect", ReasonCard},
		{"cvc", ReasonCard},
		{"declin", ReasonBank},
		{"fraud", ReasonBank},
		{"do_not_honor", ReasonBank},
		{"expired", ReasonPayer},
		{"cancel", ReasonPayer},
		{"abandon", ReasonPayer},
	} {
		if strings.Contains(code, r.part) {
			return r.reason
		}
	}
	switch {
	case payment == "FAILED":
		return ReasonSystem
	case code == "" && payment == "CANCELED":
		return ReasonPayer
	default:
		return ReasonUnknown
	}
}
