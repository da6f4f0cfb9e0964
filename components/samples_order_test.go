package components_test

import (
	"time"

	"onefold/components/i18n"
	"onefold/components/shop"
	"onefold/components/ui"
)

var states = []shop.State{
	shop.Preparing, shop.AwaitingPayment, shop.Unknown, shop.UnknownLong, shop.Paid, shop.Fulfilled, shop.Declined,
	shop.Canceled, shop.Expired, shop.Refunding, shop.PartiallyRefunded, shop.Refunded,
}

// orderPages shows an order in every state of the status card.
func orderPages(l i18n.Lang) []page {
	var list []page
	for _, s := range states {
		list = append(list, page{name: "order-" + string(s), body: shop.Order(shopPage(), order(l, s))})
	}
	return list
}

func order(l i18n.Lang, s shop.State) shop.OrderModel {
	m := shop.OrderModel{
		ID: "0192f3a1-7c2e-7a40-9d11-5b2c8e1f9c4e", Number: "1042", PlacedAt: now.Add(-95 * time.Second), Lines: lines(l), Totals: totals(l),
		Reference: trace, RetryKey: "retry-key", Progress: steps(s),
		Status: shop.StatusCard{
			State: s, Amount: totals(l).Total, Until: now.Add(28 * time.Minute), Mail: "a•••@example.test",
			NextCheck: now.Add(14 * time.Second), PollEvery: shop.PollEvery(s, 0), CheckedAt: now, PaysAt: "pay.example.com", Reason: shop.ReasonBank,
			CanCancel: s == shop.AwaitingPayment || s == shop.Declined,
		},
	}
	switch s {
	case shop.Paid, shop.Fulfilled, shop.PartiallyRefunded, shop.Refunded:
		m.Receipt = shop.Receipt{Number: "1042", PaidAt: now.Add(-22 * time.Second), Amount: totals(l).Total, Method: "Visa •••• 4242", Email: "a•••@example.test"}
	}
	if s == shop.Fulfilled {
		m.Keys = []shop.LicenseKey{{Product: lines(l)[0].Name, Key: "QEP4-7T2M-XK9D-WPLA-03HC"}, {Product: lines(l)[0].Name, Key: "QEP4-MN5R-2VJS-8BGQ-71YF"}}
		m.Parcels = []shop.Parcel{{Number: 1, State: "underway", Tracking: "TP0B4C2D91AF"}, {Number: 2, State: "refused"}}
		m.Address = []string{"Ada Lovelace", name(l, "12 St James’s Square", "ул. Ленина, 12"), name(l, "London SW1Y 4JH", "Москва 101000")}
	}
	return m
}

func steps(s shop.State) []shop.Step {
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	start := []shop.Step{{Key: "placed", At: at(-95)}}
	switch s {
	case shop.Preparing:
		return append(start, shop.Step{Key: "payment"}, shop.Step{Key: "paid"}, shop.Step{Key: "keys"})
	case shop.Unknown, shop.UnknownLong:
		return append(start, shop.Step{Key: "payment", At: at(-91)}, shop.Step{Key: "unknown", At: at(-60), Tone: ui.Unknown}, shop.Step{Key: "paid"}, shop.Step{Key: "keys"})
	case shop.Declined:
		return append(start, shop.Step{Key: "payment", At: at(-91)}, shop.Step{Key: "declined", At: at(-60), Tone: ui.Bad})
	case shop.Canceled:
		return append(start, shop.Step{Key: "canceled", At: at(-60), Tone: ui.Neutral})
	case shop.Expired:
		return append(start, shop.Step{Key: "expired", At: at(-60), Tone: ui.Neutral})
	}
	start = append(start, shop.Step{Key: "payment", At: at(-91)})
	if s == shop.AwaitingPayment {
		return append(start, shop.Step{Key: "paid"}, shop.Step{Key: "keys"})
	}
	start = append(start, shop.Step{Key: "paid", At: at(-22)})
	if s == shop.Paid {
		return append(start, shop.Step{Key: "keys"}, shop.Step{Key: "fulfilled"})
	}
	return append(start, shop.Step{Key: "keys", At: at(-20)}, shop.Step{Key: "fulfilled", At: at(-20)})
}
