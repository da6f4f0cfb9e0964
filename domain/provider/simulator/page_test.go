package simulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
)

func (r *rig) page(path string) (*goquery.Document, answer) {
	r.t.Helper()
	got := r.call("GET", path, "", nil)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(got.raw))
	require.NoError(r.t, err)
	return doc, got
}

func TestPayPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ press, status, other string }{
		{"succeed", "succeeded", "cancel"}, {"cancel", "canceled", "succeed"},
	} {
		r := start(t)
		in := order("ref-<b>")
		in["description"] = `<img src=x onerror=alert(1)>`
		id := r.call("POST", "/v1/payments", "k", in).body["id"].(string)
		doc, got := r.page("/pay/" + id)
		require.Equal(t, 200, got.status)
		require.Contains(t, doc.Find("[data-testid=pay-amount]").Text(), "49.90")
		require.Contains(t, doc.Text(), "TEST PROVIDER")
		require.Contains(t, doc.Text(), "ref-<b>")
		require.Equal(t, 0, doc.Find("img, script, style, [style], [onclick]").Length())
		require.Contains(t, got.header.Get("Content-Security-Policy"), "form-action 'self' http://shop.test")
		require.Equal(t, 1, doc.Find(`[data-testid=pay-`+c.press+`]`).Length())

		for _, press := range []string{c.press, c.press, c.other} { // a double press, and another tab
			pressed := r.call("POST", "/pay/"+id+"/"+press, "", nil)
			require.Equal(t, 303, pressed.status)
			require.Equal(t, "http://shop.test/orders/1", pressed.header.Get("Location"))
		}
		doc, _ = r.page("/pay/" + id)
		require.Equal(t, c.status, doc.Find("[data-testid=pay]").AttrOr("data-status", ""))
		require.Equal(t, 0, doc.Find("button").Length())
		require.Equal(t, "http://shop.test/orders/1", doc.Find("a.primary").AttrOr("href", ""))
		r.shop.wait(t, 2)
		require.ElementsMatch(t, []string{"payment.pending", "payment." + c.status}, r.shop.types())
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	t.Parallel()
	r := start(t)
	_, got := r.page("/pay/nothing")
	require.Equal(t, 404, got.status)
	require.Equal(t, 404, r.call("POST", "/pay/nothing/succeed", "", nil).status)
	id, _ := r.payment()
	require.Equal(t, 404, r.call("POST", "/pay/"+id+"/refund", "", nil).status)
	require.Equal(t, 404, r.call("GET", "/assets/pay.html", "", nil).status)
	require.Equal(t, "text/css; charset=utf-8", r.call("GET", "/assets/style.css", "", nil).header.Get("Content-Type"))
	require.Equal(t, "/mailbox", r.call("GET", "/", "", nil).header.Get("Location"))
	require.Equal(t, 200, r.call("GET", "/healthz", "", nil).status)
}

func TestForeignPagesCannotPress(t *testing.T) {
	t.Parallel()
	r := start(t)
	id, _ := r.payment()
	for _, path := range []string{"/pay/" + id + "/succeed", "/control/reset"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.web.URL+path, nil)
		require.NoError(t, err)
		req.Header.Set("Origin", "https://evil.test")
		got, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Equal(t, 403, got.StatusCode)
	}
	require.Equal(t, "pending", r.ledger().Payments[0]["status"])
}
