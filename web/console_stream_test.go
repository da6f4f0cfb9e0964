package web_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/web"
)

// hear opens the stream and returns its lines.
func (s *shop) hear(ctx context.Context) (lines chan string, status int) {
	s.t.Helper()
	return s.hearAt(ctx, "/console/stream?section=overview")
}

func (s *shop) hearAt(ctx context.Context, address string) (lines chan string, status int) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+address, nil)
	require.NoError(s.t, err)
	client := &http.Client{Jar: s.client.Jar, CheckRedirect: stay, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	require.NoError(s.t, err)
	lines = make(chan string, 1000)
	if got.StatusCode != http.StatusOK {
		require.NoError(s.t, got.Body.Close())
		return lines, got.StatusCode
	}
	require.Equal(s.t, "text/event-stream", got.Header.Get("Content-Type"))
	go func() {
		defer close(lines)
		defer func() { _ = got.Body.Close() }()
		for scan := bufio.NewScanner(got.Body); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	return lines, got.StatusCode
}

// until reads on to a line with these words.
func until(t *testing.T, lines chan string, words string) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, open := <-lines:
			require.True(t, open, "the stream ended before %q", words)
			if strings.Contains(line, words) {
				return
			}
		case <-limit:
			require.Fail(t, "nothing came", words)
		}
	}
}

func TestOpenPagesHearOfNews(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := newShop(t, func(h *web.Handlers) { h.Done = done })
	s.listen()
	v := s.as(account.Viewer)
	first, status := v.hear(t.Context())
	require.Equal(t, http.StatusOK, status)
	until(t, first, `hx-target="#rail-work"`)
	second, _ := v.hear(t.Context())
	until(t, second, `hx-target="#rail-alarms"`)
	third, _ := v.hear(t.Context())
	until(t, third, `hx-target="#alarm-strip"`)
	fourth, status := v.hear(t.Context())
	require.Equal(t, http.StatusOK, status, "three tabs of a browser at most: the oldest gives way")
	until(t, first, "event: turn")
	requireEnds(t, first)
	first, status = v.hear(t.Context())
	require.Equal(t, http.StatusOK, status, "it comes again")
	until(t, second, "event: turn")
	other := s.as(account.Viewer)
	others, _ := other.hear(t.Context())
	_, status = s.as("").hear(t.Context())
	require.Equal(t, http.StatusSeeOther, status)
	s.parkedLong()
	s.looked()
	for _, lines := range []chan string{first, third, fourth, others} {
		until(t, lines, `data-alarm="parked_events"`)
	}
	close(done)
	for _, lines := range []chan string{first, third, fourth, others} {
		requireEnds(t, lines)
	}
}

func requireEnds(t *testing.T, lines chan string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, open := <-lines
		return !open
	}, 10*time.Second, time.Millisecond, "the stream goes on")
}

func TestStreamEndsAfterItsLifeAndTheBrowserComesAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(h *web.Handlers) { h.StreamLife = 50 * time.Millisecond })
	s.listen()
	v := s.as(account.Viewer)
	for range 5 {
		lines, status := v.hear(t.Context())
		require.Equal(t, http.StatusOK, status)
		requireEnds(t, lines)
	}
}
