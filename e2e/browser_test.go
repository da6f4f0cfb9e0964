//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// startBrowser starts one Chromium for a test and its subtests.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		missing(t, "browser (on Debian: apt-get install chromium-headless-shell)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.Flag("lang", "en-US"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// visitor is a person at a tab with cookies of their own. What the browser complains about is collected from before the first page.
type visitor struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // it is the tab
	base string

	mu         sync.Mutex
	complaints []string
	expected   []string // parts of complaints that belong to the test
}

// watch reports what only pages see.
const watch = `addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective, e.blockedURI));
	addEventListener('unhandledrejection', e => console.error('unhandled', String(e.reason)));`

func visit(t *testing.T, browser context.Context, base string) *visitor {
	t.Helper()
	return openTab(t, browser, base, chromedp.WithNewBrowserContext())
}

// another is a second tab of the same person.
func (v *visitor) another() *visitor {
	v.t.Helper()
	return openTab(v.t, v.ctx, v.base)
}

func openTab(t *testing.T, from context.Context, base string, options ...chromedp.ContextOption) *visitor {
	t.Helper()
	ctx, end := chromedp.NewContext(from, options...)
	t.Cleanup(end)
	v := &visitor{t: t, ctx: ctx, base: base}
	require.NoError(t, chromedp.Listen(ctx, v.hear))
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
	require.NoError(t, err)
	v.do(chromedp.EmulateViewport(1280, 900))
	t.Cleanup(v.leave)
	return v
}

func (v *visitor) hear(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			complaint = fmt.Sprint("console: ", texts(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			complaint = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	}
	if complaint != "" {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.complaints = append(v.complaints, complaint)
	}
}

func texts(args []*runtime.RemoteObject) (all []string) {
	for _, a := range args {
		all = append(all, string(a.Value)+a.Description)
	}
	return all
}

// leave ends the visit: nothing may have been complained about. A failed test keeps a picture of its last page.
func (v *visitor) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
next:
	for _, c := range v.complaints {
		for _, part := range v.expected {
			if strings.Contains(c, part) {
				continue next
			}
		}
		v.t.Errorf("the browser complains: %s", c)
	}
	if v.t.Failed() {
		ctx, cancel := context.WithTimeout(v.ctx, patience)
		defer cancel()
		if picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100)); err == nil {
			dir := artefact(strings.ReplaceAll(v.t.Name(), "/", "_"))
			_ = os.MkdirAll(dir, 0o755)
			_ = os.WriteFile(filepath.Join(dir, "page.png"), picture, 0o644)
		}
	}
}

// expect takes a complaint as part of the test.
func (v *visitor) expect(part string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expected = append(v.expected, part)
}

func (v *visitor) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	require.NoError(v.t, chromedp.Do(ctx, steps...), "at %s", v.at())
}

func look[T any](v *visitor, a chromedp.Action[T]) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, a)
	require.NoError(v.t, err)
	return value
}

func (v *visitor) at() string {
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return err.Error() // it shows in what the address is compared with
	}
	return at
}

func testid(id string) chromedp.CSS { return chromedp.CSS(`[data-testid="` + id + `"]`) }

func (v *visitor) goTo(path string) {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.base + path
	}
	v.do(chromedp.Navigate(path))
}

// click uses the mouse.
func (v *visitor) click(id string) {
	v.t.Helper()
	v.do(chromedp.Click(testid(id), chromedp.NodeVisible))
}

func (v *visitor) see(id string) {
	v.t.Helper()
	v.do(chromedp.WaitVisible(testid(id)))
}

// text waits for an element and reads it.
func (v *visitor) text(id string) string {
	v.t.Helper()
	v.see(id)
	return v.now(id)
}

// now reads an element without waiting; "" if it isn't there. One evaluation, so that a page that is just replaced can't harm.
func (v *visitor) now(id string) string {
	v.t.Helper()
	return look(v, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector('[data-testid="%s"]')?.innerText ?? ''`, id)))
}

// has counts elements now, without waiting.
func (v *visitor) has(css string) int {
	v.t.Helper()
	return look(v, chromedp.Evaluate[int](fmt.Sprintf(`document.querySelectorAll(%q).length`, css)))
}

func (v *visitor) fill(name, value string) {
	v.t.Helper()
	field := chromedp.CSS(`[name="` + name + `"]`)
	v.do(chromedp.Clear(field), chromedp.SendKeys(field, value))
}

// arrive waits for an address.
func (v *visitor) arrive(part string) {
	v.t.Helper()
	eventually(v.t, "the browser is at "+part, func() bool { return strings.Contains(v.at(), part) })
	v.do(chromedp.WaitReady(chromedp.CSS("main")))
}

// until waits for a state of the order's page, by itself or, without scripts, by pressing "check again".
func (v *visitor) until(state string) {
	v.t.Helper()
	eventually(v.t, "the order's page says "+state, func() bool {
		if v.has(`[data-testid="order-status"][data-state="`+state+`"]`) > 0 {
			return true
		}
		if v.has(`script`) == 0 || v.silenced() {
			v.do(chromedp.Reload())
		}
		return false
	})
}

// silenced tells that the tab runs no scripts.
func (v *visitor) silenced() bool { return v.ctx.Value(scriptless{}) != nil }

type scriptless struct{}

func (v *visitor) withoutScripts() {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(v.t, err)
	v.ctx = context.WithValue(v.ctx, scriptless{}, true)
}

func (v *visitor) speaks(lang string) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, network.SetCookie, network.SetCookieParams{Name: "lang", Value: lang, URL: v.base})
	require.NoError(v.t, err)
}

// sees sets theme and width.
func (v *visitor) sees(theme string, width int64) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	})
	require.NoError(v.t, err)
	v.do(chromedp.EmulateViewport(width, 800))
}

// tabTo presses Tab until the element with this test ID or name has the focus; inside names an element around it.
func (v *visitor) tabTo(id, inside string) {
	v.t.Helper()
	const focused = `(() => { const e = document.activeElement; return [e.dataset.testid ?? '', e.name ?? '', e.closest('[data-testid="%s"]') ? 'in' : '', e.matches(':focus-visible') ? 'shown' : ''] })()`
	for range 120 {
		v.do(chromedp.KeyEvent(kb.Tab))
		now := look(v, chromedp.Evaluate[[]string](fmt.Sprintf(focused, inside)))
		if (now[0] == id || now[1] == id) && (inside == "" || now[2] == "in") {
			require.Equal(v.t, "shown", now[3], "the focus on %s can be seen", id)
			return
		}
	}
	v.t.Fatalf("Tab never reaches %s at %s", id, v.at())
}

func (v *visitor) presses(keys string) {
	v.t.Helper()
	v.do(chromedp.KeyEvent(keys))
}
