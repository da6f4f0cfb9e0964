package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/web"
)

// untold are the console's forms that leave no line in the audit, and why.
var untold = map[string]string{
	"/console/prefs": "what somebody likes for himself changes nothing for anybody else",
}

// told are presses that work, by route: the address and what the form says.
func (f *floor) told() map[string][]string {
	batch := func(status, item string) string {
		id := uuid.NewString()
		f.write(`INSERT INTO batches (id, action, user_id, status, reason, total, trace_id, next_attempt_at, finished_at)
			SELECT $1, 'settle_review', id, $2, 'r', 1, '', CASE WHEN $2 = 'RUNNING' THEN now() END, CASE WHEN $2 = 'DONE' THEN now() END
			FROM users WHERE role = 'admin' LIMIT 1`, id, status)
		f.write(`INSERT INTO batch_items (batch_id, position, object_id, label, status, code) VALUES ($1, 1, $2, '', $3, 'X')`, id, uuid.New(), item)
		return id
	}
	order := f.sold("key-1")
	f.write(`UPDATE orders SET needs_review = true, review_reason = 'X' WHERE id = $1`, order)
	f.parkedLong()
	f.looked()
	view := uuid.NewString()
	f.write(`INSERT INTO saved_views (id, user_id, name, address) SELECT $1, id, 'old', '/console/inbox' FROM users WHERE role = 'admin' LIMIT 1`, view)
	_, err := account.Create(f.t.Context(), f.db, "ann@example.com", "correct horse battery", account.Viewer)
	require.NoError(f.t, err)
	return map[string][]string{
		"/console/sign-in":             {"/console/sign-in", "email", "ann@example.com", "password", "correct horse battery"},
		"/console/act/:action/:object": {"/console/act/note/" + order},
		"/console/bulk/preview":        {"/console/bulk/preview", "queue", "orders_in_review", "action", "assign", "all", "1", "to", ""},
		"/console/bulk":                {"/console/bulk", "batch", batch("PREVIEW", "WAITING")},
		"/console/batches/:id/move":    {"/console/batches/" + batch("RUNNING", "WAITING") + "/move", "move", "pause"},
		"/console/batches/:id/retry":   {"/console/batches/" + batch("DONE", "FAILED") + "/retry"},
		"/console/alarms/:name/:what":  {"/console/alarms/parked_events/acknowledge"},
		"/console/drills":              {"/console/drills", "drill", "parallel"},
		"/console/views":               {"/console/views", "name", "mine", "address", "/console/payments", "shared", "true"},
		"/console/views/:id/remove":    {"/console/views/" + view + "/remove"},
	}
}

func TestEveryPressOfTheConsoleIsInTheAudit(t *testing.T) {
	t.Parallel()
	f := newFloor(t, func(h *web.Handlers) {
		h.Drills = &web.Drills{
			Names: []string{"parallel"}, Refused: func(context.Context) (string, error) { return "", nil },
			Run: func(context.Context, string, func(string)) web.DrillResult { return web.DrillResult{OK: true} },
		}
	})
	admin := f.as(account.Admin)
	token := admin.token()
	told := f.told()
	lines := func(outcomes string) int {
		return f.count(`SELECT count(*) FROM audit_actions WHERE outcome = ANY(string_to_array($1, ' '))`, outcomes)
	}
	for _, pattern := range f.forms() {
		if !strings.HasPrefix(pattern, "/console/") || untold[pattern] != "" {
			continue
		}
		require.Contains(t, told, pattern, "a form without a press that works: does it tell the audit?")
		form := url.Values{"csrf": {token}, "key": {uuid.NewString()}, "press": {uuid.NewString()}, "reason": {"because"}}
		for i := 1; i < len(told[pattern]); i += 2 {
			form.Set(told[pattern][i], told[pattern][i+1])
		}
		browser := admin
		if pattern == "/console/sign-in" {
			browser = f.as("")
			form.Set("csrf", browser.token())
		}
		before := lines("DONE")
		a := browser.post(told[pattern][0], form)
		require.Equal(t, http.StatusSeeOther, a.Status, "%s: %s", pattern, a.Body)
		require.Equal(t, 1, lines("DONE")-before, "done: %s", pattern)
		if pattern == "/console/sign-in" {
			continue
		}
		before = lines("DONE REPLAYED")
		require.Equal(t, http.StatusSeeOther, admin.post(told[pattern][0], form).Status, "%s again", pattern)
		require.Equal(t, 1, lines("DONE REPLAYED")-before, "pressed again: %s", pattern)
		form.Del("csrf")
		before = lines("REFUSED")
		require.Equal(t, http.StatusForbidden, admin.post(told[pattern][0], form).Status, "%s without its token", pattern)
		require.Equal(t, 1, lines("REFUSED")-before, "a form that isn't ours: %s", pattern)
	}
}

// What is refused for its content, too; and the job pages to whom they are closed.
func TestRefusedPressesAreInTheAudit(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("key-1")
	o := f.as(account.Operator)
	token := o.token()
	for address, more := range map[string][]string{
		"/console/act/snooze/" + order:                    {"until", "tomorrow"},
		"/console/act/note/" + order:                      {"reason", "a\x00b"},
		"/console/bulk/preview":                           {"queue", "orders_in_review", "action", "assign", "to", uuid.NewString()},
		"/console/bulk":                                   {"batch", uuid.NewString()},
		"/console/batches/" + order + "/move":             {"move", "pause"},
		"/console/alarms/parked_events/acknowledge":       {"press", "x"},
		"/console/views":                                  {"address", "https://evil.example"},
		"/console/drills":                                 {"drill", "none", "press", uuid.NewString()},
		"/console/act/assign/" + order:                    {"assignee", uuid.NewString()},
		"/console/act/nothing/" + order:                   nil,
		"/console/act/settle_review/" + order:             nil, // not under review
		"/console/batches/" + uuid.NewString() + "/retry": nil,
	} {
		form := url.Values{"csrf": {token}, "key": {uuid.NewString()}, "reason": {"because"}}
		for i := 0; i+1 < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		before := f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`)
		a := o.post(address, form)
		require.GreaterOrEqual(t, a.Status, 400, address)
		require.Less(t, a.Status, 500, "%s: %s", address, a.Body)
		require.Equal(t, 1, f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`)-before, "%s: %d", address, a.Status)
	}
	before := f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`)
	require.Equal(t, http.StatusForbidden, f.as(account.Viewer).post("/console/river/api/jobs/retry", url.Values{}).Status)
	require.Equal(t, http.StatusForbidden, o.post("/console/river/api/jobs/retry", url.Values{}).Status)
	require.Equal(t, 2, f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED'`)-before)
}
