package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/web/webtest"
)

// raw sends bytes as they are, which Go's client wouldn't; the answer is held against the description all the same.
func (s *shop) raw(addr, method, path, headers, body string) answer {
	s.t.Helper()
	v := webtest.Validator(s.t)
	v.Next = roundTripper(func(r *http.Request) (*http.Response, error) {
		conn, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", addr)
		if err != nil {
			return nil, err
		}
		s.t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		// An early refusal may come while the body is still on its way.
		go func() {
			_, _ = io.WriteString(conn, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: shop.test\r\n%sContent-Length: %d\r\n\r\n%s", method, path, headers, len(body), body))
		}()
		return http.ReadResponse(bufio.NewReader(conn), r)
	})
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+addr+path, nil)
	require.NoError(s.t, err)
	got, err := v.RoundTrip(r)
	require.NoError(s.t, err)
	content, err := io.ReadAll(got.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, got.Body.Close())
	return answer{Status: got.StatusCode, Header: got.Header, Body: string(content)}
}

func TestAKeyThatIsNoneLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	addr := s.listen()
	authorized := "Authorization: Bearer " + token + "\r\n"
	for name, c := range map[string]struct{ headers, code string }{
		"no header":             {"", "IDEMPOTENCY_KEY_MISSING"},
		"empty":                 {"Idempotency-Key:\r\n", "IDEMPOTENCY_KEY_MISSING"},
		"only spaces":           {"Idempotency-Key:      \r\n", "IDEMPOTENCY_KEY_MISSING"},
		"256 characters":        {"Idempotency-Key: " + strings.Repeat("k", 256) + "\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"4000 characters":       {"Idempotency-Key: " + strings.Repeat("k", 4000) + "\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"NUL":                   {"Idempotency-Key: a\x00b\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"TAB inside":            {"Idempotency-Key: a\tb\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"space inside":          {"Idempotency-Key: a b\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"letter with accent":    {"Idempotency-Key: clé\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"two lines":             {"Idempotency-Key: k1\r\nIdempotency-Key: k2\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"two equal lines":       {"Idempotency-Key: k1\r\nidempotency-key: k1\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"two lines, one empty":  {"Idempotency-Key: k1\r\nIdempotency-Key:\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"joined by a proxy":     {"Idempotency-Key: k1, k2\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"quote without its end": {"Idempotency-Key: \"k1\r\n", "IDEMPOTENCY_KEY_INVALID"},
		"empty quotes":          {"Idempotency-Key: \"\"\r\n", "IDEMPOTENCY_KEY_INVALID"},
	} {
		a := s.raw(addr, http.MethodPost, "/api/orders", authorized+c.headers, pixel)
		p := a.refused(t, http.StatusBadRequest, c.code, name)
		require.Equal(t, "Idempotency-Key", p.Errors[0].Field, name)
		require.Empty(t, a.Header.Get("Operation-Id"), "%s: names no operation", name)
	}
	require.Zero(t, s.count(`SELECT count(*) FROM operations`))
	require.Zero(t, s.orders())
}

func TestSpellingsOfOneKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	addr := s.listen()
	long := strings.Repeat("k", 255)
	first := s.order(token, long, pixel)
	first.placed(t)
	for _, spelling := range []string{long, "   " + long + "  ", "\t" + long + "\t", `"` + long + `"`} {
		s.raw(addr, http.MethodPost, "/api/orders", "Authorization: Bearer "+token+"\r\nIdempotency-Key:"+spelling+"\r\n", pixel).replays(t, first)
	}
	quoted := s.order(token, `"a\"b\\c"`, pixel)
	quoted.placed(t)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM operations WHERE key = 'a"b\c'`))

	lower, upper := s.order(token, "key-a", pixel), s.order(token, "KEY-A", pixel)
	require.NotEqual(t, lower.placed(t), upper.placed(t), "letter case makes another key")
	require.Equal(t, 4, s.orders())
}

func TestAnotherUsersEqualKeyIsAnotherIntent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ada, ben := s.shopper(), s.shopper()
	first := s.order(ada, "k", pixel)
	second := s.order(ben, "k", basket(item("lumen-notes", 2)))
	require.NotEqual(t, first.placed(t), second.placed(t))
	require.NotEqual(t, first.Header.Get("Operation-Id"), second.Header.Get("Operation-Id"))
	require.NotContains(t, second.Body, "pixel-orchard")
	s.order(ada, "k", pixel).replays(t, first)
	s.order(ben, "k", basket(item("lumen-notes", 2))).replays(t, second)
	require.Equal(t, 2, s.orders())
}

func TestAKeyForAnotherTargetIsAnotherIntent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	token := s.shopper()
	one, two := s.order(token, "k", pixel), s.order(token, "k2", pixel)
	s.exec(`UPDATE payments SET status = 'FAILED', failure_code = 'declined'`)
	retryOne := s.command("/api/orders/"+one.placed(t)+"/payments", token, "k", "")
	retryTwo := s.command("/api/orders/"+two.placed(t)+"/payments", token, "k", "")
	var payments [2]struct {
		OrderID string
		Attempt int
	}
	for i, retry := range []answer{retryOne, retryTwo} {
		require.Equal(t, http.StatusAccepted, retry.Status, retry.Body)
		require.Empty(t, retry.Header.Get("Idempotent-Replayed"))
		retry.into(t, &payments[i])
		require.Equal(t, 2, payments[i].Attempt)
	}
	require.Equal(t, one.placed(t), payments[0].OrderID)
	require.Equal(t, two.placed(t), payments[1].OrderID)
	require.NotEqual(t, retryOne.Header.Get("Operation-Id"), retryTwo.Header.Get("Operation-Id"))
	s.command("/api/orders/"+one.placed(t)+"/payments", token, "k", "").replays(t, retryOne)
	require.Equal(t, 4, s.count(`SELECT count(*) FROM payments`))
}
