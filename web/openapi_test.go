package web_test

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/web/webtest"
)

// machineRoutes are the prefixes whose routes must be described, and which the description may have.
var machineRoutes = regexp.MustCompile(`^/(api/|webhooks/|healthz$|readyz$)`)

func TestEveryMachineRouteIsDescribedAndTheReverse(t *testing.T) {
	t.Parallel()
	var registered []string
	for _, r := range newShop(t).app.GetRoutes(true) {
		if r.Method != http.MethodHead && machineRoutes.MatchString(r.Path) {
			registered = append(registered, r.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}"))
		}
	}
	doc, err := webtest.Description()
	require.NoError(t, err)
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	require.ElementsMatch(t, registered, described)
	require.Greater(t, len(registered), 8)
}

func TestTheDescriptionIsServedToEverybody(t *testing.T) {
	t.Parallel()
	a := newShop(t).get("/api/openapi.yaml", "")
	require.Equal(t, http.StatusOK, a.Status)
	require.Equal(t, "application/yaml", a.Header.Get("Content-Type"))
	file, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(file), a.Body)
}

// A command without its words is described only half (CONTRACT section 2).
func TestEveryCommandSaysHowItTreatsItsKey(t *testing.T) {
	t.Parallel()
	doc, err := webtest.Description()
	require.NoError(t, err)
	var commands []string
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Parameters.GetByInAndName("header", "Idempotency-Key") == nil {
				require.False(t, method == http.MethodPost && strings.HasPrefix(path, "/api/"), "%s %s takes no key", method, path)
				continue
			}
			commands = append(commands, operation.OperationID)
			for _, word := range []string{"Key", "Scope", "Retention", "Replay", "Mismatch", "In progress", "Failure"} {
				require.Contains(t, operation.Description, "- *"+word+"*: ", "%s %s", method, path)
			}
		}
	}
	require.ElementsMatch(t, []string{"placeOrder", "retryPayment", "cancelOrder", "refundOrder", "createLead", "reconcile"}, commands)
}

// The validator is the judge of every other test here, so it is judged itself.
func TestTheValidatorRefusesWhatIsNotDescribed(t *testing.T) {
	t.Parallel()
	const trace = "0123456789abcdef0123456789abcdef"
	problem := `{"type":"urn:onefold:problem:not-found","title":"Not Found","status":404,"code":"NOT_FOUND","detail":"x","traceId":"` + trace + `"`
	for name, c := range map[string]struct {
		path   string
		status int
		header []string // name, value …
		body   string
		fine   bool
	}{
		"as described":   {"/api/orders/1", 404, []string{"Trace-Id", trace, "Content-Type", "application/problem+json"}, problem + "}", true},
		"extra member":   {"/api/orders/1", 404, []string{"Trace-Id", trace, "Content-Type", "application/problem+json"}, problem + `,"sql":"x"}`, false},
		"no trace":       {"/api/orders/1", 404, []string{"Content-Type", "application/problem+json"}, problem + "}", false},
		"other status":   {"/api/orders/1", 409, []string{"Trace-Id", trace, "Content-Type", "application/problem+json"}, problem + "}", false},
		"code of 404":    {"/api/orders/1", 503, []string{"Trace-Id", trace, "Content-Type", "application/problem+json", "Retry-After", "1"}, problem + "}", false},
		"a page":         {"/api/orders/1", 404, []string{"Trace-Id", trace, "Content-Type", "text/html"}, "<p>", false},
		"member missing": {"/healthz", 200, []string{"Content-Type", "text/plain"}, "ok", false},
		"unknown call":   {"/api/unknown", 200, []string{"Trace-Id", trace, "Content-Type", "application/json"}, "{}", false},
		"not the API's":  {"/orders", 500, nil, "", true},
	} {
		judge := &lenient{TB: t}
		v := webtest.Validator(judge)
		v.Next = roundTripper(func(*http.Request) (*http.Response, error) {
			answer := &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))}
			for i := 0; i < len(c.header); i += 2 {
				answer.Header.Set(c.header[i], c.header[i+1])
			}
			return answer, nil
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.test"+c.path, nil)
		require.NoError(t, err)
		answer, err := v.RoundTrip(r)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.body, string(body), "the answer is passed on")
		require.Equal(t, c.fine, !judge.failed, name)
	}
}

// lenient notes a failure instead of failing.
type lenient struct {
	testing.TB
	failed bool
}

func (l *lenient) Errorf(string, ...any) { l.failed = true }
func (l *lenient) Helper()               {}
