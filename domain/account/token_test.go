package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store/storetest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	one, err := account.CreateToken(t.Context(), tx, " ANN@example.com")
	require.NoError(t, err)
	two, err := account.CreateToken(t.Context(), tx, u.Email)
	require.NoError(t, err)
	require.NotEqual(t, one, two)
	require.True(t, strings.HasPrefix(one, "of_"))
	for _, token := range []string{one, two} {
		got, err := account.TokenUser(t.Context(), tx, token)
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	for _, token := range []string{"", "of_", one[3:], one + "x"} {
		_, err = account.TokenUser(t.Context(), tx, token)
		require.ErrorIs(t, err, account.ErrUnauthenticated)
	}
	_, err = account.CreateToken(t.Context(), tx, "nobody@example.com")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestTokensAreRememberedForFiveSeconds(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	tokens := account.NewTokens(tx, func() time.Time { return now })

	_, err := tokens.User(t.Context(), "of_unknown")
	require.ErrorIs(t, err, account.ErrUnauthenticated)
	token, err := account.CreateToken(t.Context(), tx, u.Email)
	require.NoError(t, err)
	got, err := tokens.User(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, u, got)

	_, err = tx.Exec(t.Context(), `DELETE FROM api_tokens`)
	require.NoError(t, err)
	now = now.Add(4 * time.Second)
	_, err = tokens.User(t.Context(), token)
	require.NoError(t, err)
	now = now.Add(time.Second)
	_, err = tokens.User(t.Context(), token)
	require.ErrorIs(t, err, account.ErrUnauthenticated)
}

func TestSeedDemoGivesTheSameCredentialsAgain(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	secret := []byte("0123456789abcdef0123456789abcdef")
	first, err := account.SeedDemo(t.Context(), tx, secret)
	require.NoError(t, err)
	again, err := account.SeedDemo(t.Context(), tx, secret)
	require.NoError(t, err)
	require.Equal(t, first, again)

	roles := map[string]int{}
	for _, d := range first {
		roles[string(d.Role)]++
		u, err := account.TokenUser(t.Context(), tx, d.APIToken)
		require.NoError(t, err)
		require.Equal(t, d.Email, u.Email)
		require.Equal(t, d.Role, u.Role)
	}
	require.Equal(t, map[string]int{"shopper": 2, "viewer": 1, "support": 1, "operator": 1, "approver": 1, "admin": 1}, roles)
	_, err = account.Authenticate(t.Context(), tx, first[0].Email, first[0].Password, "")
	require.NoError(t, err)

	other, err := account.SeedDemo(t.Context(), tx, []byte("another secret"))
	require.NoError(t, err)
	require.NotEqual(t, first[0].Password, other[0].Password)
	_, err = account.Authenticate(t.Context(), tx, other[0].Email, other[0].Password, "")
	require.NoError(t, err)
	people, err := account.List(t.Context(), tx)
	require.NoError(t, err)
	require.Len(t, people, 7)
}
