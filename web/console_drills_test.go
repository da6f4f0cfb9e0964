package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/web"
)

func TestADrillRunsOnceAndIsWatched(t *testing.T) {
	t.Parallel()
	goOn, refused := make(chan struct{}), ""
	started := 0
	s := newShop(t, func(h *web.Handlers) {
		h.Drills = &web.Drills{
			Names: []string{"parallel"}, Refused: func(context.Context) (string, error) { return refused, nil },
			Run: func(_ context.Context, _ string, watch func(string)) web.DrillResult {
				started++
				watch("POST /api/orders → 201")
				watch("POST /api/orders → 201")
				<-goOn
				return web.DrillResult{OK: true, Sent: "2 requests", Absorbed: "1 replay", Tries: 2, Want: 1, Counts: []web.DrillCount{{"orders", 1}, {"charges", 1}, {"licenses", 1}}}
			},
		}
	})
	o := s.as(account.Operator)
	form := o.get("/console/drills", "").form(t, "/console/drills")
	run := o.post("/console/drills", form).Header.Get("Location")
	require.Regexp(t, "^/console/drills/.", run)
	require.Equal(t, run, o.post("/console/drills", form).Header.Get("Location"), "pressed twice is one run")
	form.Set("press", "another press")
	require.Equal(t, run, o.post("/console/drills", form).Header.Get("Location"), "one at a time")
	require.Eventually(t, func() bool {
		return o.page(run, http.StatusOK).Find(testID("drill-step")).Text() != ""
	}, 5*time.Second, 10*time.Millisecond)
	doc := o.page(run, http.StatusOK)
	require.Equal(t, "every 1s", doc.Find("#drill").AttrOr("hx-trigger", ""))
	require.Contains(t, doc.Find(testID("drill-step")).Text(), "× 2")
	close(goOn)
	require.Eventually(t, func() bool {
		doc = o.page(run, http.StatusOK)
		return doc.Find(testID("drill-verdict")).AttrOr("data-ended", "") == "true"
	}, 5*time.Second, 10*time.Millisecond)
	require.Empty(t, doc.Find("#drill").AttrOr("hx-trigger", ""), "the looking ends")
	require.Equal(t, 1, doc.Find(testID("diagram")+" svg[aria-label*='2 attempts → 1 order']").Length())
	require.Equal(t, 1, started)

	v := s.as(account.Viewer)
	doc = v.page("/console/drills", http.StatusOK)
	require.Equal(t, 1, doc.Find(testID("drill-row")).Length())
	form.Set("csrf", doc.Find("input[name=csrf]").First().AttrOr("value", ""))
	require.Equal(t, http.StatusForbidden, v.post("/console/drills", form).Status)

	refused = "live"
	require.Equal(t, 1, o.page("/console/drills", http.StatusOK).Find(testID("drills-refused")).Length())
	form = o.get("/console/payments", "").form(t, "/console/prefs")
	form.Set("drill", "parallel")
	form.Set("press", "one more press")
	require.Equal(t, http.StatusConflict, o.post("/console/drills", form).Status)
	require.Equal(t, 1, started)
}

func TestWithoutDrillsThePageSaysWhy(t *testing.T) {
	t.Parallel()
	doc := newShop(t).as(account.Admin).page("/console/drills", http.StatusOK)
	require.Contains(t, doc.Find(testID("drills-refused")).Text(), "production")
	require.Zero(t, doc.Find("main form").Length())
}
