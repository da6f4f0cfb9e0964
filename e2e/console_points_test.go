//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// desk is the console of a running shop: UX section F.3, points 15 to 24 and 27.
type desk struct {
	*shop
	browser context.Context //nolint:containedctx // it is the browser
	people  map[string]buyer
	queues  []string
}

// Points that other tests hold: 20 in TestReconcileShowsItsResult; 21 in TestC27_CAnOperatorRetriesParkedRows and onefold/web.
func TestPointsOfTheConsole(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	d := &desk{shop: open(t, 1, 1), browser: browser, people: map[string]buyer{}}
	v := d.login(t, "viewer")
	v.goTo("/console")
	d.queues = js[[]string](v, `[...document.querySelectorAll('.tile')].map(e => e.getAttribute('href').replace('/console/work/', ''))`)
	require.Len(t, d.queues, 11)
	v.goTo("about:blank") // it listens no more
	for _, point := range []struct {
		name, role string
		tell       func(*desk, *visitor)
	}{
		{"24_StatesHaveTheirOwnWords", "viewer", point24}, // first: nothing has happened yet
		{"18_SevenKindsOfID", "support", point18},
		{"19_TheTimelineIsWhole", "support", point19},
		{"16_OlderSkipsAndDoublesNothing", "viewer", point16},
		{"15_TheAddressIsTheView", "operator", point15},
		{"23_TilesCountTheirLists", "operator", point23}, // from here on no worker changes anything
		{"22_AViewerSeesWhy", "viewer", point22},
		{"17_AnOpenListStandsStill", "operator", point17},
		{"27_KeyboardAlone", "operator", point27Console},
		{"27_NoShortcutsWhenSwitchedOff", "operator", shortcutsOff},
	} {
		t.Run(point.name, func(t *testing.T) { point.tell(d, d.login(t, point.role)) })
	}
}

// login is a tab of somebody of a role, signed in.
func (d *desk) login(t *testing.T, role string) *visitor {
	t.Helper()
	who, known := d.people[role]
	if !known {
		who = buyer{email: role + "-" + newKey() + "@example.com", password: "correct horse battery"}
		run(t, who.password+"\n", d.env(), "user", "add", "--email", who.email, "--role", role)
		d.people[role] = who
	}
	v := visit(t, d.browser, "http://"+d.addrs[0])
	v.signIn(who.email, who.password)
	return v
}

// env is the observer's: the shop's own hides it.
func (d *desk) env() []string { return d.observer.env() }

// rows are the IDs of the open list, from its top.
func (v *visitor) rows() []string {
	v.t.Helper()
	return js[[]string](v, `[...document.querySelectorAll('#rows tr[data-id]')].map(r => r.dataset.id)`)
}

// shown is the text of an element that can be seen; "" otherwise.
func (v *visitor) shown(id string) string {
	v.t.Helper()
	return js[string](v, `(e => e?.checkVisibility() ? e.innerText : '')(document.querySelector('[data-testid="`+id+`"]'))`)
}

// view is what the open page shows of its address: rows, what is chosen, and the fields of its filter.
func (v *visitor) view() string {
	v.t.Helper()
	return js[string](v, `JSON.stringify([[...document.querySelectorAll('#rows tr, .timeline > li:not(.mark)')].map(r => r.dataset.id ?? r.id ?? ''),
		[...document.querySelectorAll('#main [aria-current]')].map(e => e.innerText), [...document.querySelectorAll('#main form[method=get] [name]')].map(e => e.name + '=' + e.value)])`)
}

// 15: what somebody clicked together opens again from its address, for somebody else in another session; what isn't known is refused.
func point15(d *desk, v *visitor) {
	t := v.t
	order := d.text(`SELECT id FROM orders ORDER BY created_at LIMIT 1`)
	w := d.login(t, "viewer")
	for _, one := range []struct {
		page   string
		clicks []string // what is chosen (name=value) or clicked
		parts  []string
	}{
		{"/console/operations", []string{"type=CREATE_ORDER", "limit=25", "apply", "chip:COMPLETED", "pager-older"}, []string{"type=CREATE_ORDER", "limit=25", "state=COMPLETED", "cursor="}},
		{"/console/payments", []string{"provider=sim", "limit=25", "apply", "pager-older"}, []string{"provider=sim", "cursor="}},
		{"/console/outbox", []string{"chip:DISPATCHED", "limit=25", "apply"}, []string{"state=DISPATCHED", "limit=25"}},
		{"/console/inbox", []string{"chip:APPLIED"}, []string{"state=APPLIED"}},
		{"/console/work/stuck_operations", []string{"chip-group=1"}, []string{"group=1"}},
		{"/console/audit", []string{"outcome=REFUSED", "apply"}, []string{"outcome=REFUSED"}},
		{"/console/intents/" + order, []string{"lane:db", "newest-first"}, []string{"lane=db", "order=newest"}},
		{"/console", []string{"range=7d"}, []string{"range=7d"}},
	} {
		v.goTo(one.page)
		for _, click := range one.clicks {
			v.choose(click)
		}
		address, err := url.Parse(v.at())
		require.NoError(t, err)
		for _, part := range one.parts {
			require.Contains(t, address.RawQuery, part, one.page)
		}
		seen := v.view()
		w.goTo(address.RequestURI())
		require.Equal(t, seen, w.view(), address)
	}
	v.expect("status of 400")
	for address, named := range map[string]string{
		"operations?state=LOST": "state", "operations?type=LOST": "type", "operations?cursor=LOST": "cursor", "operations?limit=7": "limit", "operations?colour=red": "colour",
		"operations?state=FAILED&state=FAILED": "state", "payments?state=LOST": "state", "payments?provider=LOST": "provider", "inbox?state=LOST": "state",
		"outbox?state=LOST": "state", "orders?state=LOST": "state", "work/unknown_payments?assignee=her": "assignee", "work/failed_jobs?state=LOST": "state", "work/approvals?group=2": "group",
		"audit?outcome=LOST": "outcome", "audit?from=yesterday": "from", "audit?sort=at": "sort", "batches?state=LOST": "state", "reconcile?state=LOST": "state",
		"alarms?alarm=LOST": "alarm", "alarms?colour=red": "colour", "intents/" + order + "?lane=LOST": "lane", "intents/" + order + "?order=LOST": "order", "?range=9y": "range", "?colour=red": "colour",
		"search?qq=1": "qq", "users?role=admin": "role", "retention?all=1": "all", "drills?all=1": "all", "help?all=1": "all",
	} {
		v.goTo(strings.Replace("/console/"+address, "/?", "?", 1))
		require.Contains(t, v.now("error-page"), named, address)
		require.Empty(t, v.rows(), address)
	}
}

// choose clicks as a person would: on a chip, a link, a button, or a choice of a form.
func (v *visitor) choose(what string) {
	v.t.Helper()
	before := v.at()
	name, value, choice := strings.Cut(what, "=")
	target := `[data-testid="` + what + `"]`
	switch {
	case strings.HasPrefix(what, "chip:"):
		target = `#main .chips a[href*="state=` + what[len("chip:"):] + `"]`
	case strings.HasPrefix(what, "chip-") || name == "range":
		target = `#main .chips a[href*="` + strings.TrimPrefix(what, "chip-") + `"]`
	case strings.HasPrefix(what, "lane:"):
		target = `[data-lane="` + what[len("lane:"):] + `"].chip`
	case what == "apply":
		target = `#main form[method=get] button`
	case choice:
		v.do(chromedp.SetValue(chromedp.CSS(`#main form[method=get] [name="`+name+`"]`), value))
		return
	}
	v.do(chromedp.Click(chromedp.CSS(target), chromedp.NodeVisible))
	eventually(v.t, what+" leads on", func() bool { return v.at() != before })
	v.loaded()
}

// 16: somebody goes through a whole list while it grows at its top and, in a queue, at its end.
func point16(d *desk, v *visitor) {
	t := v.t
	for d.count(`SELECT count(*) FROM operations`) < 80 {
		d.buy(one(license))
	}
	d.exec(`INSERT INTO approvals (id, action, object_id, input, reason, requested_by, requested_at) SELECT gen_random_uuid(), 'refund', gen_random_uuid(), '{}', 'r',
		(SELECT id FROM users WHERE role = 'viewer'), now() - n * interval '1 minute' FROM generate_series(1, 60) n`)
	for _, list := range []struct{ page, next, all string }{
		{"/console/operations?limit=25", "pager-older", `SELECT id::text FROM operations ORDER BY created_at DESC, id DESC`},
		{"/console/outbox?limit=25", "pager-older", `SELECT id::text FROM outbox_events ORDER BY created_at DESC, id DESC`},
		{"/console/work/approvals?limit=25", "pager-newer", `SELECT id::text FROM approvals WHERE decision IS NULL ORDER BY requested_at, id`},
	} {
		d.exec(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, dispatched_at)
			SELECT gen_random_uuid(), gen_random_uuid(), 'ORDER_CREATED', id, '0123456789abcdef0123456789abcdef', now() FROM orders, generate_series(1, 3)`)
		want := d.texts(list.all)
		require.Greater(t, len(want), 50)
		v.goTo(list.page)
		seen := v.rows()
		for range 20 {
			d.buy(one(license))
			d.exec(`INSERT INTO approvals (id, action, object_id, input, reason, requested_by) SELECT gen_random_uuid(), 'refund', gen_random_uuid(), '{}', 'r', id FROM users WHERE role = 'viewer'`)
			if v.has(string(testid(list.next))) == 0 {
				break
			}
			v.choose(list.next)
			seen = append(seen, v.rows()...)
		}
		require.Zero(t, v.has(string(testid(list.next))), "the end")
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(seen))), len(seen), "%s: none twice", list.page)
		require.Equal(t, want, slices.DeleteFunc(seen, func(id string) bool { return !slices.Contains(want, id) }), "%s: none left out", list.page)
	}
	d.exec(`DELETE FROM approvals`)
}

// 18: whatever is pasted, as it is or as people copy it, opens the same page.
func point18(d *desk, v *visitor) {
	t := v.t
	key := newKey()
	a := d.place(d.ann, key, one(license))
	require.Equal(t, 201, a.status, "%s", a)
	o := d.until(d.pay(decode[order](t, a)), "FULFILLED")
	d.settled()
	v.goTo("/console")
	for kind, id := range map[string]string{
		"trace": a.header.Get("Trace-Id"), "operation": o.OperationID.String(), "idempotency key": key, "order": o.OrderID.String(), "payment": o.last().PaymentID.String(),
		"provider event": d.text(`SELECT event_id FROM incoming_events WHERE order_id = $1 AND event_type = 'payment.succeeded'`, o.OrderID),
		"job":            fmt.Sprint(d.count(`SELECT job_id FROM journal WHERE order_id = $1 AND job_id IS NOT NULL LIMIT 1`, o.OrderID)),
	} {
		require.NotEmpty(t, id, kind)
		for _, pasted := range []string{id, "  " + id + "\t", `"` + id + `"`, "‘" + id + "’,", "https://shop.example/some/where/" + id + "?utm=1"} {
			v.press("/", "Slash")
			v.paste(pasted)
			v.presses(kb.Enter)
			v.arrive("/console/intents/" + o.OrderID.String())
			require.Equal(t, v.base+"/console/intents/"+o.OrderID.String(), v.at(), "%s as %q", kind, pasted)
			v.loaded()
			v.do(chromedp.Evaluate[chromedp.Void](`document.title = 'seen'; history.replaceState(null, '', '/console/alarms'); 0`)) // the next arrival is a new one
		}
	}
}

// loaded waits for the page and its scripts; without them a key does nothing.
func (v *visitor) loaded() {
	v.t.Helper()
	eventually(v.t, "the page is whole", func() bool {
		whole, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](`document.readyState === 'complete' && !!document.querySelector('footer.print-foot')`))
		return err == nil && whole // an error: the page is just being replaced
	})
}

// press is one key of a keyboard: what it says, and where it lies.
func (v *visitor) press(key, code string, modifiers ...int64) {
	v.t.Helper()
	p := input.DispatchKeyEventParams{Type: "keyDown", Key: key, Code: code}
	if len([]rune(key)) == 1 {
		p.Text = key
	}
	for _, m := range modifiers {
		p.Modifiers |= m
	}
	for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
		if p.Type = kind; kind == "keyUp" {
			p.Text = ""
		}
		_, err := chromedp.Call(v.ctx, input.DispatchKeyEvent, p)
		require.NoError(v.t, err)
	}
}

// paste puts text where the focus is, at once.
func (v *visitor) paste(text string) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, input.InsertText, input.InsertTextParams{Text: text})
	require.NoError(v.t, err)
}
