package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operator"
)

// policies say of every route that takes a form who may send it: the least role of the console, or why roles don't decide. A new
// route without a line here fails.
var policies = map[string]struct {
	floor account.Role
	open  string // who decides instead
}{
	"/webhooks/:provider": {open: "the signature"},
	"/api/orders":         {open: "the token"}, "/api/orders/:id/payments": {open: "the token"}, "/api/orders/:id/cancel": {open: "the token"},
	"/api/orders/:id/refunds": {open: "the token, see api_refunds_test.go"}, "/api/leads": {open: "the token"},
	"/api/reconciliations": {open: "the token, see api_reconcile_test.go"},
	"/cart/items":          {open: "anybody's basket"}, "/cart/items/:id": {open: "anybody's basket"}, "/checkout/:key": {open: "whose basket it is"},
	"/orders/:id/payments": {open: "whose order it is"}, "/orders/:id/cancel": {open: "whose order it is"},
	"/orders/:id/buy-again": {open: "whose order it is"}, "/orders/:id/find": {open: "who knows its address"},
	"/sign-in": {open: "anybody"}, "/sign-out": {open: "anybody"}, "/prefs": {open: "anybody"}, "/console/sign-in": {open: "anybody"},
	"/console/act/:action/:object": {floor: account.Support}, // each action its own: see below
	"/console/bulk/preview":        {floor: account.Support},
	"/console/bulk":                {floor: account.Support},
	"/console/batches/:id/move":    {floor: account.Support},
	"/console/batches/:id/retry":   {floor: account.Support},
	"/console/alarms/:name/:what":  {floor: account.Operator},
	"/console/drills":              {floor: account.Operator},
	"/console/prefs":               {floor: account.Viewer},
	"/console/views":               {floor: account.Viewer},
	"/console/views/:id/remove":    {floor: account.Viewer},
}

// tried are forms for each route, of which the least allowed role isn't refused for its role.
func (f *floor) tried(pattern string) (address string, form url.Values) {
	form = url.Values{"key": {uuid.NewString()}, "reason": {"r"}}
	batch := uuid.NewString()
	f.write(`INSERT INTO batches (id, action, user_id, status, total, trace_id) SELECT $1, 'reconcile', id, 'PREVIEW', 0, '' FROM users WHERE role = 'admin' LIMIT 1`, batch)
	switch pattern {
	case "/console/bulk/preview":
		form.Set("queue", "unknown_payments")
		form.Set("action", "reconcile")
		form.Set("all", "1")
	case "/console/bulk":
		form.Set("batch", batch)
	}
	return strings.NewReplacer(":action", "note", ":object", uuid.NewString(), ":id", batch, ":name", "unknown_payments", ":what", "acknowledge").Replace(pattern), form
}

// forms lists the routes that take one.
func (s *shop) forms() (patterns []string) {
	s.t.Helper()
	for _, routes := range s.app.Stack() {
		for _, r := range routes {
			if r.Method == http.MethodPost && !slices.Contains(patterns, r.Path) && len(r.Handlers) > 0 && !isMiddleware(r.Path) {
				patterns = append(patterns, r.Path)
			}
		}
	}
	require.Greater(s.t, len(patterns), 20)
	return patterns
}

func TestEveryFormIsRefusedToLowerRoles(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.as(account.Admin)
	patterns := f.forms()
	for _, pattern := range patterns {
		require.Contains(t, policies, pattern, "a route without a policy")
	}
	for pattern := range policies {
		require.Contains(t, patterns, pattern, "a policy without a route")
	}
	for _, role := range everyone {
		b := f.as(role)
		token := b.token()
		for _, pattern := range patterns {
			policy := policies[pattern]
			if policy.open != "" {
				continue
			}
			address, form := f.tried(pattern)
			form.Set("csrf", token)
			lines := f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED' AND code = 'FORBIDDEN'`)
			a := b.post(address, form)
			lines = f.count(`SELECT count(*) FROM audit_actions WHERE outcome = 'REFUSED' AND code = 'FORBIDDEN'`) - lines
			switch {
			case role.AtLeast(policy.floor):
				require.NotEqual(t, http.StatusForbidden, a.Status, "%s as %q", pattern, role)
				require.NotContains(t, a.Header.Get("Location"), "/console/sign-in", "%s as %q", pattern, role)
				require.Less(t, a.Status, 500, "%s as %q: %s", pattern, role, a.Body)
				require.Zero(t, lines, "%s as %q", pattern, role)
			case role.AtLeast(account.Shopper):
				require.Equal(t, http.StatusForbidden, a.Status, "%s as %q", pattern, role)
				require.Equal(t, 1, lines, "audited once: %s as %q", pattern, role)
			default: // nobody in particular: to the door
				require.Equal(t, http.StatusSeeOther, a.Status, "%s as %q", pattern, role)
				require.Contains(t, a.Header.Get("Location"), "/console/sign-in")
			}
		}
	}
}

// isMiddleware: what stands before routes, and the job pages, which refuse by themselves (TestWhoMayChangeJobs).
func isMiddleware(pattern string) bool {
	return slices.Contains([]string{"/", "/api", "/api/", "/webhooks", "/webhooks/", "/console", "/console/river"}, pattern)
}

// Every action of the table, as every role: refused and audited below its own, and never below 403 above.
func TestEveryActionIsRefusedToLowerRoles(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	object := f.sold("key-1")
	for _, role := range everyone {
		b := f.as(role)
		for _, k := range operator.Kinds() {
			id := object
			if k.Object == "job" {
				id = "1"
			}
			before := f.count(`SELECT count(*) FROM audit_actions WHERE code = 'FORBIDDEN'`)
			a := b.press(k.Name, id)
			audited := f.count(`SELECT count(*) FROM audit_actions WHERE code = 'FORBIDDEN'`) - before
			switch {
			case role.AtLeast(k.Role):
				require.NotEqual(t, http.StatusForbidden, a.Status, "%s as %q", k.Name, role)
				require.Less(t, a.Status, 500, "%s as %q: %s", k.Name, role, a.Body)
				require.Zero(t, audited)
			case role.AtLeast(account.Shopper):
				require.Equal(t, http.StatusForbidden, a.Status, "%s as %q", k.Name, role)
				require.Equal(t, 1, audited, "%s as %q", k.Name, role)
				require.Contains(t, a.Body, role)
			default:
				require.Equal(t, http.StatusSeeOther, a.Status, "%s as %q", k.Name, role)
			}
		}
	}
}
