package console

import (
	"onefold/domain/money"
	"onefold/domain/payment"
)

// Money is where the order's money is. Sums in another currency than the order's are left to the violations.
type Money struct {
	Captured money.Amount // came in, also what the order couldn't take
	Returned money.Amount // went back for sure
	OnItsWay money.Amount // is on its way back, or may be
	Left     money.Amount // may still be refunded
	// Unrecorded says that the provider has taken money that isn't recorded here.
	Unrecorded bool
}

// balance adds up payments and refunds.
func (in *Intent) balance() (m Money) {
	if in.Order == nil {
		return m
	}
	m.Captured.Currency = in.Order.Total.Currency
	m.Returned, m.OnItsWay, m.Left = m.Captured, m.Captured, m.Captured
	for _, p := range in.Payments {
		if p.brought() && p.Amount.Currency == m.Captured.Currency {
			m.Captured.Minor += p.Amount.Minor
		}
	}
	for _, r := range in.Refunds {
		switch {
		case r.Amount.Currency != m.Captured.Currency || r.Status == failed:
		case r.Status == "SUCCEEDED":
			m.Returned.Minor += r.Amount.Minor
		default:
			m.OnItsWay.Minor += r.Amount.Minor
		}
	}
	m.Left.Minor = max(m.Captured.Minor-m.Returned.Minor-m.OnItsWay.Minor, 0)
	for i, h := range in.Heard {
		m.Unrecorded = m.Unrecorded || h.State == string(payment.Succeeded) && !in.Payments[i].brought()
	}
	return m
}

// brought says that money came in through the attempt.
func (p Payment) brought() bool { return p.Status.Captured() || p.OrphanedAt != nil }
