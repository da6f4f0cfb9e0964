package web

import (
	"slices"

	view "onefold/components/console"
	"onefold/domain/console"
)

// moneyModel puts our side of each payment beside the provider's.
func moneyModel(in console.Intent) view.Money {
	if in.Order == nil {
		return view.Money{}
	}
	m := view.Money{
		Known: true, Captured: in.Money.Captured.String(), Returned: in.Money.Returned.String(), Left: in.Money.Left.String(),
	}
	if in.Money.OnItsWay.Minor > 0 {
		m.OnItsWay = in.Money.OnItsWay.String()
	}
	for i, p := range in.Payments {
		h := in.Heard[i]
		s := view.Sides{
			ID: p.ID.String(), Attempt: p.Attempt, Got: h.Got, Sends: h.Sends, Failure: p.FailureCode, State: string(p.Status), Amount: p.Amount.String(),
			Provider: p.Provider, Theirs: h.State, TheirsSum: h.Amount, Reference: h.ProviderID, UpdatedAt: p.UpdatedAt, HeardAt: h.At, Via: h.Via, Differs: h.Differs,
		}
		if p.Refunded.Minor > 0 {
			s.Refunded = p.Refunded.String()
		}
		if h.ProviderAt != nil {
			s.SaidAt = *h.ProviderAt
		}
		m.Payments = append(m.Payments, s)
	}
	slices.Reverse(m.Payments) // the latest attempt is what people ask about
	return m
}

// hooks are the provider's events, with where each stands in the timeline.
func hooks(in console.Intent) (list []view.Hook) {
	for _, e := range in.Events {
		h := view.Hook{EventID: e.EventID, Type: e.Type, State: string(e.Status), Reason: e.Reason, Deliveries: e.Deliveries, ReceivedAt: e.ReceivedAt, Anchor: "timeline"}
		for _, line := range in.Timeline {
			if line.EventID.UUID == e.ID {
				h.Anchor = line.Anchor
				break
			}
		}
		list = append(list, h)
	}
	return list
}
