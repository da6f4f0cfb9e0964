//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// everyList is every list of the console with a filter that nothing matches; "" for one that has no filter.
func (d *desk) everyList() map[string]string {
	lists := map[string]string{
		"/console/operations": "?type=CREATE_REFUND&state=FAILED", "/console/payments": "?state=REFUNDED", "/console/orders": "?state=EXPIRED", "/console/inbox": "?state=QUARANTINED", "/console/outbox": "?state=PARKED",
		"/console/audit": "?outcome=DONE&object=nothing", "/console/batches": "", "/console/reconcile": "",
	}
	for _, queue := range d.queues {
		lists["/console/work/"+queue] = "?tag=nothing"
	}
	return lists
}

// words of the page without what every page has.
func (v *visitor) words() string {
	v.t.Helper()
	return js[string](v, `(e => e?.innerText.replace(/\s+/g, ' ') ?? '')(document.querySelector('#main [data-testid="empty"], #main [data-testid="error-page"], #main .message'))`)
}

// 24: empty, nothing found, forbidden, out of order and out of date say different things, on every list.
func point24(d *desk, v *visitor) {
	t := v.t
	outsider := d.login(t, "shopper")
	said := map[string]map[string]string{}
	note := func(state, list, words string) {
		require.NotEmpty(t, words, "%s of %s", state, list)
		if said[list] == nil {
			said[list] = map[string]string{}
		}
		for other, its := range said[list] {
			require.NotEqual(t, its, words, "%s and %s of %s", state, other, list)
		}
		said[list][state] = words
	}
	empty := map[string]string{}
	for list, filter := range d.everyList() {
		if v.goTo(list); len(v.rows()) == 0 { // the hour's reconciliation may have run
			note("empty", list, v.words())
			require.Empty(t, empty[said[list]["empty"]], "each says what it hasn't got: %s", list)
			empty[said[list]["empty"]] = list
		}
		if filter != "" {
			v.goTo(list + filter)
			note("zero", list, v.words())
			require.Equal(t, 1, v.has(`[data-testid="clear-filter"]`), list)
		}
		outsider.expect("status of 403")
		outsider.goTo(list)
		note("forbidden", list, outsider.words())
		require.Contains(t, said[list]["forbidden"], "viewer", "the role that is needed")
	}
	open := d.login(t, "viewer")
	open.goTo("/console/work/unknown_payments")
	eventually(t, "the page is live", func() bool { return open.now("stream-state") == "Live" })
	require.Empty(t, open.shown("list-stale"))
	for _, w := range []*visitor{v, open} {
		w.expect("status of 503")
		w.expect("SSE reconnect failed with status 503")
	}
	d.away(func() {
		for list := range d.everyList() {
			v.goTo(list)
			note("error", list, v.words())
			require.Equal(t, 1, v.has(`#main [data-testid="retry"]`), list)
			require.Equal(t, 1, v.has(`#main [data-copy]`), "the reference can be copied: %s", list)
		}
		eventually(t, "the open list says that it is out of date", func() bool { return open.shown("list-stale") != "" })
		note("stale", "/console/work/unknown_payments", open.shown("list-stale"))
		require.Equal(t, "Reconnecting…", open.now("stream-state"))
		require.NotEmpty(t, open.words(), "what it showed stays")
	})
	eventually(t, "it is live again by itself", func() bool { return open.now("stream-state") == "Live" && open.shown("list-stale") == "" })
	v.click("retry")
	eventually(t, "Retry leads on", func() bool { return v.has(`#rows`) == 1 })
}

// 19: every source, the gaps, the provider's clock, and at the end what comes next.
func point19(d *desk, v *visitor) {
	t := v.t
	d.sim.breaks(fault{On: "webhooks.send", Do: "lose", Times: 1})
	d.sim.breaks(fault{On: "payments.create", Do: "drop_after", Times: 1})
	key := newKey()
	a := d.place(d.ann, key, one(license))
	require.Equal(t, 201, a.status, "%s", a)
	require.True(t, d.place(d.ann, key, one(license)).replayed())
	o := d.untilPayment(decode[order](t, a), "PENDING")
	early := d.sim.event("", "payment.pending", d.sim.charges(o.last().PaymentID)[0])
	early["createdAt"] = time.Now().UTC().Add(-5 * time.Second)
	requireAll(t, 200, d.sim.send(early, 1))
	eventually(t, "it is read", func() bool {
		return d.count(`SELECT count(*) FROM incoming_events WHERE event_id = $1 AND status <> 'RECEIVED'`, early["id"]) == 1
	})
	d.exec(`UPDATE journal SET at = at - interval '41 minutes 30 seconds' WHERE order_id = $1 AND at < (SELECT received_at FROM incoming_events WHERE event_id = $2)`, o.OrderID, early["id"])
	page := "/console/intents/" + o.OrderID.String()
	v.goTo(page)
	require.Contains(t, v.now("gap"), "41 min", "a gap is drawn and named")
	require.Contains(t, v.now("provider-clock"), "5 s", "the provider's clock is behind")
	future := js[[]string](v, `(all => all.slice(all.findIndex(e => e.dataset.testid === 'now') + 1).map(e => [e.dataset.testid, e.querySelector('time').dateTime, e.innerText].join(' ')))([...document.querySelectorAll('.timeline > li:is(.entry, [data-testid=now])')])`)
	require.NotEmpty(t, future)
	require.Contains(t, future[0], "WATCH_PAYMENT", "the next planned action comes first")
	var when []string
	for _, planned := range future {
		words := strings.Fields(planned)
		require.Equal(t, "timeline-next", words[0], "after now comes only what is planned")
		when = append(when, words[1])
	}
	require.True(t, slices.IsSortedFunc(moments(t, when), time.Time.Compare), "%v", when)

	d.sim.decide(d.sim.charges(o.last().PaymentID)[0].ID, "succeed")
	d.until(o, "FULFILLED")
	d.settled()
	v.goTo("/console/act/resend_mail/" + o.OrderID.String())
	v.do(chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "it went astray"))
	v.click("act-submit")
	v.arrive("done=")
	v.goTo(page)
	lanes := js[[]string](v, `[...new Set([...document.querySelectorAll('.timeline > [data-lane]')].map(e => e.dataset.lane))]`)
	require.ElementsMatch(t, []string{"http", "operation", "db", "outbox", "job", "provider_out", "provider_in", "inbox", "reconcile", "operator", "mail"}, lanes, "every source speaks")
	times := js[[]string](v, `[...document.querySelectorAll('.timeline > .entry:not(.next)')].map(e => e.querySelector('time').dateTime)`)
	require.True(t, slices.IsSortedFunc(moments(t, times), time.Time.Compare), "%v", times)
	require.Empty(t, js[string](v, `[...document.querySelectorAll('.timeline > .entry:not(.next) .lane')].filter(e => !e.innerText.trim()).map(e => e.outerHTML).join()`), "a lane is a word")
}

func moments(t *testing.T, stamps []string) (list []time.Time) {
	t.Helper()
	for _, stamp := range stamps {
		at, err := time.Parse(time.RFC3339Nano, stamp)
		require.NoError(t, err)
		list = append(list, at)
	}
	return list
}

// pressed are the actions that have a button of their own somewhere but on the alarms' page.
var pressed = []string{
	"reconcile", "recover", "settle_failure", "reprocess", "settle_event", "redispatch", "settle_outbox", "retry_job", "cancel_job", "resend_mail", "refund", "cancel_order",
	"correct_address", "settle_review", "settle_orphan", "settle_payment", "approve", "reject", "judge_duplicate", "note", "assign", "ticket", "tag", "snooze", "reveal",
}

// 22: what a viewer may not do stays visible with the reason; pressed anyway it is refused, and the audit knows.
func point22(d *desk, v *visitor) {
	t := v.t
	for _, queue := range d.queues {
		v.goTo("/console/work/" + queue)
		require.NotEmpty(t, v.rows(), queue)
		buttons := js[int](v, `[...document.querySelectorAll('#rows [data-testid^="act-"], #rows .bulk-bar button')].length`)
		require.Positive(t, buttons, queue)
		require.Equal(t, buttons, v.has(`#rows button[data-testid^="act-"]:disabled, #rows .bulk-bar button:disabled`), queue)
		require.Zero(t, v.has(`#rows form[action^="/console/act"]`), queue)
		require.Contains(t, js[string](v, `document.getElementById('rows').innerText`), "needs the role", queue)
	}
	for page, words := range map[string]string{"/console/reconcile": "needs the role", "/console/alarms": "operator"} {
		v.goTo(page)
		require.Contains(t, js[string](v, `document.getElementById('main').innerText`), words, page)
		require.Zero(t, v.has(`#main form[method=post] button:not(:disabled)`), page)
	}
	v.goTo("/console/audit")
	offered := js[[]string](v, `[...document.querySelectorAll('[name=action] option')].map(o => o.value).filter(Boolean)`)
	v.goTo("/console/prefs") // its form carries the token that every form has
	v.expect("status of 403")
	object := d.text(`SELECT id FROM orders LIMIT 1`)
	batch := d.preview(t)
	posts := []string{
		"/console/bulk/preview", "/console/bulk", "/console/batches/" + batch + "/move", "/console/batches/" + batch + "/retry", "/console/alarms/unknown_payments/acknowledge",
		"/console/alarms/unknown_payments/silence", "/console/drills",
	}
	require.Subset(t, offered, pressed)
	for _, action := range pressed {
		of := object
		if strings.HasSuffix(action, "_job") {
			of = d.text(`SELECT max(id)::text FROM river_job`)
		}
		posts = append(posts, "/console/act/"+action+"/"+of)
	}
	for _, address := range posts {
		before := d.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`)
		status := look(v, chromedp.Evaluate[int](fmt.Sprintf(`fetch(%q, {method: 'POST', redirect: 'manual', body: new URLSearchParams({csrf: document.querySelector('[name=csrf]').value,
			key: crypto.randomUUID(), press: crypto.randomUUID(), reason: 'because', action: 'reconcile', queue: 'unknown_payments', selected: %q, batch: %q, to: 'PAUSED', for: '1h', name: 'all'})}).then(r => r.status)`,
			address, object, batch), chromedp.EvalAwaitPromise))
		require.Equal(t, http.StatusForbidden, status, address)
		require.Equal(t, before+1, d.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`), address)
	}
}

// preview is a batch that an operator has not confirmed.
func (d *desk) preview(t *testing.T) (id string) {
	t.Helper()
	v := d.login(t, "operator")
	v.goTo("/console/work/unknown_payments")
	v.do(chromedp.Click(chromedp.CSS(`[name=selected]`), chromedp.NodeVisible))
	v.click("bulk-reconcile")
	v.see("batch-form")
	return path.Base(v.at())
}

// still ends everything that changes rows, and leaves something in every queue; alarms are still looked at, and all fire.
func (d *desk) still() {
	d.settled()
	d.stopWorkers()
	one := `(SELECT id FROM users WHERE role = 'support')`
	for _, sql := range []string{
		`UPDATE payments SET status = 'UNKNOWN', updated_at = now() - interval '10 minutes' WHERE status = 'PENDING'`,
		`UPDATE operations SET next_attempt_at = now() + interval '1 day' WHERE status = 'PROCESSING'`,
		`UPDATE operations SET status = 'PROCESSING', completed_at = NULL, expires_at = NULL, created_at = now() - interval '2 hours', next_attempt_at = now() + interval '1 day' WHERE type = 'ISSUE_LICENSES'`,
		`UPDATE operations SET status = 'FAILED', failure_code = 'BROKEN', last_error = 'no' WHERE type = 'ACCRUE_BONUS'`,
		`UPDATE incoming_events SET status = 'QUARANTINED', reason = 'WRONG_AMOUNT' WHERE event_type = 'payment.succeeded'`,
		`UPDATE incoming_events SET status = 'RECEIVED', processed_at = NULL, next_attempt_at = now() + interval '1 day', attempts = 2, reason = 'payment unknown' WHERE status <> 'QUARANTINED'`,
		`UPDATE outbox_events SET dispatched_at = NULL, parked_at = now(), last_error = 'no' WHERE event_type = 'ORDER_PAID'`,
		`UPDATE orders SET needs_review = true, review_reason = 'PAID_AFTER_CANCEL' WHERE status = 'FULFILLED'`,
		`UPDATE payments SET orphaned_at = now() WHERE status = 'SUCCEEDED'`,
		`INSERT INTO possible_duplicates (order_id, earlier_id) SELECT id, (SELECT min(id::text)::uuid FROM orders) FROM orders WHERE status = 'FULFILLED' ON CONFLICT DO NOTHING`,
		`INSERT INTO river_job (args, kind, max_attempts, queue, state, finalized_at, errors) SELECT jsonb_build_object('n', n), 'apply_event', 3, 'q', 'discarded', now(),
			ARRAY['{"error":"boom"}']::jsonb[] FROM generate_series(1, 4) n`,
		`INSERT INTO approvals (id, action, object_id, order_id, input, reason, requested_by) SELECT gen_random_uuid(), 'refund', id, id,
			'{"amount":{"amount":"4.00","currency":"RUB"}}', 'broken', ` + one + ` FROM orders WHERE status = 'FULFILLED'`,
	} {
		d.exec(sql)
	}
	limits := []string{}
	for _, queue := range d.queues {
		limits = append(limits, queue+"=1us")
	}
	d.shop.env = append(d.shop.env, "ONEFOLD_WORKERS=0", "ONEFOLD_ALARM_EVERY=1s", "ONEFOLD_ALARM_LIMITS="+strings.Join(limits, ";"))
	d.startWorker("")
}

// 23: the tile, the rail, the alarm and the list that they lead to say one number.
func point23(d *desk, v *visitor) {
	t := v.t
	d.still()
	eventually(t, "every queue's alarm fires", func() bool {
		return d.count(`SELECT count(*) FROM alarms WHERE state = 'FIRING' AND name = ANY($1)`, d.queues) == len(d.queues)
	})
	type tile struct{ Name, URL, N string }
	v.goTo("/console")
	tiles := js[[]tile](v, `[...document.querySelectorAll('.tile')].map(e => ({Name: e.dataset.testid.slice(6), URL: e.getAttribute('href'), N: e.dataset.count}))`)
	require.Len(t, tiles, len(d.queues))
	v.goTo("/console/alarms")
	alarms := map[string]tile{}
	for _, a := range js[[]tile](v, `[...document.querySelectorAll('[data-testid="alarm-row"]')].map(e => ({Name: e.dataset.alarm, URL: e.querySelector('.row-actions a').getAttribute('href'), N: /^\d+/.exec(e.querySelector('.num').innerText)[0]}))`) {
		alarms[a.Name] = a
	}
	for _, one := range tiles {
		n := d.list(v, one.URL)
		require.Positive(t, n, one.Name)
		require.Equal(t, fmt.Sprint(n), one.N, "tile %s", one.Name)
		require.Equal(t, one.N, js[string](v, `document.querySelector('[data-testid="work-count"]').dataset.count`), one.Name)
		require.Equal(t, one.N, js[string](v, `document.querySelector('.rail [aria-current] .pill')?.innerText ?? document.querySelector('.rail').innerHTML`), "rail %s", one.Name)
		require.Equal(t, one.URL, alarms[one.Name].URL, "alarm %s", one.Name)
		require.Equal(t, one.N, alarms[one.Name].N, "alarm %s", one.Name)
	}
	for name, state := range map[string]string{"outbox_lag": "outbox?state=WAITING", "inbox_lag": "inbox?state=RECEIVED"} {
		require.Equal(t, "/console/"+state, alarms[name].URL)
	}
}

// list goes through a whole list and counts its rows.
func (d *desk) list(v *visitor, address string) (n int) {
	v.goTo(address)
	for n = len(v.rows()); v.has(string(testid("pager-newer"))) > 0; n += len(v.rows()) {
		v.choose("pager-newer")
	}
	return n
}
