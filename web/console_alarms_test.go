package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/alarm"
)

// looked evaluates the alarms once, as a worker would.
func (s *shop) looked() {
	s.t.Helper()
	_, err := alarm.Watcher{DB: s.db, Every: time.Nanosecond}.Watch(s.t.Context())
	require.NoError(s.t, err)
}

// counted reads the journal as far as it is wanted.
func (s *shop) counted(sql string, want int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, err := alarm.Rollup(s.t.Context(), s.db, time.Nanosecond)
		return err == nil && s.count(sql) == want
	}, 10*time.Second, 10*time.Millisecond)
}

func (s *shop) parkedLong() {
	s.t.Helper()
	s.exec(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, created_at, parked_at)
		VALUES (gen_random_uuid(), gen_random_uuid(), 'ORDER_PAID', gen_random_uuid(), 't', now() - interval '1 hour', now() - interval '1 hour')`)
}

func TestAnAlarmIsSeenAnsweredAndRemembered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.as(account.Operator)
	require.Equal(t, 1, o.page("/console/alarms", http.StatusOK).Find(testID("stale")).Length(), "nobody has looked")
	s.parkedLong()
	s.looked()
	for _, address := range []string{"/console", "/console/operations"} {
		strip := o.page(address, http.StatusOK).Find(testID("alarm-strip"))
		require.Equal(t, 1, strip.Find("[data-alarm=parked_events]").Length(), address)
		require.Equal(t, 1, strip.Find("a[href='/console/outbox?state=PARKED'], a[href*=parked_events]").First().Length(), "leads to its list")
	}
	const action = "/console/alarms/parked_events/acknowledge"
	form := o.get("/console/alarms", "").form(t, action)
	require.Equal(t, http.StatusUnprocessableEntity, o.post(action, form).Status, "no reason")
	form.Set("reason", "I am on it")
	for range 2 {
		require.Equal(t, http.StatusSeeOther, o.post(action, form).Status)
	}
	form.Set("reason", "something else")
	require.Equal(t, http.StatusConflict, o.post(action, form).Status, "the form is spent")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM alarm_history WHERE what = 'ACKNOWLEDGED' AND reason = 'I am on it'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM alarm_history WHERE what = 'ACKNOWLEDGED'`))
	doc := o.page("/console/alarms?alarm=parked_events", http.StatusOK)
	require.Equal(t, 2, doc.Find(testID("alarm-history")).Length())
	require.Contains(t, doc.Find("[data-what=ACKNOWLEDGED]").Text(), "I am on it")
	o.page("/console/alarms?alarm=nothing", http.StatusBadRequest)
}

func TestASilencedAlarmIsNoStrip(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.as(account.Operator)
	s.parkedLong()
	s.looked()
	const action = "/console/alarms/parked_events/silence"
	form := o.get("/console/alarms", "").form(t, action)
	form.Set("reason", "known")
	form.Set("for", "25h")
	require.Equal(t, http.StatusUnprocessableEntity, o.post(action, form).Status)
	form.Set("for", "4h")
	require.Equal(t, http.StatusSeeOther, o.post(action, form).Status)
	require.Zero(t, o.page("/console", http.StatusOK).Find(testID("alarm-strip")).Length())
	require.Equal(t, 1, s.count(`SELECT count(*) FROM alarms WHERE silenced_until BETWEEN now() + interval '3 hours' AND now() + interval '5 hours'`))
	form.Set("for", "soon")
	require.Equal(t, http.StatusBadRequest, o.post(action, form).Status)
}

func TestOnlyOperatorsAnswerAlarms(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.parkedLong()
	s.looked()
	form := s.as(account.Operator).get("/console/alarms", "").form(t, "/console/alarms/parked_events/acknowledge")
	for _, role := range []account.Role{account.Viewer, account.Support} {
		v := s.as(role)
		doc := v.page("/console/alarms", http.StatusOK)
		require.NotZero(t, doc.Find("[aria-disabled=true]").Length(), "visible, with the reason")
		require.Equal(t, 1, doc.Find(testID("needs-role")).Length())
		mine := url.Values{"csrf": {doc.Find("input[name=csrf]").First().AttrOr("value", "")}, "press": form["press"], "reason": {"x"}}
		require.Equal(t, http.StatusForbidden, v.post("/console/alarms/parked_events/acknowledge", mine).Status)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM alarm_history WHERE what = 'ACKNOWLEDGED'`))
	// Nobody presses another button through the alarms' address.
	o := s.as(account.Operator)
	form = o.get("/console/alarms", "").form(t, "/console/alarms/parked_events/acknowledge")
	form.Set("reason", "x")
	for _, what := range []string{"refund", "note", "nothing"} {
		require.Equal(t, http.StatusNotFound, o.post("/console/alarms/"+uuid.NewString()+"/"+what, form).Status, what)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM case_notes`))
}

func TestTheChartsShowWhatTheJournalTells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.order(token, "key-1", pixel).placed(t)
	for range 3 {
		require.Equal(t, http.StatusCreated, s.order(token, "key-1", pixel).Status)
	}
	s.counted(`SELECT coalesce(sum(n), 0)::int FROM rollups WHERE series = 'absorbed' AND label = 'request' AND span = 15`, 3)
	v := s.as(account.Viewer)
	for _, r := range []string{"", "?range=6h", "?range=24h", "?range=7d"} {
		doc := v.page("/console"+r, http.StatusOK)
		for _, chart := range []string{"operations", "absorbed"} {
			figure := doc.Find(testID("chart-" + chart))
			require.Equal(t, 1, figure.Find("svg[role=img][aria-label]").Length(), chart+r)
			require.NotZero(t, figure.Find("details table tbody tr").Length(), "a table says the same")
			require.LessOrEqual(t, figure.Find(".hit").Length(), 120)
		}
		require.Contains(t, doc.Find(testID("chart-operations")).Text(), "replayed 3")
		require.Contains(t, doc.Find(testID("proof")).Text(), "3 duplicates absorbed")
	}
	v.page("/console?range=2h", http.StatusBadRequest)
}

// Which client reuses keys? Two clicks from the overview.
func TestQuestion_WhichClientReusesKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	s.order(token, "key-1", pixel).placed(t)
	for range 2 {
		s.order(token, "key-1", `{"items":[{"productId":"pixel-orchard","quantity":2}],"currency":"RUB"}`).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	}
	s.counted(`SELECT coalesce(sum(n), 0)::int FROM rollups WHERE series = 'reused_by' AND span = 15`, 2)
	v := s.as(account.Viewer)
	client := v.page("/console", http.StatusOK).Find(testID("client"))
	require.Equal(t, 1, client.Length())
	require.Contains(t, client.Text(), "s•••@example.com")
	require.Equal(t, "2", client.Find("b").Text())
	found := v.get(client.Find("a").AttrOr("href", ""), "")
	require.Equal(t, http.StatusSeeOther, found.Status)
	require.Contains(t, v.page(found.Header.Get("Location"), http.StatusOK).Text(), "key-1")
}

// What is stuck, since when, waiting for whom? The overview says it; one click leads to the rows.
func TestQuestion_WhatIsStuckSinceWhenWaitingForWhom(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.placed("key-1")
	f.exec(`UPDATE payments SET status = 'UNKNOWN', updated_at = now() - interval '20 minutes' WHERE status = 'PENDING'`)
	f.exec(`UPDATE operations SET created_at = now() - interval '40 minutes', next_attempt_at = next_attempt_at - interval '1 hour' WHERE status = 'PROCESSING'`)
	v := f.as(account.Viewer)
	doc := v.page("/console", http.StatusOK)
	for queue, words := range map[string][]string{"stuck_operations": {"35 min / 10 min", "for a worker"}, "unknown_payments": {"20 min / 15 min", "for the provider"}} {
		tile := doc.Find(testID("queue-" + queue))
		require.True(t, tile.HasClass("bad"), queue)
		for _, word := range append(words, "over the limit") {
			require.Contains(t, tile.Text(), word, queue)
		}
		require.Equal(t, 1, tile.Find("time").Length(), "since when")
		require.NotZero(t, v.page(tile.AttrOr("href", ""), http.StatusOK).Find("tbody tr").Length(), queue)
	}
}
