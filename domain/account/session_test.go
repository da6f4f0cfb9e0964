package account_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// older moves all sessions into the past.
func older(t *testing.T, q store.Querier, by time.Duration) {
	t.Helper()
	_, err := q.Exec(t.Context(), `
		UPDATE sessions SET created_at = created_at - $1::interval, last_seen_at = last_seen_at - $1::interval, expires_at = expires_at - $1::interval`, by)
	require.NoError(t, err)
}

func TestEverySignInHasANewSession(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	one, err := account.StartSession(t.Context(), tx, u.ID)
	require.NoError(t, err)
	two, err := account.StartSession(t.Context(), tx, u.ID)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	for _, token := range []string{one, two} {
		got, err := account.SessionUser(t.Context(), tx, token)
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	var plain int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM sessions WHERE token_hash = $1`, []byte(one)).Scan(&plain))
	require.Zero(t, plain, "only the hash is stored")

	for range 2 {
		require.NoError(t, account.EndSession(t.Context(), tx, one))
		_, err = account.SessionUser(t.Context(), tx, one)
		require.ErrorIs(t, err, account.ErrUnauthenticated)
	}
	_, err = account.SessionUser(t.Context(), tx, two)
	require.NoError(t, err)
	require.NoError(t, account.EndAllSessions(t.Context(), tx, u.ID))
	_, err = account.SessionUser(t.Context(), tx, two)
	require.ErrorIs(t, err, account.ErrUnauthenticated)
}

func TestNobodySignsInAsTheSystem(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	_, err := account.StartSession(t.Context(), tx, account.System)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = account.Authenticate(t.Context(), tx, "", "", "")
	require.Equal(t, "SIGN_IN_FAILED", code(t, err))
}

func TestAShoppersSessionLivesWhileItIsUsed(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	token, err := account.StartSession(t.Context(), tx, shopper(t, tx).ID)
	require.NoError(t, err)
	for range 30 { // 30 × 23 h
		older(t, tx, 23*time.Hour)
		_, err = account.SessionUser(t.Context(), tx, token)
		require.NoError(t, err)
	}
	older(t, tx, 23*time.Hour)
	_, err = account.SessionUser(t.Context(), tx, token)
	require.NoError(t, err)
	older(t, tx, 23*time.Hour)
	_, err = account.SessionUser(t.Context(), tx, token)
	require.ErrorIs(t, err, account.ErrUnauthenticated, "30 days are the end")
}

func TestAShoppersSessionEndsAfterAnIdleDay(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	guest, err := account.NewGuest(t.Context(), tx)
	require.NoError(t, err)
	token, err := account.StartSession(t.Context(), tx, guest.ID)
	require.NoError(t, err)
	older(t, tx, 24*time.Hour)
	_, err = account.SessionUser(t.Context(), tx, token)
	require.ErrorIs(t, err, account.ErrUnauthenticated)

	want := account.Swept{Sessions: 1}
	for range 2 {
		ended, err := account.Ended(t.Context(), tx)
		require.NoError(t, err)
		require.Equal(t, want, ended)
		swept, err := account.Sweep(t.Context(), tx)
		require.NoError(t, err)
		require.Equal(t, want, swept)
		want = account.Swept{}
	}
	var left int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM sessions`).Scan(&left))
	require.Zero(t, left)
}

func TestAStaffSessionEndsEightHoursAfterSignIn(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u, err := account.Create(t.Context(), tx, "op@example.com", password, account.Operator)
	require.NoError(t, err)
	token, err := account.StartSession(t.Context(), tx, u.ID)
	require.NoError(t, err)
	for range 7 {
		older(t, tx, time.Hour)
		_, err = account.SessionUser(t.Context(), tx, token)
		require.NoError(t, err)
	}
	older(t, tx, time.Hour)
	_, err = account.SessionUser(t.Context(), tx, token)
	require.ErrorIs(t, err, account.ErrUnauthenticated)
}

func TestAPromotedShopperHasAStaffSession(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	token, err := account.StartSession(t.Context(), tx, u.ID)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE users SET role = 'admin' WHERE id = $1`, u.ID)
	require.NoError(t, err)
	got, err := account.SessionUser(t.Context(), tx, token)
	require.NoError(t, err)
	require.Equal(t, account.Admin, got.Role)
	older(t, tx, 9*time.Hour)
	_, err = account.SessionUser(t.Context(), tx, token)
	require.ErrorIs(t, err, account.ErrUnauthenticated)
}

func TestCSRFTokenBelongsToTheSession(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	token := account.CSRFToken(secret, "session")
	require.Equal(t, token, account.CSRFToken(secret, "session"))
	require.True(t, account.CheckCSRF(secret, "session", token))
	require.False(t, account.CheckCSRF(secret, "other", token))
	require.False(t, account.CheckCSRF([]byte("another"), "session", token))
	require.False(t, account.CheckCSRF(secret, "session", ""))
	require.False(t, account.CheckCSRF(secret, "", account.CSRFToken(secret, "")))
}
