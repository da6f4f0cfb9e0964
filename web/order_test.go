package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestOtherPeoplesOrderPagesDoNotExist(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ada, ben, nobody := s.browser(), s.browser(), s.browser()
	order := ada.buy()
	ben.put("lumen-notes")
	require.Equal(t, http.StatusOK, ada.get(order, "").Status)
	for _, b := range []*shop{ben, nobody} {
		csrf := b.get("/products/pixel-orchard", "").form(t, "/cart/items")["csrf"]
		never := b.get("/orders/"+uuid.NewString(), "")
		require.Equal(t, http.StatusNotFound, never.Status)
		for _, path := range []string{order, order + "/pay", "/orders/x", "/orders/%00"} {
			require.Equal(t, http.StatusNotFound, b.get(path, "").Status, path)
		}
		require.Equal(t, http.StatusNotFound, b.post(order+"/payments", url.Values{"csrf": csrf, "key": {"k"}}).Status)
		require.Equal(t, http.StatusNotFound, b.post(order+"/buy-again", url.Values{"csrf": csrf}).Status)
		require.NotContains(t, b.get("/orders", "").Body, order)
	}
	var key string
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT checkout_key FROM carts WHERE status = 'ORDERED'`).Scan(&key))
	require.Equal(t, http.StatusNotFound, ben.get("/checkout/"+key, "").Status, "nor does the checkout")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM payments`))
}

// Whatever stands in the address that the provider's page leads back to, only the provider's word counts.
func TestComingBackChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	order := b.buy()
	id := strings.TrimPrefix(order, "/orders/")
	s.exec(`UPDATE payments SET status = 'PENDING', provider_payment_id = 'p1', confirmation_url = 'https://pay.test/p1'`)
	before := s.state()
	for _, query := range []string{"&status=succeeded", "&status=canceled", "&paid=1&payment=p1", "&order=" + uuid.NewString(), ""} {
		a := b.get("/pay/return?order="+id+query, "")
		require.Equal(t, http.StatusSeeOther, a.Status)
		require.Equal(t, order, a.Header.Get("Location"))
	}
	for _, odd := range []string{"", "x", "https://evil.test", "//evil.test"} {
		require.Equal(t, "/orders", b.get("/pay/return?order="+url.QueryEscape(odd), "").Header.Get("Location"), odd)
	}
	page := b.get(order+"?status=succeeded", "")
	require.NotContains(t, page.Body, `data-state="paid"`)
	require.Equal(t, "https://pay.test/p1", b.get(order+"/pay", "").Header.Get("Location"))
	require.Equal(t, before, s.state())
}

// state is everything that a purchase could have moved.
func (s *shop) state() (out string) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRow(s.t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(status, ',') FROM orders), (SELECT string_agg(status, ',') FROM payments),
		(SELECT count(*) FROM journal), (SELECT count(*) FROM outbox_events), (SELECT count(*) FROM operations), (SELECT count(*) FROM incoming_events))`).Scan(&out))
	return out
}

// The key belongs to the basket: a second press, or a second tab, leads to the same order.
func TestPressingTwice(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	b.put("pixel-orchard")
	address, form := b.checkout()
	other, again := b.checkout()
	require.Equal(t, address, other)
	require.Equal(t, form.Get("key"), again.Get("key"))
	first := b.post(address, form)
	require.Equal(t, http.StatusSeeOther, first.Status, first.Body)
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	for range 2 {
		a := b.post(address, form)
		require.Equal(t, first.Header.Get("Location"), a.Header.Get("Location"))
		require.Equal(t, "true", a.Header.Get("Idempotent-Replayed"))
	}
	hx := b.post(address, form, "Hx-Request", "true")
	require.Equal(t, http.StatusNoContent, hx.Status)
	require.Equal(t, first.Header.Get("Location"), hx.Header.Get("HX-Redirect"))
	require.Equal(t, first.Header.Get("Location"), b.get(address, "").Header.Get("Location"), "the form is never shown again")

	form.Set("email", "other@example.com")
	changed := b.post(address, form)
	require.Equal(t, http.StatusConflict, changed.Status)
	require.Contains(t, changed.Body, first.Header.Get("Location"))
	require.Equal(t, 1, s.orders())
}
