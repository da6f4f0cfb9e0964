//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

// noted collects every state that the page's stream says, from now on.
func (v *visitor) noted() {
	v.t.Helper()
	eventually(v.t, "the page is live", func() bool { return v.now("stream-state") == "Live" })
	js[bool](v, `(e => { window.states = [e.innerText]; new MutationObserver(() => states.at(-1) === e.innerText || states.push(e.innerText)).observe(e, {childList: true, characterData: true, subtree: true}); return true })(document.getElementById('stream-state'))`)
}

func (v *visitor) states() []string {
	v.t.Helper()
	return js[[]string](v, `window.states ?? []`)
}

// UX section C.6: a page says that it has lost the web process, killed or ended in good order, and that it has it again.
func TestTheConsoleComesBackAfterARestart(t *testing.T) {
	t.Parallel()
	d := &desk{browser: startBrowser(t), shop: open(t, 1, 0), people: map[string]buyer{}}
	v := d.login(t, "operator")
	v.expect("ERR_CONNECTION_REFUSED")
	v.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	v.expect("htmx:sse:error")
	v.goTo("/console/work/parked_events")
	for _, end := range []func(){d.web[0].kill, func() { require.Equal(t, 0, d.web[0].stop(syscall.SIGTERM)) }} {
		v.noted()
		end()
		eventually(t, "the page notices", func() bool { return v.now("stream-state") == "Reconnecting…" })
		eventually(t, "the list is called out of date", func() bool { return v.shown("list-stale") != "" })
		d.web[0] = d.startWeb(0, "")
		eventually(t, "it is live again", func() bool { return v.now("stream-state") == "Live" })
		require.Equal(t, []string{"Live", "Reconnecting…", "Live"}, v.states())
		require.Empty(t, v.shown("list-stale"))
		d.exec(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, parked_at)
			SELECT gen_random_uuid(), gen_random_uuid(), 'ORDER_PAID', gen_random_uuid(), '0123456789abcdef0123456789abcdef', now()`)
		eventually(t, "news come again", func() bool { return v.now("list-news") != "" })
		v.do(chromedp.Reload())
	}
}

// A script that comes late, as on a first visit over a slow line, is waited for.
func TestTheConsoleListensHoweverLateItsScriptsCome(t *testing.T) {
	t.Parallel()
	d := &desk{browser: startBrowser(t), shop: open(t, 1, 0), people: map[string]buyer{}}
	target, err := url.Parse("http://" + d.addrs[0])
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	for _, late := range []string{"/assets/hx-sse", "/assets/console", "/assets/htmx"} {
		line := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, late) {
				time.Sleep(500 * time.Millisecond) // the line is slow
			}
			proxy.ServeHTTP(w, r)
		}))
		t.Cleanup(line.Close)
		d.login(t, "viewer").goTo("about:blank")
		v := visit(t, d.browser, line.URL)
		v.signIn(d.people["viewer"].email, d.people["viewer"].password)
		v.goTo("/console")
		eventually(t, "the page is live though "+late+" is late", func() bool { return v.now("stream-state") == "Live" })
		v.goTo("about:blank")
	}
}

// From a violated invariant to the strip on an open page and back, through monitor, alarm and stream, without a reload.
func TestAViolationTurnsTheOpenConsoleRed(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	d := &desk{browser: browser, people: map[string]buyer{}}
	d.shop = openOn(t, storetest.URL(t), 1, 1, "ONEFOLD_MONITOR_EVERY=1s", "ONEFOLD_ALARM_EVERY=1s")
	o := d.until(d.pay(d.buy(one(license))), "FULFILLED")
	d.settled()
	v := d.login(t, "viewer")
	v.goTo("/console")
	eventually(t, "everything is proven", func() bool {
		v.do(chromedp.Reload())
		return v.has(`[data-testid="proof"][data-violations="0"]`) == 1
	})
	require.Zero(t, v.has(`[data-testid="alarm-strip"]`))
	eventually(t, "the page is live", func() bool { return v.now("stream-state") == "Live" })
	js[bool](v, `(window.before = true)`)

	d.exec(`UPDATE payments SET amount_minor = amount_minor - 1 WHERE order_id = $1`, o.OrderID)
	eventually(t, "the strip turns red", func() bool { return v.has(`[data-testid="alarm-strip"] [data-alarm="violations"]`) == 1 })
	require.Contains(t, v.shown("alarm-strip"), "nobody looks after it")
	eventually(t, "a screen reader says it", func() bool {
		return js[string](v, `document.getElementById('alarm-said').textContent`) == "1 alarm fires"
	})
	require.True(t, js[bool](v, `document.querySelector('[data-section="alarms"] .pill.over') !== null`), "the rail tells, too")
	require.True(t, js[bool](v, `window.before === true`), "no reload")

	d.exec(`UPDATE payments SET amount_minor = amount_minor + 1 WHERE order_id = $1`, o.OrderID)
	eventually(t, "the strip goes", func() bool { return v.has(`[data-testid="alarm-strip"]`) == 0 })
	require.True(t, js[bool](v, `window.before === true`), "no reload")
	require.Zero(t, v.has(`[data-section="alarms"] .pill`))
	d.proven()
}
