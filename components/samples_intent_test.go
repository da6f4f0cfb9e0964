package components_test

import (
	"strings"
	"time"

	"onefold/components/console"
	"onefold/components/i18n"
)

func at(ms int) time.Time { return now.Add(-95*time.Second + time.Duration(ms)*time.Millisecond) }

func intentOK() console.IntentModel {
	return console.IntentModel{
		Kind: "order", Name: "1042", State: "FULFILLED",
		Facts: []string{"10,143.00 RUB", "2 × Lumen Notes"}, At: at(0), Link: "https://onefold.test/go/" + orderID,
		JSON: "/console/intents/" + orderID + ".json", Text: "/console/intents/" + orderID + ".txt",
		Verdict: console.Verdict{
			Kind: console.VerdictOK, Attempts: 4, Absorbed: 5, Orders: 1, Charges: 1, Effects: 3,
			Guards: []console.Guard{{Name: "operations_identity", Count: 3}, {Name: "one_row_per_event", Count: 2}}, Money: "Charged once: 10143.00 RUB.",
		},
		Diagram: console.Diagram{
			Attempts: []console.Attempt{
				{At: at(0)}, {At: at(11), Guard: "operations_identity"}, {At: at(540), Guard: "stored result"}, {At: at(2100), Guard: "stored result"},
			},
			Nodes:   []console.Node{{Kind: "operation", Label: "CREATE_ORDER", State: "COMPLETED"}, {Kind: "order", Label: "1042", State: "FULFILLED"}, {Kind: "payment", Label: "10,143.00 RUB", State: "SUCCEEDED"}},
			Effects: []console.Effect{{Kind: "licenses", Count: 2, State: "DONE"}, {Kind: "bonus", Count: 1, State: "DONE"}, {Kind: "mail", Count: 1, State: "DONE"}},
		},
		Identity: identities("SUCCEEDED", "FULFILLED"),
		Money: console.Money{
			Known: true, Captured: "10143.00 RUB", Returned: "0.00 RUB", Left: "10143.00 RUB",
			Payments: []console.Sides{{
				ID: "0192f3a1-7c31-7fb2-b0a7-2f9f6a1d3c08", Attempt: 1, Got: "yes", Sends: 1, State: "SUCCEEDED", Amount: "10143.00 RUB", Provider: "sim",
				Theirs: "SUCCEEDED", TheirsSum: "10143.00 RUB", Reference: "pay_3Nq7bK2eZvKYlo2C", UpdatedAt: at(72460), HeardAt: at(72400), Via: "event",
			}},
		},
		Hooks: []console.Hook{{EventID: "evt_1NqLb52eZvKY", Type: "payment.succeeded", State: "APPLIED", Deliveries: 3, ReceivedAt: at(72400), Anchor: "e-10"}},
		Stories: []console.Story{
			{Lang: "en", Lines: []console.Sentence{{Before: "Your order 1042 for 10,143.00 ₽ was placed on ", Time: "29 Nov 2026, 21:00 UTC+3", At: at(0), After: "."}, {Before: "You were not charged twice."}}},
			{Lang: "ru", Lines: []console.Sentence{{Before: "Ваш заказ 1042 оформлен ", Time: "29 ноя 2026, 21:00 UTC+3", At: at(0), After: "."}, {Before: "Двойного списания не было."}}},
		},
		Notes: []console.Note{{By: "olga@shop.test", Text: "Called back, all is well.", At: at(80000)}},
		Timeline: timelineOf([]console.Entry{
			{Anchor: "http-1", At: at(0), Kind: "http.request", Lane: "http", Took: 9 * time.Millisecond, Detail: []console.Detail{{Name: "key", Value: "0192f3a1-6f00-7d3b-8a55-e1c0a94b7f21"}}},
			{Anchor: "e-2", Trace: trace, At: at(3), Kind: "order.awaiting_payment", Detail: []console.Detail{{Name: "number", Value: "1042"}, {Name: "total", Value: "10143.00 RUB"}}},
			{Anchor: "e-3", Trace: trace, At: at(4), Kind: "payment.created", Detail: []console.Detail{{Name: "attempt", Value: "1"}}},
			{Anchor: "e-4", Trace: trace, At: at(9), Kind: "operation.completed"},
			{Anchor: "e-5", Trace: trace, At: at(11), Kind: "operation.replayed", Guard: "operations_identity"},
			{Anchor: "e-6", Trace: trace, At: at(540), Kind: "operation.replayed"},
			{Anchor: "e-7", Trace: trace, At: at(2100), Kind: "operation.replayed"},
			{Anchor: "e-8", Trace: trace, At: at(2150), Kind: "payment.submitting", From: "CREATED", To: "SUBMITTING"},
			{Anchor: "e-9", Trace: trace, At: at(2480), Kind: "payment.pending", From: "SUBMITTING", To: "PENDING"},
			{Anchor: "e-10", Trace: trace, At: at(72400), Kind: "inbox.received", Detail: []console.Detail{{Name: "event_id", Value: "evt_1NqLb52eZvKY"}, {Name: "type", Value: "payment.succeeded"}}},
			{Anchor: "e-11", Trace: trace, At: at(72460), Kind: "payment.succeeded", From: "PENDING", To: "SUCCEEDED"},
			{Anchor: "e-12", Trace: trace, At: at(72461), Kind: "order.paid", From: "AWAITING_PAYMENT", To: "PAID"},
			{Anchor: "e-13", Trace: trace, At: at(72462), Kind: "inbox.applied"},
			{Anchor: "e-14", Trace: trace, At: at(72900), Kind: "inbox.repeated"},
			{Anchor: "e-15", Trace: trace, At: at(73100), Kind: "inbox.repeated"},
			{Anchor: "e-17", Trace: trace, At: at(73260), Kind: "license.issued"},
			{Anchor: "e-18", Trace: trace, At: at(73261), Kind: "license.issued"},
			{Anchor: "e-19", Trace: trace, At: at(73300), Kind: "bonus.accrued"},
			{Anchor: "e-20", Trace: trace, At: at(73900), Kind: "mail.sent"},
			{Anchor: "e-21", Trace: trace, At: at(73901), Kind: "order.fulfilled", From: "PAID", To: "FULFILLED"},
		}),
	}
}

// timelineOf puts entries where their kinds say; the domain is finer.
func timelineOf(list []console.Entry) console.Timeline {
	t := console.Timeline{Now: now, Address: "/console/intents/" + orderID, Order: []string{
		"http", "operation", "db", "outbox", "job", "provider_out", "provider_in", "inbox", "reconcile", "operator", "mail",
	}}
	for _, e := range list {
		noun, _, _ := strings.Cut(e.Kind, ".")
		switch noun {
		case "operation", "inbox", "mail", "http":
			e.Lane = noun
		case "press":
			e.Lane = "operator"
		default:
			e.Lane = "db"
		}
		t.Entries = append(t.Entries, e)
	}
	return t
}

func identities(payment, order string) []console.Identity {
	return []console.Identity{
		{Kind: "order", Value: orderID, Entity: "order", State: order},
		{Kind: "operation", Value: operationID, Entity: "operation", State: "COMPLETED"},
		{Kind: "key", Value: "0192f3a1-6f00-7d3b-8a55-e1c0a94b7f21"},
		{Kind: "payment", Value: "0192f3a1-7c31-7fb2-b0a7-2f9f6a1d3c08", Entity: "payment", State: payment, Note: "1"},
		{Kind: "provider_payment", Value: "pay_3Nq7bK2eZvKYlo2C"},
		{Kind: "event", Value: "evt_1NqLb52eZvKY", Entity: "inbox", State: "APPLIED"},
		{Kind: "user", Value: "a•••@example.test", Masked: true},
		{Kind: "trace", Value: trace, Minor: true},
		{Kind: "job", Value: "48213", Minor: true},
	}
}

func intentUnknown() console.IntentModel {
	m := intentOK()
	m.State = "AWAITING_PAYMENT"
	m.Verdict = console.Verdict{Kind: console.VerdictUnknown, Attempts: 9, Absorbed: 8, Orders: 1}
	for i := range 5 {
		m.Diagram.Attempts = append(m.Diagram.Attempts, console.Attempt{At: at(3000 + i), Guard: "stored result"})
	}
	m.Diagram.Nodes[1].State, m.Diagram.Nodes[2].State = "AWAITING_PAYMENT", "UNKNOWN"
	m.Diagram.Effects = nil
	m.Identity = identities("UNKNOWN", "AWAITING_PAYMENT")
	m.Money.Captured, m.Money.Left = "0.00 RUB", "0.00 RUB"
	m.Money.Payments[0].State, m.Money.Payments[0].Got, m.Money.Payments[0].Sends = "UNKNOWN", "unanswered", 3
	m.Money.Payments[0].Differs, m.Hooks = []string{"state", "amount"}, nil
	m.Timeline = timelineOf(append(m.Timeline.Entries[:7:7],
		console.Entry{Anchor: "press-1", At: at(12000), Kind: "press.reconcile", By: "olga@shop.test", Role: "operator", Reason: "the customer called"},
		console.Entry{Anchor: "e-30", Trace: trace, At: at(12150), Kind: "payment.unknown", Detail: []console.Detail{{Name: "error", Value: "provider: no answer within 10s"}}},
		console.Entry{Anchor: "e-31", Trace: trace, At: at(14000), Kind: "operation.postponed"}, console.Entry{Anchor: "e-32", Trace: trace, At: at(18000), Kind: "operation.postponed"},
		console.Entry{Anchor: "e-33", Trace: trace, At: at(94000), Kind: "operation.postponed", Omitted: 12}))
	m.Timeline.Next = []console.Next{{Key: "reconcile", Subject: "CREATE_PAYMENT", At: now.Add(14 * time.Second)}, {Key: "expire", At: now.Add(28 * time.Minute)}}
	m.Verdict.Next = &m.Timeline.Next[0]
	return m
}

func intentBad(l i18n.Lang) console.IntentModel {
	m := intentOK()
	m.Kind, m.Name, m.State = "operation", "CREATE_ORDER", "COMPLETED"
	m.Verdict = console.Verdict{Kind: console.VerdictBad, Attempts: 1, Orders: 1, Charges: 2, Effects: 1, Reasons: []string{name(l, "Two payments succeeded for one order", "У одного заказа два успешных платежа")}}
	m.Verdict.Broken = []console.Violation{{Number: 3, Promise: m.Verdict.Reasons[0], Details: []string{"order " + orderID + " is FULFILLED over 1014300 RUB with 2 succeeded payments of 2028600 RUB (minor units)"}}}
	m.Twins = []console.Twin{{Number: "1041", State: "PAID", URL: "/console/intents/" + orderID, At: at(0), Earlier: true}}
	m.Reuses = []console.Reuse{{At: at(11), Anchor: "e-5", Fields: []console.Field{{Path: "items.lumen-notes", First: "2", Later: "9"}, {Path: "email", First: "sha256:1f2e3d4c", Later: "sha256:99aa77bb"}, {Path: "promoCode", Later: "WELCOME10"}}}}
	m.Diagram.Attempts = m.Diagram.Attempts[:1]
	m.Diagram.Effects = []console.Effect{{Kind: "refund", Count: 1, State: "UNKNOWN"}}
	return m
}
