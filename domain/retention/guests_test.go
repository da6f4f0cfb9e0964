package retention_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/checkout"
)

// visitor is a guest with something in the basket and a browser that knows them.
func (s *shop) visitor(t *testing.T) uuid.UUID {
	t.Helper()
	guest, err := account.NewGuest(t.Context(), s.db)
	require.NoError(t, err)
	_, err = account.StartSession(t.Context(), s.db, guest.ID)
	require.NoError(t, err)
	require.NoError(t, cart.Add(t.Context(), s.db, guest.ID, "lumen-notes", 1))
	return guest.ID
}

func TestGuestsWhoLeft(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	gone := s.visitor(t)
	bare, err := account.NewGuest(t.Context(), s.db)
	require.NoError(t, err)
	merged := s.visitor(t)
	require.NoError(t, checkout.Adopt(t.Context(), s.db, merged, s.user))
	buyer := s.visitor(t)
	c := s.command("guest")
	c.UserID = buyer
	_, err = s.desk.Place(t.Context(), c)
	require.NoError(t, err)
	s.exec(t, `UPDATE carts SET status = 'ORDERED' WHERE user_id = $1`, buyer)
	chooser := s.visitor(t)
	_, err = s.desk.Place(t.Context(), checkout.Command{
		UserID: chooser, Key: "direct", Items: c.Items, Currency: "RUB", Locale: "en", Email: "g@example.com", Name: "G",
	})
	require.NoError(t, err)
	s.age(t, year)
	back := s.visitor(t)
	s.exec(t, `UPDATE users SET created_at = created_at - interval '9000 hours' WHERE id = $1`, back)
	s.exec(t, `UPDATE carts SET updated_at = updated_at - interval '9000 hours' WHERE user_id = $1`, back)
	young := s.visitor(t)

	plan := s.plan(t)
	require.EqualValues(t, 2, goes(plan)["carts"], "of gone and chooser; the merged one is the user's now")
	require.Equal(t, map[string]int64{"became an order": 1, "guest may come back": 1}, stays(plan, "carts"))
	require.EqualValues(t, 3, goes(plan)["users"])
	require.Equal(t, map[string]int64{"guest has orders": 2, "guest may come back": 1}, stays(plan, "users"))
	require.EqualValues(t, 4, goes(plan)["sessions"])
	require.Equal(t, goes(plan), goes(s.run(t)))
	after := s.all(t)
	s.run(t)
	require.Equal(t, after, s.all(t))

	require.ElementsMatch(t, []uuid.UUID{buyer, chooser, back, young}, s.ids(t, `SELECT id FROM users WHERE role = 'guest'`))
	require.Equal(t, 1, s.count(t, `SELECT count(*) FROM users WHERE id = $1`, s.user))
	require.ElementsMatch(t, []uuid.UUID{buyer, back, young, s.user, s.user}, s.ids(t, `SELECT user_id FROM carts`), "the merged one ends its checkout for its new owner")
	require.Zero(t, s.count(t, `SELECT count(*) FROM carts WHERE user_id = ANY($1)`, []uuid.UUID{gone, bare.ID, merged}))
	s.unbroken(t)
}
