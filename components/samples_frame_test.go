package components_test

import (
	"math"
	"time"

	"onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/layout"
	"onefold/components/path"
	"onefold/components/ui"
)

// consolePage is the frame of a page on a bad day.
func consolePage(section string) layout.ConsolePage {
	p := layout.ConsolePage{Page: shopPage(), Env: "demo", Section: section, At: now, Density: "compact", Keys: "on", Refresh: "10", Streamed: true}
	p.Return, p.Link, p.Savable = path.ConsoleOperations(), "http://127.0.0.1:8080/console/operations", path.ConsoleOperations()
	icons := []string{"question", "clock", "cross", "alert", "outbox", "eye"}
	for i, name := range queueNames() {
		p.Queues = append(p.Queues, layout.RailItem{Section: "queue." + name, Icon: icons[i], URL: path.ConsoleOperations(), N: i % 3 * 7, Over: i == 4})
	}
	p.Groups = []layout.RailGroup{
		{Name: "data", Items: []layout.RailItem{
			{Section: "operations", Icon: "layers", URL: path.ConsoleOperations(), Key: "n"},
			{Section: "payments", Icon: "card", URL: path.ConsolePayments()},
			{Section: "inbox", Icon: "inbox", URL: path.ConsoleInbox()},
			{Section: "outbox", Icon: "outbox", URL: path.ConsoleOutbox()},
		}},
		{Name: "me", Items: []layout.RailItem{{Section: "prefs", Icon: "gear", URL: path.ConsolePrefs()}, {Section: "help", Icon: "book", URL: path.ConsoleHelp()}}},
	}
	p.Views = []layout.RailItem{{Label: "Old unknowns of sim", Icon: "eye", URL: path.ConsolePayments(), N: 3}}
	p.Firing = []layout.Firing{
		{Name: "parked_events", N: 7, Age: 42 * time.Minute, Limit: 15 * time.Minute, Since: now.Add(-27 * time.Minute), URL: path.ConsoleOutbox()},
		{Name: "violations", N: 1, ByCount: true, Since: now.Add(-90 * time.Second), Owner: "a•••@example.com", URL: path.Console()},
	}
	return p
}

func queueNames() []string {
	return []string{"unknown_payments", "stuck_operations", "failed_effects", "quarantined_events", "parked_events", "orders_in_review"}
}

func calm(p layout.ConsolePage) layout.ConsolePage {
	p.Firing = nil
	return p
}

func framePages(_ i18n.Lang) []page {
	violated := overview()
	violated.Proof.Violations, violated.Proof.Promises[2].Violations = 2, 2
	violated.Proof.Promises[2].Sample, violated.Proof.Promises[2].Since = "order "+orderID+": 2 successful payments", now.Add(-80*time.Second)
	running := drillRun()
	running.Ended, running.Results, running.Steps = false, nil, running.Steps[:3]
	return []page{
		{name: "console-overview-violated", body: console.Overview(consolePage("overview"), violated)},
		{name: "console-alarms", body: console.Alarms(consolePage("alarms"), alarms())},
		{name: "console-alarms-viewer", body: console.Alarms(calm(consolePage("alarms")), console.AlarmsModel{Needed: "operator"})},
		{name: "console-drills", body: console.Drills(consolePage("drills"), console.DrillsModel{Names: []string{"same-key-twice", "parallel", "webhook-twice", "crash-after-effect"}, May: true, Press: "p", Runs: []console.DrillRun{drillRun()}})},
		{name: "console-drills-refused", body: console.Drills(calm(consolePage("drills")), console.DrillsModel{Refused: "live"})},
		{name: "console-drill", body: console.Drill(consolePage("drills"), drillRun())},
		{name: "console-drill-running", body: console.Drill(consolePage("drills"), running)},
		{name: "console-prefs", body: console.Prefs(calm(consolePage("prefs")), console.PrefsModel{Choices: []console.Choice{
			{Name: "lang", Values: []string{"", "en", "ru"}}, {Name: "clock", Values: []string{"24", "12"}, Value: "24"}, {Name: "keys", Values: []string{"on", "off"}, Value: "on"},
		}, Zones: []string{"UTC", "Europe/Moscow"}})},
		{name: "console-views", body: console.Views(calm(consolePage("views")), console.ViewsModel{Views: []console.SavedView{
			{ID: orderID, Name: "Old unknowns of sim", Address: "/console/payments?state=UNKNOWN", Mine: true}, {ID: operationID, Name: "Night shift", Address: path.ConsoleInbox(), Shared: true, Owner: "b•••@example.com"},
		}})},
		{name: "console-views-empty", body: console.Views(calm(consolePage("views")), console.ViewsModel{})},
		{name: "console-retention", body: console.Retention(calm(consolePage("retention")), console.RetentionModel{At: now.Add(-20 * time.Minute), Tables: []console.RetentionTable{
			{Name: "operations", Goes: 18_204, Stays: []console.RetentionStay{{Why: "failed for good", Rows: 12}, {Why: "order under review", Rows: 3}, {Why: "unfinished", Rows: 1}}},
			{Name: "journal", Goes: 240_911, Stays: []console.RetentionStay{{Why: "history of orders and money", Rows: 1_204_417}}},
			{Name: "sessions", Goes: 77},
		}})},
		{name: "console-retention-none", body: console.Retention(calm(consolePage("retention")), console.RetentionModel{})},
		{name: "console-users", body: console.Users(calm(consolePage("users")), console.UsersModel{
			People: []console.Person{{Email: "admin@example.com", Role: "admin"}, {Email: "operator@example.com", Role: "operator", LastSeen: now.Add(-time.Minute), Sessions: 2, Self: true}},
			Roles:  []string{"viewer", "support", "operator", "approver", "admin"},
			Rights: []console.Right{{Name: "read", May: []bool{true, true, true, true, true}}, {Name: "acknowledge", May: []bool{false, false, true, true, true}}},
		})},
		{name: "console-help", body: console.Help(calm(consolePage("help")), console.HelpModel{
			On:        true,
			Shortcuts: []console.Shortcut{{Keys: []string{"/"}, Name: "search"}, {Keys: []string{"g", "o"}, Label: "Overview"}},
			Entities:  []console.Entity{{Name: "payment", States: []string{"CREATED", "UNKNOWN", "SUCCEEDED"}}, {Name: "outbox", States: []string{"WAITING", "PARKED"}}},
			Lanes:     []string{"http", "provider_out", "job"},
			Runbooks:  []console.Runbook{{Name: "violations", Count: true, URL: path.Console()}, {Name: "unknown_payments", Limit: 15 * time.Minute, URL: path.ConsolePayments()}},
		})},
	}
}

func overview() console.OverviewModel {
	m := console.OverviewModel{
		Latest: operations().Rows[:6], Address: path.Console(), Every: 10, LookedAt: now.Add(-8 * time.Second),
		Ranges:  []ui.Chip{{Label: "1 h", URL: "?range=1h", Active: true}, {Label: "6 h", URL: "?range=6h"}, {Label: "24 h", URL: "?range=24h"}, {Label: "7 d", URL: "?range=7d"}},
		Clients: []console.Client{{Who: "s•••@example.com", N: 41, At: now.Add(-3 * time.Minute), URL: path.Go(operationID)}, {Who: "0192f3a1…9c4e", N: 2, At: now.Add(-7 * time.Hour), URL: path.Go(operationID)}},
		Runs:    []console.LastRun{{Kind: "reconcile", Label: "schedule", Total: 12, Done: 12, At: now.Add(-time.Minute), URL: path.ConsoleRun("1")}, {Kind: "batch", Label: "reprocess", By: "o•••@example.com", Total: 40, Done: 31, At: now.Add(-time.Hour), URL: path.ConsoleBatch("1")}},
	}
	for i, name := range queueNames() {
		m.Queues = append(m.Queues, console.Queue{
			Name: name, N: i % 3 * 7, More: i == 5, Age: time.Duration(i*i+1) * time.Minute, Oldest: now.Add(-time.Duration(i*i+1) * time.Minute), Over: i == 4,
			Limit: 15 * time.Minute, URL: path.ConsoleOperations(), Recent: wave(60, float64(i), 3),
		})
	}
	m.Proof = console.Proof{Known: true, CheckedAt: now.Add(-20 * time.Second), Took: 180 * time.Millisecond, Absorbed: 1284}
	for n := range 12 {
		m.Proof.Promises = append(m.Proof.Promises, console.Promise{Number: n + 1})
	}
	for i, name := range []string{"request", "twin", "key", "delivery", "event", "worker"} {
		m.Proof.Layers = append(m.Proof.Layers, console.Layer{Name: name, N: int64(900 / (i*i + 1)), Share: 100 / (i*i + 1)})
	}
	chart := func(name string, stack bool, lines ...console.Line) console.Chart {
		return console.Chart{Name: name, From: now.Add(-time.Hour), Step: time.Minute, Stack: stack, Lines: lines}
	}
	m.Charts = []console.Chart{
		chart("operations", true, console.Line{Label: "completed", Look: "good", Points: wave(60, 1, 80), Total: "4,120"}, console.Line{Label: "replayed", Look: "first", Points: wave(60, 2, 22), Total: "841"},
			console.Line{Label: "refused", Look: "warn", Points: wave(60, 3, 4), Total: "43"}, console.Line{Label: "failed", Look: "bad", Points: wave(60, 4, 3), Total: "12"}),
		chart("payments", true, console.Line{Label: "succeeded", Look: "good", Points: wave(60, 5, 20), Total: "712"}, console.Line{Label: "unknown", Look: "unknown", Points: wave(60, 7, 3), Total: "9"}),
		chart("latency", false, console.Line{Label: "p50", Look: "s1", Points: wave(60, 6, 8)}, console.Line{Label: "p95", Look: "s2", Points: wave(60, 2, 30)}, console.Line{Label: "p99", Look: "s3", Points: wave(60, 9, 70)}),
		{Name: "absorbed", Empty: true},
	}
	return m
}

// wave is a curve that looks like a day at work.
func wave(n int, shift, high float64) []float64 {
	points := make([]float64, n)
	for i := range points {
		points[i] = math.Max(0, high*(.6+.3*math.Sin(float64(i)/7+shift)+.1*math.Sin(float64(i)*1.7+shift)))
	}
	return points
}

func alarms() console.AlarmsModel {
	firing := consolePage("").Firing
	m := console.AlarmsModel{LookedAt: now, May: true, Needed: "operator", Press: "press"}
	for i, f := range append(firing, layout.Firing{Name: "inbox_lag", Limit: time.Minute, Since: now.Add(-5 * time.Hour)}, layout.Firing{Name: "failed_effects", N: 2, Age: time.Hour, Limit: 15 * time.Minute, Since: now, Silenced: true}) {
		a := console.Alarm{Firing: f, Fires: i != 2}
		if f.Silenced {
			a.SilencedUntil = now.Add(time.Hour)
		}
		m.Alarms = append(m.Alarms, a)
	}
	m.History = []console.Happened{
		{Alarm: "failed_effects", What: "SILENCED", At: now, Value: firing[0], User: "operator@example.com", Reason: "carrier is down, they know", Until: now.Add(time.Hour)},
		{Alarm: "violations", What: "ACKNOWLEDGED", At: now.Add(-time.Minute), Value: firing[1], User: "operator@example.com", Reason: "looking"},
		{Alarm: "parked_events", What: "FIRED", At: now.Add(-27 * time.Minute), Value: firing[0], Told: []string{"log", "mail"}, Trying: []string{"webhook"}},
		{Alarm: "inbox_lag", What: "RECOVERED", At: now.Add(-5 * time.Hour), Value: firing[0], Told: []string{"log"}},
	}
	return m
}

func drillRun() console.DrillRun {
	return console.DrillRun{
		ID: operationID, Name: "parallel", By: "o•••@example.com", At: now.Add(-4 * time.Second), Ended: true, OK: true, Tries: 50, Want: 1,
		Sent: "50 requests with one key at one moment", Absorbed: "41 replays, 8 told to wait", Orders: []string{orderID},
		Results: []console.DrillResult{{Kind: "orders", N: 1}, {Kind: "charges", N: 1}, {Kind: "licenses", N: 1}, {Kind: "bonuses", N: 1}, {Kind: "mails", N: 1}},
		Steps: []console.DrillStep{
			{After: 31 * time.Millisecond, What: "POST /api/orders → 201", Times: 1},
			{After: 40 * time.Millisecond, What: "POST /api/orders → 201 replayed", Times: 41},
			{After: 90 * time.Millisecond, What: "POST /api/orders → 409 OPERATION_IN_PROGRESS", Times: 8},
			{After: 2 * time.Second, What: "wait for FULFILLED", Times: 1},
		},
	}
}
