package operation_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func described(key, content string, describe func(f *operation.Fields)) operation.Claim {
	c := claimOf(key, content)
	c.Describe = describe
	return c
}

func stored(t *testing.T, db store.Querier, id operation.ID) (fields map[string]string) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT request_fields FROM operations WHERE id = $1`, id).Scan(&fields))
	return fields
}

// told is what the journal keeps of each reuse, oldest first.
func told(t *testing.T, db store.Querier) [][]operation.Difference {
	t.Helper()
	found, err := db.Query(t.Context(), `SELECT detail -> 'differs' FROM journal WHERE kind = 'operation.key_reused' ORDER BY id`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(found, pgx.RowTo[[]operation.Difference])
	require.NoError(t, err)
	return list
}

func TestAReusedKeyLeavesWhatDiffers(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	first := described("K", "v1:a", func(f *operation.Fields) {
		f.Put("items.notes", "2")
		f.Put("currency", "RUB")
		f.Put("promoCode", "")
		f.Personal("email", "ann@example.com")
	})
	out, err := runner(db).Run(t.Context(), first, effect)
	require.NoError(t, err)
	kept := stored(t, db, out.ID)
	require.Len(t, kept, 3, "what wasn't asked for isn't there")
	require.Equal(t, "2", kept["items.notes"])
	require.Regexp(t, `^sha256:[0-9a-f]{8}$`, kept["email"])
	_, err = runner(db).Run(t.Context(), first, effect)
	require.NoError(t, err)
	require.Empty(t, told(t, db), "a replay differs in nothing")

	other := described("K", "v1:b", func(f *operation.Fields) {
		f.Put("items.notes", "9")
		f.Put("currency", "RUB")
		f.Put("promoCode", "WELCOME10")
		f.Personal("email", "bob@example.com")
	})
	for range 2 {
		_, err = runner(db).Run(t.Context(), other, effect)
		require.Equal(t, fault.KeyReused, fault.KindOf(err))
	}
	list := told(t, db)
	require.Len(t, list, 2)
	require.Equal(t, list[0], list[1])
	require.Len(t, list[0], 3)
	require.Equal(t, operation.Difference{Field: "items.notes", First: "2", Later: "9"}, list[0][1])
	require.Equal(t, operation.Difference{Field: "promoCode", Later: "WELCOME10"}, list[0][2])
	require.Equal(t, kept["email"], list[0][0].First)
	require.NotEqual(t, list[0][0].First, list[0][0].Later)
	require.Equal(t, kept, stored(t, db, out.ID), "the first request's fields stand")
}

func TestPersonalFieldsAreSaltedByTheirOperation(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	name := func(f *operation.Fields) { f.Personal("name", "Ann") }
	a, err := runner(db).Run(t.Context(), described("A", "v1:a", name), effect)
	require.NoError(t, err)
	b, err := runner(db).Run(t.Context(), described("B", "v1:a", name), effect)
	require.NoError(t, err)
	require.NotEqual(t, stored(t, db, a.ID), stored(t, db, b.ID))

	none, err := runner(db).Run(t.Context(), claimOf("C", "v1:a"), effect)
	require.NoError(t, err)
	require.Nil(t, stored(t, db, none.ID))
}

func TestRefusedAndBegunRequestsKeepTheirFields(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	put := func(f *operation.Fields) { f.Put("a", "1") }
	out, err := runner(db).Run(t.Context(), described("R", "v1:a", put), func(pgx.Tx, *operation.Running) (operation.Result, error) {
		return operation.Result{}, fault.New(fault.Conflict, "SOLD_OUT", "Gone.")
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1"}, stored(t, db, out.ID))

	c := described("S", "v1:a", put)
	r := runner(db)
	r.Wait = 1
	_, err = r.Start(t.Context(), c, func() {}, func(pgx.Tx) (operation.ID, error) { return c.Identity.User, nil })
	require.Equal(t, fault.InProgress, fault.KindOf(err))
	require.Equal(t, map[string]string{"a": "1"}, stored(t, db, c.Identity.ID()))
}

func TestManyFieldsAreFolded(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	many := func(last string) func(f *operation.Fields) {
		return func(f *operation.Fields) {
			for i := range 1000 {
				f.Put(fmt.Sprintf("items.p%03d", i), "1")
			}
			f.Put("items.p999", last)
		}
	}
	out, err := runner(db).Run(t.Context(), described("K", "v1:a", many("1")), effect)
	require.NoError(t, err)
	kept := stored(t, db, out.ID)
	require.Len(t, kept, 61)
	require.Regexp(t, `^\+940 sha256:`, kept["…"])
	_, err = runner(db).Run(t.Context(), described("K", "v1:b", many("2")), effect)
	require.Equal(t, fault.KeyReused, fault.KindOf(err))
	require.Len(t, told(t, db)[0], 1, "the fold still tells that something differs")
}
