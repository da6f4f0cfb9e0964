package components_test

import (
	"time"

	"onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

const (
	orderID     = "0192f3a1-7c2e-7a40-9d11-5b2c8e1f9c4e"
	operationID = "8c5d0a7e-2b1f-5e34-a6c9-0f4d7b3e9a12"
)

func consolePages(l i18n.Lang) []page {
	return []page{
		{name: "console-sign-in", body: console.SignIn(guestPage(), console.SignInModel{})},
		{name: "console-overview", body: console.Overview(consolePage("overview"), overview())},
		{name: "console-overview-calm", body: console.Overview(calm(consolePage("overview")), console.OverviewModel{Queues: []console.Queue{{Name: "unknown_payments", Limit: time.Hour}}})},
		{name: "console-refused", body: console.Refused(shopPage(), console.ErrorModel{Title: i18n.In(l, "error.403.title"), Detail: i18n.In(l, "error.role", "viewer", "shopper"), Reference: trace})},
		{name: "console-operations", body: console.Operations(consolePage("operations"), operations())},
		{name: "console-operations-empty", body: console.Operations(consolePage("operations"), console.OperationsModel{})},
		{name: "console-payments", body: console.Payments(consolePage("payments"), payments())},
		{name: "console-payments-zero", body: console.Payments(consolePage("payments"), console.PaymentsModel{Filter: console.Filter{State: "UNKNOWN", States: []string{"UNKNOWN"}, Providers: []string{"sim"}}})},
		{name: "console-orders", body: console.Orders(consolePage("orders"), consoleOrders())},
		{name: "console-inbox", body: console.Inbox(consolePage("inbox"), inbox())},
		{name: "console-outbox", body: console.Outbox(consolePage("outbox"), outbox())},
		{name: "console-intent-ok", body: console.Intent(consolePage("operations"), intentOK())},
		{name: "console-intent-unknown", body: console.Intent(consolePage("operations"), intentUnknown())},
		{name: "console-intent-bad", body: console.Intent(consolePage("operations"), intentBad(l))},
		{name: "console-search", body: console.Search(consolePage(""), console.SearchModel{})},
		{name: "console-search-none", body: console.Search(consolePage(""), console.SearchModel{Query: "evt_5814", Kinds: []string{"order", "operation", "key", "event"}, Near: []console.Match{{Kind: "event", What: "evt_58140", URL: path.ConsoleIntent(orderID)}}})},
		{name: "console-search-several", body: console.Search(consolePage(""), console.SearchModel{Query: "checkout-1", Groups: []console.Group{{Kind: "key", Matches: []console.Match{
			{Kind: "operation", ID: operationID, Entity: "operation", State: "COMPLETED", URL: path.ConsoleIntent(operationID)},
			{Kind: "order", ID: orderID, Entity: "order", State: "PAID", URL: path.ConsoleIntent(orderID)},
		}}}})},
		{name: "console-error", body: console.Error(consolePage(""), console.ErrorModel{Title: i18n.In(l, "error.403.title"), Detail: i18n.In(l, "error.403.text"), Reference: trace})},
	}
}

func operations() console.OperationsModel {
	m := console.OperationsModel{Filter: console.Filter{Types: []string{"CREATE_ORDER"}, States: []string{"PROCESSING", "COMPLETED", "FAILED"}}, Pager: ui.Pager{Newer: "?before=x", Older: "?after=x"}}
	types := []string{"CREATE_PAYMENT", "CREATE_ORDER", "ISSUE_LICENSES", "ACCRUE_BONUS", "SEND_NOTIFICATION", "CREATE_PAYMENT", "CREATE_ORDER", "CREATE_ORDER"}
	for i := range 14 {
		r := console.OperationRow{
			ID: operationID, Type: types[i%len(types)], Key: "payment:create:order:" + orderID + ":1", State: "COMPLETED", OrderID: orderID,
			Order: "1042", Attempts: 1 + i%3, Result: "order 1042", CreatedAt: now.Add(-time.Duration(i*i*47+12) * time.Second),
		}
		switch i {
		case 0, 5:
			r.State, r.Result, r.NextAt = "PROCESSING", "", now.Add(14*time.Second)
		case 7:
			r.State, r.Result, r.OrderID = "FAILED", "OUT_OF_STOCK", ""
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

func payments() console.PaymentsModel {
	var m console.PaymentsModel
	for i, s := range []string{"UNKNOWN", "PENDING", "SUCCEEDED", "SUBMITTING", "FAILED", "CANCELED", "SUCCEEDED", "PARTIALLY_REFUNDED", "REFUNDED", "CREATED"} {
		m.Rows = append(m.Rows, console.PaymentRow{
			ID: orderID, OrderID: orderID, Order: "1042", Attempt: 1 + i%2, State: s, Amount: "10,143.00 RUB", Provider: "sim",
			ProviderRef: "pay_3Nq7bK2eZvKYlo2C", UpdatedAt: now.Add(-time.Duration(i*i*61+3) * time.Second),
		})
	}
	return m
}

func consoleOrders() console.OrdersModel {
	var m console.OrdersModel
	for i, s := range []string{"AWAITING_PAYMENT", "PAID", "FULFILLED", "CANCELED", "EXPIRED", "PARTIALLY_REFUNDED", "REFUNDED"} {
		m.Rows = append(m.Rows, console.OrderRow{
			ID: orderID, Number: "1042", State: s, Review: []string{"", "amount_mismatch"}[i%2], Email: "a•••@example.com", Total: "10,143.00 RUB", Units: 1 + i,
			CreatedAt: now.Add(-time.Duration(i*i*61+3) * time.Second),
		})
	}
	return m
}

func inbox() console.InboxModel {
	var m console.InboxModel
	for i, s := range []string{"APPLIED", "NO_CHANGE", "RECEIVED", "STALE", "QUARANTINED", "IGNORED"} {
		m.Rows = append(m.Rows, console.InboxRow{
			ID: orderID, EventID: "evt_1NqLb52eZvKY", Provider: "sim", Type: "payment.succeeded", State: s, Deliveries: 1 + i%4, OrderID: orderID, Order: "1042",
			Reason: []string{"", "already SUCCEEDED", "", "order is past this", "amount differs: 10,143.00 and 1.00 RUB", "unknown object"}[i], ReceivedAt: now.Add(-time.Duration(i*i*61+3) * time.Second),
		})
	}
	return m
}

func outbox() console.OutboxModel {
	var m console.OutboxModel
	for i, s := range []string{"WAITING", "DISPATCHED", "DISPATCHED", "PARKED"} {
		m.Rows = append(m.Rows, console.OutboxRow{
			ID: orderID, Type: "ORDER_PAID", State: s, OrderID: orderID, Order: "1042", Attempts: i, Lag: time.Duration(i*i*38+21) * time.Millisecond,
			Error: []string{"", "", "", "smtp: connection refused"}[i], CreatedAt: now.Add(-time.Duration(i*i*61+3) * time.Second),
		})
	}
	return m
}
