//go:build e2e

package e2e

import (
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const shift = 8 // a modifier of the protocol

// 17: nothing moves under a reader; what is new is counted; rows that are selected stay so, and hold up every refresh.
func point17(d *desk, v *visitor) {
	t := v.t
	audit, data := d.login(t, "viewer"), d.login(t, "viewer")
	v.goTo("/console/work/parked_events?type=ORDER_PAID&limit=25")
	audit.goTo("/console/audit?action=export")
	data.goTo("/console/outbox?state=PARKED")
	for _, w := range []*visitor{v, audit, data} {
		eventually(t, "the page is live", func() bool { return w.now("stream-state") == "Live" })
	}
	rows, shown := v.rows(), data.rows()
	require.NotEmpty(t, rows)
	js[bool](v, `(window.before = true)`)
	pick := `document.querySelector('[name=selected]')`
	v.do(chromedp.Click(chromedp.CSS(`[name=selected]`), chromedp.NodeVisible))
	require.Contains(t, v.text("list-paused"), "paused while rows are selected")
	require.Equal(t, "Paused", v.now("stream-state"))

	d.exec(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, parked_at, last_error)
		SELECT gen_random_uuid(), 'new', 'ORDER_PAID', id, '0123456789abcdef0123456789abcdef', now(), 'no' FROM orders LIMIT 1`)
	csv := `fetch('/console/payments?format=csv').then(r => r.ok)`
	require.True(t, look(data, chromedp.Evaluate[bool](csv, chromedp.EvalAwaitPromise)))
	for _, w := range []*visitor{v, audit, data} {
		eventually(t, "one is new", func() bool { return w.has(`[data-testid="list-news"][data-count="1"]`) == 1 })
	}
	require.Equal(t, rows, v.rows(), "no row moves")
	require.Equal(t, shown, data.rows(), "no row moves")
	require.True(t, js[bool](v, pick+`.checked`), "what is selected stays so")
	v.press("r", "KeyR")
	v.press("Escape", "Escape")
	require.True(t, js[bool](v, `window.before === true`), "no refresh while rows are selected")
	require.Equal(t, "Paused", v.now("stream-state"))
	v.do(chromedp.Click(chromedp.CSS(`[name=selected]`), chromedp.NodeVisible))
	require.Equal(t, "Live", v.now("stream-state"))
	require.Empty(t, v.shown("list-paused"))
	v.click("list-news")
	eventually(t, "the new row is there", func() bool { return v.has(`[data-testid="list-news"]`) == 0 && len(v.rows()) == len(rows)+1 })
	require.Contains(t, v.at(), "/console/work/parked_events?limit=25&type=ORDER_PAID", "the same filter")
	data.press("к", "KeyR")
	eventually(t, "r refreshes", func() bool { return data.has(`[data-testid="list-news"]`) == 0 && len(data.rows()) == len(shown)+1 })
}

// 27: a stuck operation is found, selected, copied and opened without a mouse, on three layouts.
func point27Console(d *desk, v *visitor) {
	t := v.t
	_, err := chromedp.Call(v.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "clipboard-write"}, Setting: "granted", BrowserContextID: chromedp.FromContext(v.ctx).BrowserContextID,
	})
	require.NoError(t, err)
	stuck := d.text(`SELECT id FROM operations WHERE status = 'PROCESSING' AND type = 'ISSUE_LICENSES' ORDER BY created_at, id OFFSET 1 LIMIT 1`)
	for _, keys := range []struct {
		layout                          string
		slash, g, k, j, x, c, why, back [2]string
	}{
		{
			"English",
			[2]string{"/", "Slash"},
			[2]string{"g", "KeyG"},
			[2]string{"k", "KeyK"},
			[2]string{"j", "KeyJ"},
			[2]string{"x", "KeyX"},
			[2]string{"c", "KeyC"},
			[2]string{"?", "Slash"},
			[2]string{"k", "KeyK"},
		},
		{
			"Russian",
			[2]string{".", "Slash"},
			[2]string{"п", "KeyG"},
			[2]string{"л", "KeyK"},
			[2]string{"о", "KeyJ"},
			[2]string{"ч", "KeyX"},
			[2]string{"с", "KeyC"},
			[2]string{"?", "Digit7"},
			[2]string{"л", "KeyK"},
		},
		{
			"Dvorak",
			[2]string{"/", "BracketLeft"},
			[2]string{"g", "KeyU"},
			[2]string{"k", "KeyV"},
			[2]string{"j", "KeyC"},
			[2]string{"x", "KeyB"},
			[2]string{"c", "KeyI"},
			[2]string{"?", "BracketLeft"},
			[2]string{"k", "KeyV"},
		},
	} {
		t.Run(keys.layout, func(t *testing.T) {
			v.t = t
			hit := func(key [2]string, modifiers ...int64) { v.press(key[0], key[1], modifiers...) }
			v.goTo("/console")
			hit(keys.slash)
			require.Equal(t, "search", js[string](v, `document.activeElement.id`))
			require.Empty(t, js[string](v, `document.activeElement.value`), "the key itself isn't typed")
			hit(keys.j) // inside a field it is a letter
			require.Equal(t, keys.j[0], js[string](v, `document.activeElement.value`))
			v.press("Backspace", "Backspace")
			v.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.value = ''`))
			v.paste(stuck)
			v.presses(kb.Enter)
			v.arrive("/console/intents/")
			found := v.at()
			v.loaded()
			hit(keys.g)
			hit(keys.k)
			v.arrive("/console/work/stuck_operations")
			v.loaded()
			rows := v.rows()
			require.Greater(t, len(rows), 1)
			current := func() string { return js[string](v, `document.querySelector('tr.current')?.dataset.id ?? ''`) }
			hit(keys.j)
			require.Equal(t, rows[0], current())
			hit(keys.j)
			require.Equal(t, rows[1], current())
			hit(keys.k)
			require.Equal(t, rows[0], current())
			require.True(t, js[bool](v, `document.activeElement.matches('tr.current a:focus-visible')`), "it can be seen")
			chosen := func() []string {
				return js[[]string](v, `[...document.querySelectorAll('[name=selected]:checked')].map(e => e.value)`)
			}
			hit(keys.x)
			require.Equal(t, rows[:1], chosen())
			eventually(t, "the page says so", func() bool { return v.now("stream-state") == "Paused" })
			hit(keys.x)
			require.Empty(t, chosen())
			hit(keys.c)
			eventually(t, "it is copied", func() bool { return v.has(`tr.current [data-copy].done`) == 1 })
			hit(keys.x, 2) // with Control it is the browser's
			require.Empty(t, chosen())
			for current() != stuck {
				hit(keys.j)
			}
			v.presses(kb.Enter)
			v.arrive("/console/intents/")
			require.Equal(t, found, v.at(), "the same page as by its ID")
			v.loaded()
			hit(keys.why, shift)
			v.arrive("/console/help#shortcuts")
			v.loaded()
		})
	}
	v.t = t
}

// A person who doesn't want single keys switches them off, and they do nothing.
func shortcutsOff(d *desk, v *visitor) {
	t := v.t
	v.goTo("/console/prefs")
	v.do(chromedp.Click(chromedp.CSS(`label[for="pref-keys-off"]`), chromedp.NodeVisible))
	v.do(chromedp.Click(chromedp.CSS(`[data-testid="prefs-form"] button[type=submit]`), chromedp.NodeVisible))
	v.see("notice")
	v.goTo("/console/work/stuck_operations")
	at := v.at()
	for _, key := range [][2]string{{"j", "KeyJ"}, {"о", "KeyJ"}, {"x", "KeyX"}, {"/", "Slash"}, {"g", "KeyG"}, {"k", "KeyK"}, {"?", "Slash"}} {
		v.press(key[0], key[1])
	}
	require.Zero(t, v.has(`tr.current`)+v.has(`[name=selected]:checked`))
	require.Equal(t, "BODY", js[string](v, `document.activeElement.tagName`))
	require.Equal(t, at, v.at())
	v.presses(kb.Tab)
	require.NotEqual(t, "BODY", js[string](v, `document.activeElement.tagName`), "Tab goes on working")
}
