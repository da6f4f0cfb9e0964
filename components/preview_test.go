package components_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/components/i18n"
)

// TestPreview writes every sample page to $PREVIEW_DIR with the real stylesheet, script and icons under
// assets/, to be served by any static server and looked at. Without the variable they are only written and thrown away.
func TestPreview(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("PREVIEW_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	assets := filepath.Join(dir, "assets")
	require.NoError(t, os.MkdirAll(assets, 0o755))
	for _, file := range []string{"css/app.css", "css/console.css", "css/intent.css", "js/app.js", "js/console.js", "icons.svg", "icon.svg"} {
		content, err := os.ReadFile(filepath.Join("..", "static", file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(assets, filepath.Base(file)), content, 0o600))
	}
	for _, l := range i18n.Langs() {
		for _, p := range pages(l) {
			html := render(t, l, p)
			for _, theme := range []string{"light", "dark"} {
				themed := bytes.Replace(html, []byte(`data-theme="system"`), []byte(`data-theme="`+theme+`"`), 1)
				file := p.name + "." + string(l) + "." + theme + ".html"
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), themed, 0o600))
			}
		}
	}
}

func render(t *testing.T, l i18n.Lang, p page) []byte {
	t.Helper()
	zone := time.FixedZone("", 3*3600)
	ctx := i18n.With(context.Background(), i18n.Locale{Lang: l, Zone: zone, Now: now})
	var b bytes.Buffer
	require.NoError(t, p.body.Render(ctx, &b), p.name)
	return b.Bytes()
}

func pages(l i18n.Lang) []page {
	return slices.Concat(shopPages(l), orderPages(l), consolePages(l), framePages(l), operatorPages(l))
}
