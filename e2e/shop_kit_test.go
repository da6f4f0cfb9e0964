//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/accessibility"
	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// tap stands between the browser and the shop: it counts what was sent, loses answers, and looks at every one.
type tap struct {
	base string

	mu    sync.Mutex
	plan  []string // what happens to the next checkouts: "lose" (done, answer cut off), "503", anything else passes
	sent  []string // "POST /checkout/…"
	naked []string // answers without a content policy
}

func tapTo(t *testing.T, shop string) *tap {
	t.Helper()
	target, err := url.Parse(shop)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	l := &tap{}
	proxy.ModifyResponse = l.look
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch l.take(r) {
		case "lose":
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // the socket closes without an answer
		case "503":
			http.Error(w, "out for lunch", http.StatusServiceUnavailable)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	l.base = server.URL
	return l
}

// look notes answers of the shop that lack the policy.
func (l *tap) look(r *http.Response) error {
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'") || strings.Contains(policy, "unsafe") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.naked = append(l.naked, r.Request.Method+" "+r.Request.URL.Path)
	}
	return nil
}

func (l *tap) take(r *http.Request) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, r.Method+" "+r.URL.Path)
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/checkout/") || len(l.plan) == 0 {
		return ""
	}
	next := l.plan[0]
	l.plan = l.plan[1:]
	return next
}

func (l *tap) will(plan ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = plan
}

// count is how many requests began like this.
func (l *tap) count(start string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sent {
		if strings.HasPrefix(s, start) {
			n++
		}
	}
	return n
}

// guest is a browser without script and window: forms, cookies and nothing else.
type guest struct {
	t    *testing.T
	http *http.Client
	base string
}

func newGuest(t *testing.T, base string) *guest {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &guest{t: t, base: base, http: &http.Client{
		Jar: jar, Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (g *guest) get(path string) answer {
	g.t.Helper()
	a, err := g.send(http.MethodGet, path, nil)
	require.NoError(g.t, err)
	return a
}

func (g *guest) post(path string, form url.Values, header ...string) answer {
	g.t.Helper()
	a, err := g.send(http.MethodPost, path, form, header...)
	require.NoError(g.t, err)
	return a
}

// send doesn't end the test, so goroutines may call it.
func (g *guest) send(method, path string, form url.Values, header ...string) (answer, error) {
	r, err := http.NewRequest(method, g.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := g.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: body.Bytes()}, err
}

// form is what a form of a page sends by itself: its hidden fields.
func (a answer) form(t *testing.T, action string) url.Values {
	t.Helper()
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(a.body))
	require.NoError(t, err)
	values := url.Values{}
	page.Find(`form[action="` + action + `"]`).First().Find("input[type=hidden]").Each(func(_ int, in *goquery.Selection) {
		values.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	require.NotEmpty(t, values, "a form to %s", action)
	return values
}

// checkout fills a basket and returns the checkout's address and form.
func (g *guest) checkout(email string) (address string, form url.Values) {
	g.t.Helper()
	g.put(sold)
	address = g.get("/checkout").header.Get("Location")
	form = g.get(address).form(g.t, address)
	form.Set("email", email)
	return address, form
}

func (g *guest) put(product string) {
	g.t.Helper()
	add := g.get("/products/"+product).form(g.t, "/cart/items")
	add.Set("quantity", "1")
	require.Equal(g.t, http.StatusSeeOther, g.post("/cart/items", add).status)
}

// spoken is what a screen reader says of the focused element: its role and its name.
func (v *visitor) spoken() string {
	v.t.Helper()
	at, err := chromedp.Call(v.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"})
	require.NoError(v.t, err)
	tree, err := chromedp.Call(v.ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: at.Result.ObjectID})
	require.NoError(v.t, err)
	for _, node := range tree.Nodes {
		if !node.Ignored && node.Role != nil && node.Name != nil {
			var role, name string
			require.NoError(v.t, json.Unmarshal(node.Role.Value, &role))
			require.NoError(v.t, json.Unmarshal(node.Name.Value, &name))
			return role + " " + strings.ReplaceAll(name, "\u00a0", " ")
		}
	}
	return ""
}

func (v *visitor) livesIn(zone string) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
	require.NoError(v.t, err)
}

func (v *visitor) offline(off bool) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	require.NoError(v.t, err)
	_, err = chromedp.Call(v.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
	require.NoError(v.t, err)
}

// js evaluates an expression.
func js[T any](v *visitor, expression string) T {
	v.t.Helper()
	return look(v, chromedp.Evaluate[T](expression))
}

// media shows the page as it is on "print"; "" is the screen.
func (v *visitor) media(kind string) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind})
	require.NoError(v.t, err)
}

// window minimizes the window or brings it back; the browser hides the tab of a minimized one for real.
func (v *visitor) window(state cdpbrowser.WindowState) {
	v.t.Helper()
	own, err := chromedp.Call(v.ctx, cdpbrowser.GetWindowForTarget, cdpbrowser.GetWindowForTargetParams{})
	require.NoError(v.t, err)
	_, err = chromedp.Call(v.ctx, cdpbrowser.SetWindowBounds, cdpbrowser.SetWindowBoundsParams{
		WindowID: own.WindowID, Bounds: &cdpbrowser.Bounds{WindowState: state},
	})
	require.NoError(v.t, err)
}

func mustUUID(t *testing.T, s string) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(s)
	require.NoError(t, err)
	return id
}
