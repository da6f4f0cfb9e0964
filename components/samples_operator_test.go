package components_test

import (
	"time"

	"onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
)

const otherID = "0192f3b7-1a2b-7c3d-8e4f-9a0b1c2d3e4f"

func offer(name, object, verdict, guard string) console.Offer {
	return console.Offer{Name: name, Object: object, Verdict: verdict, Guard: guard, Role: "operator", Allowed: true, Key: otherID}
}

func operatorPages(l i18n.Lang) []page {
	intent := intentUnknown()
	acts := actions()
	intent.Actions, intent.NoteForm = console.Actions(acts), console.NoteForm(acts.Case)
	viewed := acts
	viewed.Done, viewed.Case.Allowed = console.DoneModel{}, false
	viewed.Offers = append([]console.Offer{}, acts.Offers...)
	for i := range viewed.Offers {
		viewed.Offers[i].Allowed = false
	}
	forViewer := intentUnknown()
	forViewer.Actions, forViewer.NoteForm = console.Actions(viewed), console.NoteForm(viewed.Case)
	run := console.Reconciliation{ID: otherID, By: "olga@onefold.example", Scope: "matching", Total: 3, Done: 2, Changed: 1, Unchanged: 1, At: now.Add(-3 * time.Second)}
	finished := run
	finished.Done, finished.Unreachable, finished.FinishedAt = 3, 1, now
	items := []console.RunItem{
		{Kind: "payment", ID: otherID, OrderID: orderID, Order: "1042", Before: "UNKNOWN", After: "SUCCEEDED", Result: "CHANGED", DoneAt: now},
		{Kind: "refund", ID: operationID, OrderID: orderID, Order: "1042", Before: "UNKNOWN", After: "UNKNOWN", Result: "UNCHANGED", DoneAt: now, NextAt: now.Add(time.Minute)},
	}
	return []page{
		{name: "console-intent-actions", body: console.Intent(consolePage("operations"), intent)},
		{name: "console-intent-viewer", body: console.Intent(consolePage("operations"), forViewer)},
		{name: "console-work-unknown", body: console.Work(consolePage("queue.unknown_payments"), workUnknown())},
		{name: "console-work-stuck", body: console.Work(consolePage("queue.stuck_operations"), workStuck())},
		{name: "console-work-groups", body: console.Work(consolePage("queue.failed_effects"), workGrouped())},
		{name: "console-work-duplicates", body: console.Work(consolePage("queue.possible_duplicates"), workAlike())},
		{name: "console-work-approvals", body: console.Work(consolePage("queue.approvals"), workApprovals(l))},
		{name: "console-work-empty", body: console.Work(consolePage("queue.failed_jobs"), console.WorkModel{Queue: "failed_jobs"})},
		{name: "console-work-zero", body: console.Work(consolePage("queue.failed_jobs"), console.WorkModel{Queue: "failed_jobs", Filter: console.WorkFilter{Tag: "vip"}})},
		{name: "console-act-refund", body: console.Act(consolePage(""), actRefund(l, false))},
		{name: "console-act-conflict", body: console.Act(consolePage(""), actRefund(l, true))},
		{name: "console-act-duplicate", body: console.Act(consolePage(""), actDuplicate(l))},
		{name: "console-reconcile", body: console.Runs(consolePage("reconcile"), console.RunsModel{CSRF: "csrf-token", Allowed: true, Role: "support", Keys: map[string]string{}, Runs: []console.Reconciliation{run, finished, {ID: orderID, Scope: "schedule", At: now.Add(-time.Hour), FinishedAt: now.Add(-time.Hour)}}})},
		{name: "console-reconcile-empty", body: console.Runs(consolePage("reconcile"), console.RunsModel{CSRF: "csrf-token", Role: "support"})},
		{name: "console-run", body: console.RunPage(consolePage("reconcile"), console.RunModel{Run: run, Items: append(items, console.RunItem{Kind: "shipment", ID: orderID, OrderID: orderID, Order: "1042", Before: "UNKNOWN"})})},
		{name: "console-run-finished", body: console.RunPage(consolePage("reconcile"), console.RunModel{Run: finished, Items: items})},
		{name: "console-batches", body: console.Batches(consolePage("batches"), []console.BatchRow{batch("RUNNING"), batch("DONE")})},
		{name: "console-batches-empty", body: console.Batches(consolePage("batches"), nil)},
		{name: "console-batch-preview", body: console.Batch(consolePage("batches"), batchModel("PREVIEW"))},
		{name: "console-batch-running", body: console.Batch(consolePage("batches"), batchModel("RUNNING"))},
		{name: "console-batch-done", body: console.Batch(consolePage("batches"), batchModel("DONE"))},
		{name: "console-audit", body: console.Audit(consolePage("audit"), audit())},
		{name: "console-audit-empty", body: console.Audit(consolePage("audit"), console.AuditModel{Zone: "UTC"})},
	}
}

func actions() console.ActionsModel {
	wait := offer("recover", operationID, "WAIT", "lease")
	wait.Until, wait.About = now.Add(42*time.Second), "CREATE_PAYMENT"
	refund := offer("refund", orderID, "UNSAFE", "no_money")
	refund.Page = true
	settle := offer("settle_payment", otherID, "SAFE", "provider_asked_first")
	settle.Page, settle.About = true, "payment, attempt 1"
	return console.ActionsModel{
		CSRF: "csrf-token", Return: path.ConsoleIntent(orderID),
		Offers: []console.Offer{offer("reconcile", otherID, "SAFE", "lookup_first"), settle, wait, refund},
		Done:   console.DoneModel{Action: "note", ID: otherID, Object: orderID, By: "olga@onefold.example", At: now, Again: 2},
		Case: console.CaseModel{
			Object: orderID, Assignee: "olga@onefold.example", Ticket: "SUP-1204", Tags: []string{"bank", "vip"}, SnoozedUntil: now.Add(time.Hour), Allowed: true,
			Role: "support", Keys: map[string]string{}, CSRF: "csrf-token", Return: path.ConsoleIntent(orderID), Me: otherID,
		},
	}
}

func workUnknown() console.WorkModel {
	m := console.WorkModel{
		Queue: "unknown_payments", CSRF: "csrf-token", States: []string{"UNKNOWN"}, Count: 12, Age: 42 * time.Minute, Newer: "?cursor=x",
		Bulk: []console.BulkAction{{Name: "reconcile", Allowed: true, Role: "support"}},
	}
	for i, kind := range []string{"payment", "refund", "shipment", "payment"} {
		settle := offer("settle_payment", id(i), "WAIT", "finds_out_by_itself")
		settle.Until, settle.Page = now.Add(4*time.Minute), true
		r := console.WorkRow{
			ID: id(i), Kind: kind, URL: path.ConsoleIntent(orderID), Label: "sim", State: "UNKNOWN", OrderID: orderID, Order: "1042", Amount: "2,490.00 RUB",
			At: now.Add(-time.Duration(42-i*9) * time.Minute), NextAt: now.Add(time.Duration(i+1) * 20 * time.Second), Attempts: 7 - i,
			Said:   "provider: unknown: POST /v1/payments: EOF before the answer was complete",
			Offers: []console.Offer{offer("reconcile", id(i), "SAFE", "lookup_first")},
		}
		if kind == "payment" {
			r.Offers = append(r.Offers, settle)
			r.Assignee, r.Ticket, r.Tags = "olga@onefold.example", "SUP-1204", []string{"bank"}
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

func id(i int) string { return otherID[:len(otherID)-1] + string(rune('0'+i)) }

func workStuck() console.WorkModel {
	m := console.WorkModel{
		Queue: "stuck_operations", CSRF: "csrf-token", States: []string{"PROCESSING"}, Count: 3, Age: 20 * time.Minute,
		Bulk: []console.BulkAction{{Name: "recover", Role: "operator"}},
	}
	for i, l := range []console.Lease{{Owner: "worker-7f3a", Attempt: 3, Ends: now.Add(38 * time.Second), Takeover: "wait"}, {Owner: "worker-7f3a", Attempt: 2, Takeover: "look"}, {Takeover: "run"}} {
		verdict, guard := "SAFE", "fencing"
		if i == 0 {
			verdict, guard = "WAIT", "lease"
		}
		o := offer("recover", id(i), verdict, guard)
		o.Allowed = i != 1
		m.Rows = append(m.Rows, console.WorkRow{
			ID: id(i), Kind: "operation", URL: path.ConsoleIntent(id(i)), Label: "SEND_NOTIFICATION", State: "PROCESSING", OrderID: orderID, Order: "1042",
			At: now.Add(-20 * time.Minute), NextAt: now.Add(time.Minute), Attempts: 3, Lease: &l, Offers: []console.Offer{o},
		})
	}
	return m
}

func workGrouped() console.WorkModel {
	return console.WorkModel{Queue: "failed_effects", CSRF: "csrf-token", Grouped: true, Count: 120, More: true, Age: 3 * time.Hour, Groups: []console.WorkGroup{
		{Label: "SEND_NOTIFICATION", Error: "MAIL_REFUSED: smtp: # mailbox unavailable: #", Count: 98, First: now.Add(-3 * time.Hour), Last: now.Add(-time.Minute), URL: "/console/work/failed_effects?type=x"},
		{Label: "SHIP_PARCEL", Error: "ADDRESS_REFUSED", Count: 22, First: now.Add(-2 * time.Hour), Last: now.Add(-time.Hour), URL: "/console/work/failed_effects?type=y"},
	}}
}

func twoAlike() []console.Alike {
	return []console.Alike{
		{ID: otherID, Number: "1043", State: "AWAITING_PAYMENT", Total: "2490.00 RUB", Items: "1 × Lumen Notes", Key: otherID, At: now.Add(-time.Minute)},
		{ID: orderID, Number: "1042", State: "PAID", Total: "2490.00 RUB", Items: "1 × Lumen Notes", Key: orderID, At: now.Add(-2 * time.Minute)},
	}
}

func workAlike() console.WorkModel {
	o := offer("judge_duplicate", otherID, "SAFE", "audit")
	o.Page = true
	return console.WorkModel{Queue: "possible_duplicates", CSRF: "csrf-token", States: []string{"PAID", "AWAITING_PAYMENT"}, Count: 1, Age: time.Minute, Rows: []console.WorkRow{{
		ID: otherID, Kind: "duplicate", URL: path.ConsoleIntent(otherID), Label: "possible_duplicate", State: "AWAITING_PAYMENT", OrderID: otherID, Order: "1043",
		Amount: "2,490.00 RUB", At: now.Add(-time.Minute), Alike: twoAlike(), Offers: []console.Offer{o},
	}}}
}

func workApprovals(l i18n.Lang) console.WorkModel {
	approve, reject := offer("approve", otherID, "SAFE", "four_eyes"), offer("reject", otherID, "SAFE", "four_eyes")
	approve.Page, reject.Page = true, true
	own := []console.Offer{offer("approve", orderID, "SAFE", "four_eyes"), offer("reject", orderID, "SAFE", "four_eyes")}
	own[0].Own, own[1].Own = true, true
	row := console.WorkRow{
		ID: otherID, Kind: "approval", URL: path.ConsoleIntent(orderID), Label: "refund", State: "OPEN", OrderID: orderID, Order: "1042", Amount: "12490.00 RUB",
		At: now.Add(-8 * time.Minute), Said: "The customer returned everything", Who: "olga@onefold.example", Offers: []console.Offer{approve, reject},
		Wish: []console.Detail{{Name: i18n.In(l, "act.money"), Value: "12490.00 RUB"}},
	}
	mine := row
	mine.ID, mine.Label, mine.Amount, mine.Offers = orderID, "settle_payment", "", own
	return console.WorkModel{Queue: "approvals", CSRF: "csrf-token", States: []string{"OPEN"}, Count: 2, Age: 8 * time.Minute, Rows: []console.WorkRow{row, mine}}
}

func actRefund(l i18n.Lang, refused bool) console.ActModel {
	o := offer("refund", orderID, "SAFE", "refunds_within_capture")
	o.Page = true
	m := console.ActModel{
		Offer: o, CSRF: "csrf-token", Return: path.ConsoleIntent(orderID), ObjectType: "order", State: "PAID", OrderID: orderID, Order: "1042", Amount: "2,490.00 RUB",
		Fields: []ui.Field{{Name: "amount", Label: i18n.In(l, "act.field.amount", "RUB"), Hint: i18n.In(l, "act.field.amount.hint", "2,490.00 RUB"), Value: "2490.00"}},
		Hidden: []ui.Hidden{{Name: "expected", Value: "2490.00 RUB"}}, Reason: true,
	}
	if refused {
		m.Refused, m.ReasonError = i18n.In(l, "act.conflict.BALANCE_CHANGED"), i18n.In(l, "act.broken.reason")
	}
	return m
}

func actDuplicate(l i18n.Lang) console.ActModel {
	o := offer("judge_duplicate", otherID, "SAFE", "audit")
	o.Page = true
	return console.ActModel{
		Offer: o, CSRF: "csrf-token", Return: path.ConsoleWork("possible_duplicates"), ObjectType: "duplicate", State: "OPEN", Twins: twoAlike(), Reason: true,
		Fields: []ui.Field{{Name: "verdict", Label: i18n.In(l, "act.field.verdict"), Options: []ui.Option{{Value: "", Label: i18n.In(l, "act.field.verdict.choose")}}}},
	}
}

func batch(status string) console.BatchRow {
	b := console.BatchRow{ID: otherID, Action: "recover", By: "olga@onefold.example", Filter: "Stuck operations: all matching", Status: status, Total: 100, Done: 60, Skipped: 12, Bad: 3, CreatedAt: now.Add(-time.Minute), Started: now.Add(-time.Minute)}
	if status == "DONE" {
		b.Done, b.Finished = 85, now
	}
	return b
}

func batchModel(status string) console.BatchModel {
	m := console.BatchModel{
		BatchRow: batch(status), CSRF: "csrf-token", Role: "operator", Allowed: true, Reason: "the worker was replaced", Waiting: 25,
		Sums: []console.Sum{{Name: "PROCESSING", N: 88}}, Amounts: []string{"18750.00 RUB"}, Why: []console.Sum{{Name: "lease", N: 12}, {Name: "INTERNAL", N: 3}},
	}
	if status == "PREVIEW" {
		m.Done, m.Bad, m.Waiting, m.Typed, m.Changed, m.Why = 0, 0, 88, true, 2, m.Why[:1]
	}
	for i := range 6 {
		item := console.BatchItem{ID: id(i), Label: "SEND_NOTIFICATION", State: "PROCESSING", Amount: "2,490.00 RUB", Status: "DONE"}
		switch {
		case status == "PREVIEW":
			item.Status = "WAITING"
		case i == 0:
			item.Status, item.Code = "FAILED", "INTERNAL"
		}
		if i == 1 {
			item.Status, item.Code = "SKIPPED", "lease"
		}
		m.Items = append(m.Items, item)
	}
	return m
}

func audit() console.AuditModel {
	line := func(action, outcome, code string) console.AuditLine {
		return console.AuditLine{
			ID: id(len(action) % 10), At: now.Add(-time.Duration(len(action)) * time.Minute), Person: "olga@onefold.example", Role: "operator", Action: action, Kind: "order", Object: orderID,
			OrderID: orderID, Order: "1042", Reason: "asked for by the customer", Outcome: outcome, Code: code, TraceID: trace,
			Detail: []console.Detail{{Name: "amount", Value: `{"amount":"4.00","currency":"RUB"}`}, {Name: "trace_id", Value: trace}},
			Rows:   []console.AuditRow{{Table: "orders", ID: orderID, Changes: []console.Change{{Name: "needs_review", Before: "true", After: "false"}}}, {Table: "refunds", ID: otherID, Made: true, Changes: []console.Change{{Name: "status", After: "CREATED"}}}},
		}
	}
	return console.AuditModel{
		Actions: []string{"refund", "recover"}, Zone: "UTC+3", Pager: ui.Pager{Older: "?cursor=x"},
		Lines: []console.AuditLine{line("refund", "DONE", ""), line("settle_review", "REPLAYED", ""), line("recover", "REFUSED", "FORBIDDEN"), line("export", "DONE", "")},
	}
}
