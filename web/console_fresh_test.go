package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/web"
)

// Point 17: an open list says how many rows came since, by its own filter, and moves none.
func TestAnOpenListSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	f := newFloor(t, func(h *web.Handlers) { h.Done = done })
	f.listen()
	t.Cleanup(func() { close(done) }) // before the server stops: it waits for its streams
	f.sold("key-1")
	v := f.as(account.Viewer)
	all, failed := v.hears("/console/operations"), v.hears("/console/operations?state=FAILED&limit=25")
	f.sold("key-2")
	f.exec(`UPDATE operations SET created_at = now() + interval '1 second' WHERE id = (SELECT id FROM operations ORDER BY created_at DESC, id DESC LIMIT 1)`)
	until(t, all, `href="/console/operations" data-refresh`)
	f.exec(`UPDATE operations SET created_at = now() + interval '2 seconds', status = 'FAILED', failure_code = 'X', resource_type = NULL, resource_id = NULL
		WHERE id = (SELECT id FROM operations ORDER BY created_at DESC, id DESC LIMIT 1)`)
	until(t, failed, `data-count="1"`)
	require.NotContains(t, v.get("/console", "").Body, `id="list-news"`)
}

// Queues, the audit and the two lists of runs say it, too: a queue also of what is old itself.
func TestOpenQueuesSayWhatIsNew(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	f := newFloor(t, func(h *web.Handlers) { h.Done = done })
	f.listen()
	t.Cleanup(func() { close(done) })
	order := f.sold("key-1")
	v, o := f.as(account.Viewer), f.as(account.Operator)
	page := "/console/work/orders_in_review?assignee=me&limit=25"
	require.NotContains(t, v.get(page, "").Body, order)
	mine, parked := v.hears(page), v.hears("/console/work/parked_events?cursor=&type=ORDER_PAID")
	audit := o.hears("/console/audit?action=export&limit=25")
	f.write(`INSERT INTO cases (object_id, assignee) SELECT $1, id FROM users WHERE role = 'viewer'`, order)
	f.write(`UPDATE orders SET needs_review = true, review_reason = 'X', created_at = now() - interval '1 day' WHERE id = $1`, order)
	f.write(`INSERT INTO journal (kind, trace_id, order_id) VALUES ('order.flagged', 'a', $1)`, order)
	f.exec(`UPDATE outbox_events SET dispatched_at = NULL, parked_at = now(), created_at = now() - interval '1 day'`)
	require.Equal(t, http.StatusOK, o.get("/console/payments?format=csv", "").Status)
	until(t, mine, `href="/console/work/orders_in_review?assignee=me&amp;limit=25" data-refresh`)
	until(t, parked, `href="/console/work/parked_events?type=ORDER_PAID" data-refresh`)
	until(t, audit, `href="/console/audit?action=export&amp;limit=25" data-refresh`)
	for _, page := range []string{"/console/batches", "/console/reconcile"} {
		require.Contains(t, v.get(page, "").Body, `id="list-news"`)
	}
}

// hears opens the stream that a page names.
func (s *shop) hears(page string) chan string {
	s.t.Helper()
	lines, status := s.hearAt(s.t.Context(), streamOf(s.t, s.get(page, "").Body))
	require.Equal(s.t, http.StatusOK, status)
	return lines
}

var streamAddress = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

func streamOf(t *testing.T, page string) string {
	t.Helper()
	named := streamAddress.FindStringSubmatch(page)
	require.Len(t, named, 2)
	return strings.ReplaceAll(named[1], "&amp;", "&")
}
