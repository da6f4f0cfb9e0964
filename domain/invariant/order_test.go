package invariant_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

// What the whole-table check says of an order, the check of the order alone says, too; of its neighbour it says nothing.
func TestOfJudgesOneOrder(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "40")
	require.Empty(t, of(t, db, "5"), "a healthy order")
	for id, sql := range map[int]string{
		3:  `UPDATE payments SET amount_minor = amount_minor + 1 WHERE order_id = md5('order5')::uuid`,
		4:  `DELETE FROM outbox_events WHERE event_type = 'ORDER_PAID' AND order_id = md5('order6')::uuid`,
		5:  `DELETE FROM licenses WHERE order_id = md5('order7')::uuid`,
		9:  `UPDATE operations SET next_attempt_at = now() - interval '1 hour' WHERE order_id = md5('order1')::uuid AND status = 'PROCESSING'`,
		12: `DELETE FROM journal WHERE order_id = md5('order8')::uuid AND kind = 'order.paid'`,
	} {
		tag, err := db.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.NotZero(t, tag.RowsAffected())
		order := map[int]string{3: "5", 4: "6", 5: "7", 9: "1", 12: "8"}[id]
		broken := of(t, db, order)
		require.NotEmpty(t, broken, id)
		require.Equal(t, id, broken[0].ID)
		require.NotEmpty(t, broken[0].Examples[0].Detail)
	}
	require.Empty(t, of(t, db, "9"), "a neighbour")
}

func of(t *testing.T, db *pgxpool.Pool, n string) []invariant.Finding {
	t.Helper()
	var id uuid.UUID
	require.NoError(t, db.QueryRow(t.Context(), `SELECT md5('order' || $1)::uuid`, n).Scan(&id))
	broken, err := invariant.Of(t.Context(), db, id, invariant.Config{})
	require.NoError(t, err)
	return broken
}
