//go:build e2e

package e2e

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
)

// The binary, copied alone into an empty folder, is the whole shop: pages, styles, scripts, icons and words. It needs a database.
// Not parallel: the working directory is the process's.
func TestTheBinaryAlone(t *testing.T) {
	s := open(t, 1, 0)
	s.product(sold, "Lumen Notes", 249000)
	dir := t.TempDir()
	alone, addr := filepath.Join(dir, "onefold"), freeAddr(t)
	program, err := os.ReadFile(shipped)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, program, 0o755))
	t.Chdir(dir)
	launch(t, "alone", alone, append([]string{"HOME=" + dir}, s.env...), "serve", "--web", "--addr", addr)
	g := newGuest(t, "http://"+addr)
	eventually(t, "it serves", func() bool {
		a, err := g.send(http.MethodGet, "/readyz", nil)
		return err == nil && a.status == http.StatusOK
	})
	address, form := g.checkout(someone())
	order := g.post(address, form).header.Get("Location")
	require.True(t, strings.HasPrefix(order, "/orders/"), order)
	for _, page := range []string{"/", "/products/" + sold, "/cart", order, "/sign-in", "/console/sign-in"} {
		a := g.get(page)
		require.Equal(t, http.StatusOK, a.status, page)
		for _, asset := range a.assets(t) {
			file := g.get(asset)
			require.Equal(t, http.StatusOK, file.status, asset)
			require.NotEmpty(t, file.body, asset)
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "the binary and this test's logs: it writes nothing beside itself")
}

// assets are the files that a page asks for.
func (a answer) assets(t *testing.T) (addresses []string) {
	t.Helper()
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(a.body))
	require.NoError(t, err)
	page.Find("link[href], script[src], img[src], svg use[href]").Each(func(_ int, e *goquery.Selection) {
		address, _, _ := strings.Cut(e.AttrOr("href", e.AttrOr("src", "")), "#")
		if address != "" && !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	})
	for _, kind := range []string{".css", ".js", ".svg"} {
		require.True(t, slices.ContainsFunc(addresses, func(s string) bool { return strings.Contains(s, kind) }), "%s in %v", kind, addresses)
	}
	return addresses
}
