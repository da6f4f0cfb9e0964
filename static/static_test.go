package static_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/static"
)

func TestOwnFilesAreAlwaysServed(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{
		"app.css":   "text/css; charset=utf-8",
		"app.js":    "text/javascript; charset=utf-8",
		"icons.svg": "image/svg+xml",
	} {
		address := static.Path(name)
		require.Equal(t, address, static.Path(name), "a repeat gives the same")
		require.Regexp(t, `^/assets/[a-z]+\.[0-9a-f]{12}\.[a-z]+$`, address)
		content, gz, got, ok := static.Lookup(address)
		require.True(t, ok)
		require.Equal(t, contentType, got)
		if gz == nil {
			continue
		}
		require.Less(t, len(gz), len(content))
		r, err := gzip.NewReader(bytes.NewReader(gz))
		require.NoError(t, err)
		unpacked, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, content, unpacked)
	}
}

func TestAbsentIsNotServed(t *testing.T) {
	t.Parallel()
	require.Empty(t, static.Path("absent.js"))
	for _, address := range []string{"", "/assets/", "/assets/app.css", "/assets/manifest.json", "/assets/../static.go"} {
		_, _, _, ok := static.Lookup(address)
		require.False(t, ok, address)
	}
}

func TestThirdPartyScriptIsServedOnceFetched(t *testing.T) {
	t.Parallel()
	require.Equal(t, static.Path("htmx.min.js") != "", static.HasScripts())
	if !static.HasScripts() {
		t.Skip("static/dist is empty: run make assets")
	}
	content, _, contentType, ok := static.Lookup(static.Path("htmx.min.js"))
	require.True(t, ok)
	require.True(t, strings.HasPrefix(contentType, "text/javascript"))
	require.Contains(t, string(content), "htmx")
}
