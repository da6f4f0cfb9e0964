package web_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/web"
)

var everyone = []account.Role{"", account.Guest, account.Shopper, account.Viewer, account.Support, account.Operator, account.Approver, account.Admin}

// river stands for River's pages and notes what reaches it.
type river struct{ calls []string }

func (r *river) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.calls = append(r.calls, q.Method+" "+q.URL.Path)
	_, _ = w.Write([]byte("river"))
}

func (r *river) into(h *web.Handlers) { h.River = r }

func TestWhoMayOpenWhat(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	close(ended) // so that the stream ends, too
	f := newFloor(t, (&river{}).into, func(h *web.Handlers) { h.Done = ended })
	id := f.sold("key-1")
	// needed is the least role of every route for operators, with the status it has then.
	needed := map[string]struct {
		role   account.Role
		status int
	}{
		"/console": {account.Viewer, 200}, "/console/operations": {account.Viewer, 200}, "/console/payments": {account.Viewer, 200},
		"/console/orders": {account.Viewer, 200}, "/console/inbox": {account.Viewer, 200}, "/console/outbox": {account.Viewer, 200}, "/console/search": {account.Viewer, 200},
		"/console/intents/" + id + ".json": {account.Viewer, 200}, "/console/intents/" + id + ".txt": {account.Viewer, 200},
		"/console/intents/" + id: {account.Viewer, 200}, "/go/" + id: {account.Viewer, 303}, "/console/nothing": {account.Viewer, 404},
		"/console/river": {account.Operator, 200}, "/console/river/jobs/7": {account.Operator, 200}, "/console/river/api/jobs": {account.Operator, 200},
		"/console/sign-in":               {"", 200},
		"/console/work/unknown_payments": {account.Viewer, 200}, "/console/act/refund/" + id: {account.Viewer, 303},
		"/console/reconcile": {account.Viewer, 200}, "/console/reconcile/" + id: {account.Viewer, 404}, "/console/batches": {account.Viewer, 200},
		"/console/batches/" + id: {account.Viewer, 404}, "/console/audit": {account.Viewer, 200},
		"/console/stream": {account.Viewer, 200}, "/console/alarms": {account.Viewer, 200}, "/console/drills": {account.Viewer, 200},
		"/console/drills/" + id: {account.Viewer, 404}, "/console/prefs": {account.Viewer, 200}, "/console/views": {account.Viewer, 200},
		"/console/users": {account.Viewer, 200}, "/console/help": {account.Viewer, 200},
		"/console/retention": {account.Viewer, 200},
	}
	for _, r := range f.app.GetRoutes(true) {
		if r.Method == http.MethodGet && (strings.HasPrefix(r.Path, "/console") || strings.HasPrefix(r.Path, "/go")) {
			path := strings.NewReplacer(":id", id, "*", id, ":queue", "unknown_payments", ":action", "refund", ":object", id).Replace(r.Path)
			require.Contains(t, needed, path, "a route without a row in this table")
		}
	}
	for _, role := range everyone {
		b := f.as(role)
		for path, n := range needed {
			a := b.get(path, "")
			switch {
			case n.role == "" || role.AtLeast(n.role):
				require.Equal(t, n.status, a.Status, "%s as %q", path, role)
			case strings.Contains(path, "/api/"):
				want := 401
				if role.AtLeast(account.Shopper) {
					want = 403
				}
				require.Equal(t, want, a.Status, "%s as %q", path, role)
			case role.AtLeast(account.Shopper):
				require.Equal(t, 403, a.Status, "%s as %q", path, role)
				require.Contains(t, a.Body, string(n.role), "names the role: %s as %q", path, role)
				require.Contains(t, a.Body, string(role))
				require.NotContains(t, a.Body, id)
			default:
				require.Equal(t, 303, a.Status, "%s as %q", path, role)
				require.Equal(t, "/console/sign-in?return="+url.QueryEscape(path), a.Header.Get("Location"))
			}
		}
		require.Equal(t, role.AtLeast(account.Operator), strings.Contains(b.get("/console", "").Body, `href="/console/river"`))
	}
}

func TestTheDoorOfTheConsole(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for email, role := range map[string]account.Role{"vera@example.com": account.Viewer, "sam@example.com": account.Shopper} {
		_, err := account.Create(t.Context(), s.db, email, password, role)
		require.NoError(t, err)
	}
	b := s.browser()
	wanted := "/console/operations?state=FAILED&limit=25"
	door := b.get(wanted, "").Header.Get("Location")
	enter := func(email, password string) answer {
		form := b.get(door, "").form(t, "/console/sign-in")
		form.Set("email", email)
		form.Set("password", password)
		return b.post("/console/sign-in", form)
	}
	wrong := enter("vera@example.com", "not it, not it")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.Status)
	require.Contains(t, wrong.Body, "Wrong e-mail or password")
	require.Contains(t, wrong.Body, "vera@example.com", "what was typed is kept")

	refused := enter("sam@example.com", password)
	require.Equal(t, http.StatusForbidden, refused.Status)
	require.Contains(t, refused.Body, "viewer")
	require.Zero(t, s.count(`SELECT count(*) FROM sessions`), "a shopper gets no session at this door")

	right := enter("vera@example.com", password)
	require.Equal(t, http.StatusSeeOther, right.Status)
	require.Equal(t, wanted, right.Header.Get("Location"))
	require.Equal(t, http.StatusOK, b.get(wanted, "").Status)
	for _, elsewhere := range []string{"https://evil.test/", "//evil.test", `/\evil.test`} {
		door = "/console/sign-in?return=" + url.QueryEscape(elsewhere)
		require.Equal(t, "/console", enter("vera@example.com", password).Header.Get("Location"))
	}
	out := b.post("/sign-out", b.get("/console", "").form(t, "/sign-out"))
	require.Equal(t, http.StatusSeeOther, out.Status)
	require.Equal(t, http.StatusSeeOther, b.get(wanted, "").Status)
}

func TestWhoMayChangeJobs(t *testing.T) {
	t.Parallel()
	r, line := &river{}, &bytes.Buffer{}
	s := newShop(t, r.into, func(h *web.Handlers) { h.Logger = slog.New(slog.NewTextHandler(line, nil)) })
	ours := []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}
	const retry = "/console/river/api/jobs/retry"
	for _, role := range everyone {
		r.calls = nil
		a := s.as(role).do(http.MethodPost, retry, `{"ids":["1"]}`, ours...)
		if role == account.Admin {
			require.Equal(t, http.StatusOK, a.Status)
			require.Equal(t, []string{"POST " + retry}, r.calls)
			continue
		}
		require.Equal(t, map[bool]int{true: 403, false: 401}[role.AtLeast(account.Shopper)], a.Status, role)
		require.Empty(t, r.calls, role)
		if role.AtLeast(account.Operator) {
			require.Equal(t, "This needs the role admin or a higher one.", a.Body)
		}
	}
	admin := s.as(account.Admin)
	for name, headers := range map[string][]string{
		"silent": nil, "another site's text/plain": {"Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, "same site": {"Sec-Fetch-Site", "same-site"},
		"typed in": {"Sec-Fetch-Site", "none"}, "foreign origin": {"Origin", "https://evil.test"}, "no origin": {"Origin", "null"},
		"lying origin": {"Sec-Fetch-Site", "cross-site", "Origin", s.base},
	} {
		r.calls = nil
		require.Equal(t, http.StatusForbidden, admin.do(http.MethodPost, retry, `{"ids":["1"]}`, headers...).Status, name)
		require.Empty(t, r.calls, name)
	}
	require.Equal(t, http.StatusOK, admin.do(http.MethodPost, retry, "{}", "Origin", s.base).Status)
	for _, call := range []string{
		"POST /api/jobs/delete", "POST /api/jobs/%64elete", "POST /api/jobs/retry/../delete", "POST /api//jobs/delete", "POST /api/jobs/delete/",
		"PATCH /api/queues/payments", "DELETE /api/jobs/1", "POST /anything", "PUT /api/queues/a%2Fb/pause", "POST /api/jobs/retry/",
	} {
		r.calls = nil
		method, path, _ := strings.Cut(call, " ")
		require.Equal(t, http.StatusForbidden, admin.do(method, "/console/river"+path, "{}", ours...).Status, call)
		require.Empty(t, r.calls, call)
	}
	require.Equal(t, http.StatusOK, admin.do(http.MethodPut, "/console/river/api/queues/payments/pause", "", ours...).Status)
	require.Contains(t, line.String(), `call="POST /api/jobs/delete" allowed=false`)
	require.Contains(t, line.String(), `call="PUT /api/queues/payments/pause" allowed=true`)
	require.True(t, slices.ContainsFunc(strings.Split(line.String(), "\n"), func(l string) bool {
		return strings.Contains(l, "allowed=true") && strings.Contains(l, "user_id=") && !strings.Contains(l, "user_id="+uuid.Nil.String())
	}))
}

func TestWithoutRiverThereAreNoJobPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	require.Equal(t, http.StatusNotFound, s.as(account.Admin).get("/console/river", "").Status)
	require.NotContains(t, s.as(account.Admin).get("/console", "").Body, "/console/river")
}

func TestOnlyRiversPagesMayStyleThemselves(t *testing.T) {
	t.Parallel()
	s := newShop(t, (&river{}).into)
	admin := s.as(account.Admin)
	policy := func(path string) string { return admin.get(path, "").Header.Get("Content-Security-Policy") }
	require.Contains(t, policy("/console/river/"), "script-src 'self'; style-src 'self'; style-src-elem 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self';")
	require.Equal(t, 1, strings.Count(policy("/console/river/"), "unsafe"))
	for _, path := range []string{"/console", "/console/operations", "/", "/console/sign-in"} {
		require.NotContains(t, policy(path), "unsafe", path)
	}
	require.Equal(t, "private, max-age=31536000, immutable", admin.get("/console/river/assets/main-x.js", "").Header.Get("Cache-Control"))
	require.Equal(t, "no-store", admin.get("/console/river/api/jobs", "").Header.Get("Cache-Control"))
}
