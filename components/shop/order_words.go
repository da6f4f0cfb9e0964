package shop

import (
	"cmp"
	"context"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// orderTitle carries the state, so that a tab in the background tells it.
func orderTitle(ctx context.Context, m OrderModel) string {
	return i18n.T(ctx, "order.document", i18n.T(ctx, "order.card."+string(m.Status.State)), m.Number)
}

// stepOf is where the slim line Details → Payment → Done stands; 4 is past its end, and 0 is an order that never gets there.
func stepOf(s State) int {
	switch s {
	case Preparing, AwaitingPayment, Unknown, UnknownLong, Declined:
		return 2
	case Paid:
		return 3
	case Canceled, Expired, Refunding:
		return 0
	default:
		return 4
	}
}

// sentence is the card's text for states that need one sentence with at most the amount.
func (c StatusCard) sentence(ctx context.Context) string {
	key := "order.card." + string(c.State) + ".text"
	switch c.State {
	case AwaitingPayment, Paid, Fulfilled, Refunding, Refunded:
		return i18n.T(ctx, key, c.Amount)
	case Declined:
		return i18n.T(ctx, "order.reason."+string(cmp.Or(c.Reason, ReasonUnknown))) + " " + i18n.T(ctx, key)
	case UnknownLong:
		return i18n.T(ctx, "order.card.UNKNOWN.text")
	default:
		return i18n.T(ctx, key)
	}
}

func (c StatusCard) unknown() bool { return c.State == Unknown || c.State == UnknownLong }

func (s Step) class() string {
	if s.At.IsZero() {
		return "ahead"
	}
	if s.Tone == "" {
		return string(ui.Good)
	}
	return string(s.Tone)
}

func (s Step) icon() string {
	switch s.Tone {
	case ui.Unknown:
		return "question"
	case ui.Bad:
		return "cross"
	case ui.Warn:
		return "undo"
	case ui.Neutral:
		return "ban"
	default:
		return "check"
	}
}
