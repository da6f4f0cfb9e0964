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
		Facts: []string{"10,143.00 RUB", "2 × Lumen Notes", "29 Nov 2026, 21:00 UTC+3"},
		Verdict: console.Verdict{
			Kind: console.VerdictOK, Attempts: 4, Absorbed: 5, Orders: 1, Charges: 1, Effects: 3,
			Guards: []console.Guard{{Name: "operations_identity", Count: 3}, {Name: "one_row_per_event", Count: 2}},
		},
		Diagram: console.Diagram{
			Attempts: []console.Attempt{
				{At: at(0)}, {At: at(11), Guard: "operations_identity"}, {At: at(540), Guard: "stored result"}, {At: at(2100), Guard: "stored result"},
			},
			Nodes:   []console.Node{{Kind: "operation", Label: "CREATE_ORDER", State: "COMPLETED"}, {Kind: "order", Label: "1042", State: "FULFILLED"}, {Kind: "payment", Label: "10,143.00 RUB", State: "SUCCEEDED"}},
			Effects: []console.Effect{{Kind: "licenses", Count: 2, State: "DONE"}, {Kind: "bonus", Count: 1, State: "DONE"}, {Kind: "mail", Count: 1, State: "DONE"}},
		},
		Identity: identities("SUCCEEDED", "FULFILLED"),
		Entries: laned([]console.Entry{
			{ID: 2, At: at(3), Kind: "order.awaiting_payment", Detail: []console.Detail{{Name: "number", Value: "1042"}, {Name: "total", Value: "10143.00 RUB"}}},
			{ID: 3, At: at(4), Kind: "payment.created", Detail: []console.Detail{{Name: "attempt", Value: "1"}}},
			{ID: 4, At: at(9), Kind: "operation.completed"},
			{ID: 5, At: at(11), Kind: "operation.replayed", Guard: "operations_identity"},
			{ID: 6, At: at(540), Kind: "operation.replayed"},
			{ID: 7, At: at(2100), Kind: "operation.replayed"},
			{ID: 8, At: at(2150), Kind: "payment.submitting", From: "CREATED", To: "SUBMITTING"},
			{ID: 9, At: at(2480), Kind: "payment.pending", From: "SUBMITTING", To: "PENDING"},
			{ID: 10, At: at(72400), Kind: "inbox.received", Detail: []console.Detail{{Name: "event_id", Value: "evt_1NqLb52eZvKY"}, {Name: "type", Value: "payment.succeeded"}}},
			{ID: 11, At: at(72460), Kind: "payment.succeeded", From: "PENDING", To: "SUCCEEDED"},
			{ID: 12, At: at(72461), Kind: "order.paid", From: "AWAITING_PAYMENT", To: "PAID"},
			{ID: 13, At: at(72462), Kind: "inbox.applied"},
			{ID: 14, At: at(72900), Kind: "inbox.repeated"},
			{ID: 15, At: at(73100), Kind: "inbox.repeated"},
			{ID: 17, At: at(73260), Kind: "license.issued"},
			{ID: 18, At: at(73261), Kind: "license.issued"},
			{ID: 19, At: at(73300), Kind: "bonus.accrued"},
			{ID: 20, At: at(73900), Kind: "mail.sent"},
			{ID: 21, At: at(73901), Kind: "order.fulfilled", From: "PAID", To: "FULFILLED"},
		}),
	}
}

// laned puts entries where their kinds say; the domain is finer.
func laned(list []console.Entry) []console.Entry {
	for i := range list {
		list[i].Lane, _, _ = strings.Cut(list[i].Kind, ".")
	}
	return list
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
	m.Entries = laned(append(m.Entries[:7:7],
		console.Entry{ID: 30, At: at(12150), Kind: "payment.unknown", Detail: []console.Detail{{Name: "error", Value: "provider: no answer within 10s"}}},
		console.Entry{ID: 31, At: at(14000), Kind: "operation.postponed"}, console.Entry{ID: 32, At: at(18000), Kind: "operation.postponed"},
		console.Entry{ID: 33, At: at(94000), Kind: "operation.postponed", Omitted: 12}))
	m.Next = []console.Next{{Key: "reconcile", Subject: "CREATE_PAYMENT", At: now.Add(14 * time.Second)}, {Key: "expire", At: now.Add(28 * time.Minute)}}
	return m
}

func intentBad(l i18n.Lang) console.IntentModel {
	m := intentOK()
	m.Kind, m.Name, m.State = "operation", "CREATE_ORDER", "COMPLETED"
	m.Verdict = console.Verdict{Kind: console.VerdictBad, Attempts: 1, Orders: 1, Charges: 2, Effects: 1, Reasons: []string{name(l, "Two payments succeeded for one order", "У одного заказа два успешных платежа")}}
	m.Diagram.Attempts = m.Diagram.Attempts[:1]
	m.Diagram.Effects = []console.Effect{{Kind: "refund", Count: 1, State: "UNKNOWN"}}
	return m
}
