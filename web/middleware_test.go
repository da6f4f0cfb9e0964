package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// secured asserts the headers that every answer carries (UX A.4).
func secured(t *testing.T, a answer) {
	t.Helper()
	csp := a.Header.Get("Content-Security-Policy")
	require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "+
		"form-action 'self' https://pay.test; base-uri 'none'; frame-ancestors 'none'", csp)
	require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "same-origin", a.Header.Get("Referrer-Policy"))
	require.Equal(t, "same-origin", a.Header.Get("Cross-Origin-Opener-Policy"))
	require.Regexp(t, "^[0-9a-f]{32}$", a.Header.Get("Trace-Id"))
	require.NotEmpty(t, a.Header.Get("Cache-Control"))
}
