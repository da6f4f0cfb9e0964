package account_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

const password = "correct horse battery"

func shopper(t *testing.T, db store.Querier) account.User {
	t.Helper()
	u, err := account.Create(t.Context(), db, " Ann@Example.com ", password, account.Shopper)
	require.NoError(t, err)
	return u
}

func code(t *testing.T, err error) string {
	t.Helper()
	e, ok := fault.Of(err)
	require.True(t, ok, "not a domain error: %v", err)
	return e.Code
}

func TestRolesAreOrdered(t *testing.T) {
	t.Parallel()
	order := []account.Role{account.Guest, account.Shopper, account.Viewer, account.Support, account.Operator, account.Approver, account.Admin}
	for i, have := range order {
		for j, need := range order {
			require.Equal(t, i >= j, have.AtLeast(need), "%s at least %s", have, need)
		}
		require.False(t, account.Role("system").AtLeast(have))
		require.False(t, have.AtLeast("system"))
		require.Equal(t, i >= 2, have.Staff())
	}
	require.False(t, account.Role("").AtLeast(account.Guest))
	require.False(t, account.Role("").AtLeast(""))
}

func TestCreateTwiceIsAConflict(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	require.Equal(t, "ann@example.com", u.Email)

	_, err := account.Create(t.Context(), tx, "ANN@example.com", password, account.Admin)
	require.Equal(t, "EMAIL_TAKEN", code(t, err))
	other, err := account.Create(t.Context(), tx, "ben@example.com", password, account.Admin)
	require.NoError(t, err)
	require.NotEqual(t, u.ID, other.ID)

	people, err := account.List(t.Context(), tx)
	require.NoError(t, err)
	require.Equal(t, []account.User{u, other}, people)
}

func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	var done sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		done.Go(func() { _, errs[i] = account.Create(t.Context(), db, "ann@example.com", password, account.Shopper) })
	}
	done.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.Equal(t, "EMAIL_TAKEN", code(t, err))
	}
	require.Equal(t, 1, made)
}

func TestCreateNamesTheBrokenField(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	for _, c := range []struct {
		email, password string
		role            account.Role
		field           string
	}{
		{"", password, account.Shopper, "email"},
		{"ann", password, account.Shopper, "email"},
		{"Ann <ann@example.com>", password, account.Shopper, "email"},
		{strings.Repeat("a", 250) + "@example.com", password, account.Shopper, "email"},
		{"ann@example.com", "short", account.Shopper, "password"},
		{"ann@example.com", strings.Repeat("x", 129), account.Shopper, "password"},
		{"ann@example.com", password, account.Guest, "role"},
		{"ann@example.com", password, "system", "role"},
		{"ann@example.com", password, "", "role"},
	} {
		_, err := account.Create(t.Context(), tx, c.email, c.password, c.role)
		e, ok := fault.Of(err)
		require.True(t, ok)
		require.Equal(t, fault.Invalid, e.Kind)
		require.Len(t, e.Fields, 1)
		require.Equal(t, c.field, e.Fields[0].Field)
	}
	people, err := account.List(t.Context(), tx)
	require.NoError(t, err)
	require.Empty(t, people)
}

func TestGuestsHaveNoAddressAndAreNotListed(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	one, err := account.NewGuest(t.Context(), tx)
	require.NoError(t, err)
	two, err := account.NewGuest(t.Context(), tx)
	require.NoError(t, err)
	require.NotEqual(t, one.ID, two.ID)
	require.Equal(t, account.Guest, one.Role)
	people, err := account.List(t.Context(), tx)
	require.NoError(t, err)
	require.Empty(t, people)
}

func TestSetPasswordEndsSessionsAndReplacesTheOld(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	session, err := account.StartSession(t.Context(), tx, u.ID)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, account.SetPassword(t.Context(), tx, u.ID, "another long one"))
	}
	_, err = account.SessionUser(t.Context(), tx, session)
	require.ErrorIs(t, err, account.ErrUnauthenticated)
	_, err = account.Authenticate(t.Context(), tx, u.Email, password, "")
	require.Equal(t, "SIGN_IN_FAILED", code(t, err))
	_, err = account.Authenticate(t.Context(), tx, u.Email, "another long one", "")
	require.NoError(t, err)

	require.Equal(t, fault.Invalid, fault.KindOf(account.SetPassword(t.Context(), tx, u.ID, "")))
	require.Equal(t, fault.NotFound, fault.KindOf(account.SetPassword(t.Context(), tx, account.System, password)))
}
