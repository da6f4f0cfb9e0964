package account_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func person(t *testing.T, db store.Querier, email string, role account.Role) account.ID {
	t.Helper()
	id := uuid.New()
	_, err := db.Exec(t.Context(), `INSERT INTO users (id, email, role) VALUES ($1, $2, $3)`, id, email, role)
	require.NoError(t, err)
	return id
}

func TestPreferencesKeepWhatIsNotChanged(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := person(t, tx, "ada@example.com", account.Viewer)
	p, err := account.PreferencesOf(t.Context(), tx, id)
	require.NoError(t, err)
	require.Zero(t, p)
	for range 2 {
		require.NoError(t, account.Prefer(t.Context(), tx, id, map[string]string{"zone": "Europe/Moscow", "clock": "12"}))
	}
	require.NoError(t, account.Prefer(t.Context(), tx, id, map[string]string{"clock": ""}))
	require.NoError(t, account.Prefer(t.Context(), tx, id, map[string]string{"keys": "off"}))
	p, err = account.PreferencesOf(t.Context(), tx, id)
	require.NoError(t, err)
	require.Equal(t, account.Preferences{Zone: "Europe/Moscow", Keys: "off"}, p)
}

func TestPreferencesRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := person(t, tx, "ada@example.com", account.Viewer)
	for name, value := range map[string]string{"zone": "Local", "lang": "de", "clock": "13", "refresh": "1", "nothing": "x", "theme": "\x00", "density": "loose"} {
		e, ok := fault.Of(account.Prefer(t.Context(), tx, id, map[string]string{name: value}))
		require.True(t, ok, name)
		require.Equal(t, name, e.Fields[0].Field)
	}
	for _, zone := range []string{"../etc/passwd", "Nowhere/Town", "UTC+3"} {
		require.Error(t, account.Prefer(t.Context(), tx, id, map[string]string{"zone": zone}), zone)
	}
}

func TestViewsAreMineOrShared(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ada, bob := person(t, tx, "ada@example.com", account.Viewer), person(t, tx, "bob@example.com", account.Admin)
	save := func(id account.ID, name, address string, shared bool) error {
		return account.SaveView(t.Context(), tx, id, name, address, shared)
	}
	for range 2 {
		require.NoError(t, save(ada, " Old unknowns ", "/console/payments?state=UNKNOWN", false))
		require.NoError(t, save(bob, "Failed", "/console/operations?state=FAILED", true))
	}
	names := func(id account.ID) (list []string) {
		views, err := account.Views(t.Context(), tx, id)
		require.NoError(t, err)
		for _, v := range views {
			list = append(list, v.Name+" "+strconv.FormatBool(v.Mine)+" "+v.Address)
		}
		return list
	}
	require.Equal(t, []string{"Failed false /console/operations?state=FAILED", "Old unknowns true /console/payments?state=UNKNOWN"}, names(ada))
	require.Len(t, names(bob), 1)
	require.NoError(t, save(ada, "Old unknowns", "/console/inbox", false))
	require.Contains(t, names(ada), "Old unknowns true /console/inbox")
	views, err := account.Views(t.Context(), tx, ada)
	require.NoError(t, err)
	for range 2 {
		for _, v := range views {
			_, err := account.RemoveView(t.Context(), tx, ada, v.ID)
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{"Failed false /console/operations?state=FAILED"}, names(ada), "nobody removes another's")
	for _, address := range []string{"/", "//evil.example/console/", "https://evil.example/console/x", "/console/../", "/console/\\evil", "/consoles", "/console/a\nb"} {
		require.Error(t, save(ada, "x", address, false), address)
	}
	require.Error(t, save(ada, " ", "/console/inbox", false))
	for i := range 50 {
		require.NoError(t, save(ada, strconv.Itoa(i), "/console/inbox", false))
	}
	e, _ := fault.Of(save(ada, "one more", "/console/inbox", false))
	require.Equal(t, "TOO_MANY_VIEWS", e.Code)
	require.NoError(t, save(ada, "7", "/console/outbox", false))
}

func TestStaffIsListedByRole(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ada := person(t, tx, "ada@example.com", account.Viewer)
	person(t, tx, "bob@example.com", account.Admin)
	person(t, tx, "eve@example.com", account.Shopper)
	_, err := account.StartSession(t.Context(), tx, ada)
	require.NoError(t, err)
	staff, err := account.Staff(t.Context(), tx)
	require.NoError(t, err)
	require.Len(t, staff, 2)
	require.Equal(t, "bob@example.com", staff[0].Email)
	require.Nil(t, staff[0].LastSeen)
	require.NotNil(t, staff[1].LastSeen)
	require.Equal(t, 1, staff[1].Sessions)
}
