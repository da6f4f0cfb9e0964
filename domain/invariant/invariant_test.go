package invariant_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

func TestHealthyShopBreaksNothing(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "200")
	findings, err := invariant.Check(t.Context(), db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
	}
}

func TestFindingsCountEverythingAndShowTwenty(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "30")
	_, err := db.Exec(t.Context(), `DELETE FROM journal WHERE kind = 'order.awaiting_payment'`)
	require.NoError(t, err)
	for range 2 { // looking changes nothing
		findings, err := invariant.Check(t.Context(), db, invariant.Config{})
		require.NoError(t, err)
		require.False(t, invariant.OK(findings))
		require.EqualValues(t, 30, findings[11].Violations)
		require.Len(t, findings[11].Examples, 20)
		findings[11].Examples = findings[11].Examples[:1]
		written, err := json.Marshal(findings[11])
		require.NoError(t, err)
		require.Regexp(t, `^\{"id":12,"name":"journal-complete","promise":"[^"]+","ok":false,"violations":30,"examples":\[`+
			`\{"subject":"order [0-9a-f-]{36}","detail":"has no journal row order.awaiting_payment"\}\]\}$`, string(written))
		clean, err := json.Marshal(findings[0])
		require.NoError(t, err)
		require.Contains(t, string(clean), `"ok":true,"violations":0,"examples":[]`)
	}
}

func TestCheckCannotWrite(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	_, err := db.Exec(t.Context(), `CREATE SEQUENCE touched; ALTER TABLE orders RENAME TO real_orders;
		CREATE VIEW orders AS SELECT nextval('touched'), id, user_id, cart_id, operation_id, status, needs_review, email, currency, total_minor, paid_at, fulfilled_at FROM real_orders;
		INSERT INTO operations (id, user_id, type, key, request_hash, status, resource_type, resource_id, trace_id, completed_at)
			VALUES (gen_random_uuid(), gen_random_uuid(), 'X', 'k', 'v1:', 'COMPLETED', 'order', 'o', 't', now());
		INSERT INTO real_orders (id, user_id, operation_id, status, currency, subtotal_minor, total_minor)
			VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'AWAITING_PAYMENT', 'RUB', 1, 1)`)
	require.NoError(t, err)
	_, err = invariant.Check(t.Context(), db, invariant.Config{})
	require.ErrorContains(t, err, "read-only transaction")
}
