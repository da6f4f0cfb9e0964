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
	for _, page := range []string{"/console", "/console/audit"} {
		require.NotContains(t, v.get(page, "").Body, `id="list-news"`)
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
