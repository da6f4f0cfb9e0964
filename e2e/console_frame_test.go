//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The console's frame: it says that it is live, goes where keys say on any layout, and its pages are accessible.
func TestConsoleFrame(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	axe, err := os.ReadFile("../static/node_modules/axe-core/axe.min.js")
	if err != nil {
		missing(t, "axe-core (make assets)")
	}
	s := &stage{scene: &scene{demo: openDemo(t), browser: browser}, orders: map[string]order{}, axe: string(axe)}
	v := s.visit(t)
	v.signIn(s.login("operator"))
	v.goTo("/console")
	eventually(t, "the page is live", func() bool { return v.now("stream-state") == "Live" })
	// A Russian layout: the key says "п" and "ф", its place says KeyG and KeyA.
	v.do(chromedp.Evaluate[chromedp.Void](`for (const [key, code] of [['п', 'KeyG'], ['ф', 'KeyA']]) document.dispatchEvent(new KeyboardEvent('keydown', { key, code, bubbles: true })); 0`))
	v.arrive("/console/alarms")
	for _, p := range pages {
		if p.role == "operator" && (p.name == "console" || strings.HasPrefix(p.name, "console-week") || frame[p.name]) {
			t.Run(p.name, func(t *testing.T) {
				v.t, v.complaints, v.expected = t, nil, nil
				s.check(v, p)
				v.leave()
				v.t, v.complaints = s.t, nil
			})
		}
	}
	require.NotEmpty(t, frame)
}

var frame = map[string]bool{"console-alarms": true, "console-drills": true, "console-prefs": true, "console-views": true, "console-users": true, "console-help": true}
