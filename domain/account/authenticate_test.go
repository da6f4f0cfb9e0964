package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	for range 2 {
		got, err := account.Authenticate(t.Context(), tx, "ANN@example.com ", password, "192.0.2.1")
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	_, wrong := account.Authenticate(t.Context(), tx, u.Email, password+"!", "192.0.2.1")
	_, unknown := account.Authenticate(t.Context(), tx, "nobody@example.com", password, "192.0.2.1")
	_, huge := account.Authenticate(t.Context(), tx, u.Email, strings.Repeat("x", 10_000), "192.0.2.1")
	require.Equal(t, wrong, unknown, "nothing tells whether the address exists")
	require.Equal(t, wrong, huge)
	require.Equal(t, "SIGN_IN_FAILED", code(t, wrong))
}

func TestPasswordIsTheSameInEveryUnicodeForm(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	_, err := account.Create(t.Context(), tx, "jos@example.com", "José Ångström", account.Shopper)
	require.NoError(t, err)
	_, err = account.Authenticate(t.Context(), tx, "jos@example.com", "Jose\u0301 A\u030angstro\u0308m", "")
	require.NoError(t, err)
}

func TestPasswordsCostEnough(t *testing.T) {
	t.Parallel()
	require.Equal(t, "m=65536,t=3,p=1", account.Production.Parameters())
}

func TestOldParametersAreUpgradedAtSignIn(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	old := account.PHCForTest(password, 512, 2, 1)
	_, err := tx.Exec(t.Context(), `UPDATE users SET password_hash = $2 WHERE id = $1`, u.ID, old)
	require.NoError(t, err)
	_, err = account.Authenticate(t.Context(), tx, u.Email, "wrong password", "")
	require.Error(t, err)
	require.Equal(t, old, storedHash(t, tx, u.ID), "only a right password upgrades")

	for range 2 {
		_, err = account.Authenticate(t.Context(), tx, u.Email, password, "")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(storedHash(t, tx, u.ID), "$argon2id$v=19$m=1024,t=3,p=1$"))
	}
}

func storedHash(t *testing.T, q store.Querier, id account.ID) (phc string) {
	t.Helper()
	require.NoError(t, q.QueryRow(t.Context(), `SELECT password_hash FROM users WHERE id = $1`, id).Scan(&phc))
	return phc
}

// age moves the counters into the past, as if that much time had gone by.
func age(t *testing.T, q store.Querier, by time.Duration) {
	t.Helper()
	_, err := q.Exec(t.Context(), `UPDATE login_throttle SET retry_at = retry_at - $1::interval`, by)
	require.NoError(t, err)
}

func TestFiveFailuresSlowTheAccountDown(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	guess := func(password string) error {
		_, err := account.Authenticate(t.Context(), tx, u.Email, password, "")
		return err
	}
	for range 5 {
		require.Equal(t, "SIGN_IN_FAILED", code(t, guess("wrong password")))
	}
	err := guess(password)
	require.Equal(t, "RATE_LIMITED", code(t, err), "not even the right one is looked at")
	e, _ := fault.Of(err)
	require.Equal(t, fault.Unavailable, e.Kind)
	require.Equal(t, time.Second, e.RetryAfter)

	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second} {
		age(t, tx, 4*time.Second)
		require.Equal(t, "SIGN_IN_FAILED", code(t, guess("wrong password")))
		e, _ = fault.Of(guess("wrong password"))
		require.Equal(t, want, e.RetryAfter)
	}
	age(t, tx, 4*time.Second)
	require.NoError(t, guess(password), "after the wait the right one works")
	for range 4 {
		require.Equal(t, "SIGN_IN_FAILED", code(t, guess("wrong password")))
	}
	require.NoError(t, guess(password), "and has cleared the account")
}

func TestTheDelayIsBoundedAndForgotten(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	_, err := tx.Exec(t.Context(), `INSERT INTO login_throttle VALUES ('email:ann@example.com', 1000, now() - interval '1 minute')`)
	require.NoError(t, err)
	_, err = account.Authenticate(t.Context(), tx, u.Email, "wrong password", "")
	require.Equal(t, "SIGN_IN_FAILED", code(t, err))
	_, err = account.Authenticate(t.Context(), tx, u.Email, "wrong password", "")
	e, _ := fault.Of(err)
	require.InDelta(t, (15 * time.Minute).Seconds(), e.RetryAfter.Seconds(), 2)

	age(t, tx, 2*time.Hour)
	for range 5 {
		_, err = account.Authenticate(t.Context(), tx, u.Email, "wrong password", "")
		require.Equal(t, "SIGN_IN_FAILED", code(t, err))
	}
}

func TestTwentyFailuresSlowTheIPDown(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	u := shopper(t, tx)
	_, err := tx.Exec(t.Context(), `INSERT INTO login_throttle VALUES ('ip:192.0.2.1', 18, now())`)
	require.NoError(t, err)
	try := func(password, ip string) error {
		_, err := account.Authenticate(t.Context(), tx, u.Email, password, ip)
		return err
	}
	require.NoError(t, try(password, "192.0.2.1"))
	require.Equal(t, "SIGN_IN_FAILED", code(t, try("wrong password", "192.0.2.1")))
	require.Equal(t, "SIGN_IN_FAILED", code(t, try("wrong password", "192.0.2.1")), "a success has not cleared the IP")
	require.Equal(t, "RATE_LIMITED", code(t, try(password, "192.0.2.1")))
	_, err = tx.Exec(t.Context(), `INSERT INTO login_throttle VALUES ('ip:192.0.2.3', 500, now())`)
	require.NoError(t, err)
	for range 3 {
		require.Equal(t, "SIGN_IN_FAILED", code(t, try("wrong password", "")))
	}
	e, _ := fault.Of(try(password, "192.0.2.3"))
	require.Equal(t, time.Second, e.RetryAfter, "the wait of the account, not what the IP would have got")
	age(t, tx, 2*time.Second)
	require.NoError(t, try(password, "192.0.2.2"), "the refused try was not counted against the account")
}

func TestParallelGuessesDoNotSlipPastTheCounter(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	u := shopper(t, db)
	var done sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		done.Go(func() { _, errs[i] = account.Authenticate(t.Context(), db, u.Email, "wrong password", "192.0.2.1") })
	}
	done.Wait()
	looked := 0
	for _, err := range errs {
		if code(t, err) == "SIGN_IN_FAILED" {
			looked++
		}
	}
	require.GreaterOrEqual(t, looked, 5)
	require.Less(t, looked, 9, "five, and what a slow machine's seconds allow")
}

func TestParallelHonestSignInsAllSucceed(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	u := shopper(t, db)
	var done sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		done.Go(func() { _, errs[i] = account.Authenticate(t.Context(), db, u.Email, password, "192.0.2.1") })
	}
	done.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
