package console

import (
	"time"

	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
)

// Line is a sentence for the customer: a code that picks the words, and what is filled in, in this order: N, Amount, At, Text. Zero
// values are left out.
type Line struct {
	Code   string
	N      int64
	Amount money.Amount
	At     time.Time
	Text   string
}

// Story tells the customer what happened, whether money was taken twice, and what comes next, from facts alone. It names nothing
// that only operators know.
func (in *Intent) Story() []Line {
	if in.Order == nil {
		return in.refusal()
	}
	o := in.Order
	lines := []Line{{Code: "placed", N: o.Number, Amount: o.Total, At: o.CreatedAt}}
	if n := in.Verdict.Attempts; n > 1 {
		lines = append(lines, Line{Code: "repeats", N: int64(n)})
	}
	lines = append(lines, in.charges()...)
	lines = append(lines, in.returns()...)
	lines = append(lines, in.received()...)
	return append(lines, in.comes()...)
}

// refusal is the story of a request that made no order.
func (in *Intent) refusal() []Line {
	switch {
	case in.Root == nil || in.Root.Type == "CREATE_LEAD":
		return []Line{{Code: "enquiry", At: in.madeAt()}}
	case in.Root.Status == operation.Failed:
		return []Line{{Code: "refused", At: in.Root.CreatedAt}, {Code: "refused." + in.Root.FailureCode}, {Code: "not_charged"}}
	}
	return []Line{{Code: "working", At: in.Root.CreatedAt}}
}

func (in *Intent) madeAt() time.Time {
	if in.Lead != nil {
		return in.Lead.CreatedAt
	}
	return in.Root.CreatedAt
}

// charges says what was taken.
func (in *Intent) charges() (lines []Line) {
	var came []Payment
	missed := 0
	for _, p := range in.Payments {
		switch {
		case p.brought():
			came = append(came, p)
		case p.Status == payment.Failed || p.Status == payment.Canceled:
			missed++
		}
	}
	if missed > 0 && (len(came) > 0 || in.Order.Status == order.AwaitingPayment) {
		lines = append(lines, Line{Code: "missed", N: int64(missed)})
	}
	switch last := in.lastPayment(); {
	case in.Money.Unrecorded:
		return append(lines, Line{Code: "unrecorded"})
	case len(came) > 1:
		return append(lines, Line{Code: "charged_more", N: int64(len(came)), Amount: in.Money.Captured})
	case len(came) == 1:
		lines = append(lines, Line{Code: "charged_once", Amount: came[0].Amount, At: came[0].paidAt()})
		return append(lines, Line{Code: "not_twice"})
	case last == string(payment.Unknown) || last == string(payment.Submitting):
		return append(lines, Line{Code: "unknown"}, Line{Code: "not_twice"})
	}
	return append(lines, Line{Code: "not_charged"})
}

func (p Payment) paidAt() time.Time {
	switch {
	case p.SucceededAt != nil:
		return *p.SucceededAt
	case p.OrphanedAt != nil:
		return *p.OrphanedAt
	}
	return p.UpdatedAt
}

// returns says what went back, or will.
func (in *Intent) returns() (lines []Line) {
	if in.Money.Returned.Minor > 0 {
		lines = append(lines, Line{Code: "returned", Amount: in.Money.Returned})
	}
	if in.Money.OnItsWay.Minor > 0 {
		lines = append(lines, Line{Code: "returning", Amount: in.Money.OnItsWay})
	}
	return lines
}

// received says what was handed over.
func (in *Intent) received() (lines []Line) {
	if n := len(in.Licenses); n > 0 && in.Order.Status != order.Refunded {
		lines = append(lines, Line{Code: "licenses", N: int64(n)})
	}
	for _, s := range in.Shipments {
		switch {
		case s.DeliveredAt != nil:
			lines = append(lines, Line{Code: "delivered", At: *s.DeliveredAt})
		case s.Tracking != "":
			lines = append(lines, Line{Code: "shipped", Text: s.Tracking})
		}
	}
	for _, n := range in.Notifications {
		if n.SentAt != nil {
			lines = append(lines, Line{Code: "mailed", At: *n.SentAt, Text: n.Recipient})
		}
	}
	return lines
}

// comes says what happens next, and whose turn it is.
func (in *Intent) comes() []Line {
	o := in.Order
	switch {
	case in.Verdict.State == Bad || o.NeedsReview:
		return []Line{{Code: "next.person"}}
	case in.Verdict.State == Unknown:
		if len(in.Next) > 0 && in.Next[0].Kind == "reconcile" {
			return []Line{{Code: "next.asking"}}
		}
		return []Line{{Code: "next.waiting"}}
	case o.Status == order.AwaitingPayment:
		for _, s := range in.Next {
			if s.Kind == "expire" {
				return []Line{{Code: "next.pay_until", At: s.At}}
			}
		}
		return []Line{{Code: "next.pay"}}
	case o.Status == order.Paid:
		return []Line{{Code: "next.delivering"}}
	case in.Money.OnItsWay.Minor > 0:
		return []Line{{Code: "next.refund"}}
	}
	return []Line{{Code: "next.nothing"}}
}
