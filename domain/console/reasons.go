package console

import (
	"slices"
	"strings"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
)

// answer looks for the worst that is true.
func (in *Intent) answer(charges int) (State, []Reason) {
	for _, look := range []struct {
		state   State
		reasons []Reason
	}{
		{Bad, in.broken(charges)}, {Unknown, in.unresolved()}, {Ended, in.ended()}, {Running, in.open()},
	} {
		if len(look.reasons) > 0 {
			return look.state, look.reasons
		}
	}
	return Good, nil
}

// broken: promises that don't hold, and what only a person can settle.
func (in *Intent) broken(charges int) (reasons []Reason) {
	add := func(code, subject string) { reasons = append(reasons, Reason{code, subject}) }
	kept := in.kept()
	if kept > 1 {
		add("several_charges", "")
	}
	if o := in.Order; o != nil {
		paid := o.PaidAt != nil
		switch {
		case o.NeedsReview:
			add("needs_review", o.ReviewReason)
		case in.Money.Unrecorded && charges == 0:
			add("charge_unrecorded", string(o.Status))
		case paid && charges == 0:
			add("paid_without_charge", string(o.Status))
		case !paid && kept > 0:
			add("charge_without_paid", string(o.Status))
		}
		if units := o.units(); len(in.Licenses) > units || (o.Status == order.Fulfilled && len(in.Licenses) < units) {
			add("licenses_mismatch", string(o.Status))
		}
	}
	for _, e := range in.Events {
		if e.Status == inbox.Quarantined {
			add("event_quarantined", e.Reason)
		}
	}
	for _, o := range in.Operations {
		if o.Status == operation.Failed && slices.Contains(fulfilment.Types(), o.Type) && !in.superseded(o) {
			add("effect_failed", o.FailureCode)
		}
	}
	for _, x := range in.Outbox {
		if x.State == outboxParked {
			add("event_parked", x.Type)
		}
	}
	if len(in.Violations) > 0 && len(reasons) == 0 {
		add("invariant", in.Violations[0].Name)
	}
	return reasons
}

// kept counts the payments that brought money which hasn't all gone back.
func (in *Intent) kept() (n int) {
	for _, p := range in.Payments {
		if p.brought() && p.Refunded.Minor < p.Amount.Minor {
			n++
		}
	}
	return n
}

// superseded: a later attempt at the same parcel took its place (fulfilment.Superseded).
func (in *Intent) superseded(o Operation) bool {
	return o.Type == fulfilment.ShipParcel && !slices.ContainsFunc(in.Shipments, func(s Shipment) bool { return s.OperationID == o.ID })
}

func (o Order) units() (n int) {
	for _, i := range o.Items {
		if i.Kind == "license" {
			n += i.Quantity
		}
	}
	return n
}

// unresolved: the outside hasn't said.
func (in *Intent) unresolved() (reasons []Reason) {
	for _, p := range in.Payments {
		if p.Status == payment.Unknown {
			reasons = append(reasons, Reason{"payment_unknown", p.FailureCode})
		}
	}
	for _, r := range in.Refunds {
		if r.Status == unknown {
			reasons = append(reasons, Reason{"refund_unknown", ""})
		}
	}
	for _, s := range in.Shipments {
		if s.Status == unknown {
			reasons = append(reasons, Reason{"shipment_unknown", ""})
		}
	}
	return reasons
}

// ended: there is no result, and that is known.
func (in *Intent) ended() []Reason {
	switch {
	case in.Order != nil && (in.Order.Status == order.Canceled || in.Order.Status == order.Expired):
		return []Reason{{"order_" + strings.ToLower(string(in.Order.Status)), ""}}
	case in.Order == nil && in.Root != nil && in.Root.Status == operation.Failed:
		return []Reason{{"refused", in.Root.FailureCode}}
	}
	return nil
}

// open: work is under way, or it is the customer's turn.
func (in *Intent) open() (reasons []Reason) {
	if in.Order != nil && in.Order.Status == order.AwaitingPayment {
		reasons = append(reasons, Reason{"awaiting_payment", in.lastPayment()})
	}
	if in.Order != nil && in.Order.Status == order.Paid {
		reasons = append(reasons, Reason{"effects_open", ""})
	}
	for _, s := range in.steps() {
		reasons = append(reasons, Reason{"step_planned", s.Subject})
	}
	return reasons
}

func (in *Intent) lastPayment() string {
	if len(in.Payments) == 0 {
		return ""
	}
	return string(in.Payments[len(in.Payments)-1].Status)
}
