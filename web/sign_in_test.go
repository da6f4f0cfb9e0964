package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
)

const password = "correct horse battery"

// ada can sign in.
func (s *shop) ada() account.User {
	s.t.Helper()
	u, err := account.Create(s.t.Context(), s.db, "ada@example.com", password, account.Shopper)
	require.NoError(s.t, err)
	return u
}

func (s *shop) signIn(email, password, back string) answer {
	s.t.Helper()
	form := s.get("/sign-in", "").form(s.t, "/sign-in")
	form.Set("email", email)
	form.Set("password", password)
	form.Set("return", back)
	return s.post("/sign-in", form)
}

func TestSigningInMakesANewSession(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ada()
	b := s.browser()
	address, err := url.Parse(s.base)
	require.NoError(t, err)
	const planted = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	b.client.Jar.SetCookies(address, []*http.Cookie{{Name: "onefold_session", Value: planted, Path: "/"}})
	require.Equal(t, http.StatusSeeOther, b.signIn("Ada@Example.com", password, "").Status)
	first := b.cookie("onefold_session")
	require.NotEqual(t, planted, first)
	require.Contains(t, b.get("/orders", "").Body, "ada@example.com")

	require.Equal(t, http.StatusSeeOther, b.signIn("ada@example.com", password, "").Status)
	require.NotEqual(t, first, b.cookie("onefold_session"))
	old := s.browser()
	old.client.Jar.SetCookies(address, []*http.Cookie{{Name: "onefold_session", Value: first, Path: "/"}})
	require.NotContains(t, old.get("/orders", "").Body, "ada@example.com", "the former session has ended")

	kept := b.cookie("onefold_session")
	require.Equal(t, http.StatusSeeOther, b.post("/sign-out", b.get("/", "").form(t, "/sign-out")).Status)
	old.client.Jar.SetCookies(address, []*http.Cookie{{Name: "onefold_session", Value: kept, Path: "/"}})
	require.NotContains(t, old.get("/orders", "").Body, "ada@example.com", "signing out ends it on the server")
	require.Zero(t, s.count(`SELECT count(*) FROM sessions`))
}

func TestSigningInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ada()
	b := s.browser()
	for back, to := range map[string]string{"//evil.test": "/orders", "/cart": "/cart"} {
		require.Equal(t, to, b.signIn("ada@example.com", password, back).Header.Get("Location"), back)
	}
}

func TestWrongPasswordsAreSlowedDown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ada()
	b := s.browser()
	unknown := b.signIn("nobody@example.com", "wrong password", "")
	require.Equal(t, http.StatusUnprocessableEntity, unknown.Status)
	for range 2 {
		a := b.signIn("ada@example.com", "wrong password", "")
		require.Equal(t, http.StatusUnprocessableEntity, a.Status)
		require.NotContains(t, a.Body, "wrong password", "a password is never sent back")
		require.Contains(t, a.Body, "ada@example.com")
		require.Empty(t, b.cookie("onefold_session"))
		s.exec(`UPDATE login_throttle SET failures = 4 WHERE subject LIKE 'email:ada%' AND failures = 1`) // hashing takes its time
	}
	// The wait grows with each failure; here it is made long enough for a slow machine.
	require.Equal(t, 1, s.count(`SELECT count(*) FROM login_throttle WHERE subject LIKE 'email:ada%' AND retry_at > '2000-01-01' AND failures = 5`))
	s.exec(`UPDATE login_throttle SET retry_at = now() + interval '1 minute' WHERE failures = 5`)
	limited := b.signIn("ada@example.com", password, "")
	require.Equal(t, http.StatusTooManyRequests, limited.Status, "not even the right one")
	require.NotEmpty(t, limited.Header.Get("Retry-After"))
	secured(t, limited)
	require.Empty(t, b.cookie("onefold_session"))
	s.exec(`UPDATE login_throttle SET retry_at = now()`)
	require.Equal(t, http.StatusSeeOther, b.signIn("ada@example.com", password, "").Status)
}

// C08: what the guest had and ordered is the user's, each line once.
func TestAGuestWhoSignsIn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ada := s.ada()
	b := s.browser()
	order := b.buy()
	b.put("lumen-notes")
	guest := b.cookie("onefold_session")
	require.Equal(t, http.StatusSeeOther, b.signIn("ada@example.com", password, "").Status)
	require.NotEqual(t, guest, b.cookie("onefold_session"))
	require.Equal(t, http.StatusOK, b.get(order, "").Status)
	require.Contains(t, b.get("/orders", "").Body, order)
	require.Contains(t, b.get("/cart", "").Body, "lumen-notes")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM orders WHERE user_id = $1`, ada.ID))
	require.Equal(t, 1, s.count(`SELECT sum(quantity) FROM cart_items i JOIN carts c ON c.id = i.cart_id WHERE c.user_id = $1 AND c.status = 'OPEN'`, ada.ID))

	// The same again, from another browser, adds up and doubles nothing.
	other := s.browser()
	other.put("lumen-notes")
	require.Equal(t, http.StatusSeeOther, other.signIn("ada@example.com", password, "").Status)
	require.Equal(t, 2, s.count(`SELECT sum(quantity) FROM cart_items i JOIN carts c ON c.id = i.cart_id WHERE c.user_id = $1 AND c.status = 'OPEN'`, ada.ID))
	require.Equal(t, 1, s.orders())
}
