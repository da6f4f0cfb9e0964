package console_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/console"
)

// Whose role was lowered sees nothing more, though the ten minutes aren't over.
func TestRevealingEndsWithTheRole(t *testing.T) {
	t.Parallel()
	w, me := newWorld(t), uuid.New()
	order := w.place(t, uuid.New(), "sold").Result.OrderID
	w.exec(t, `UPDATE orders SET customer_name = 'Anna Secret' WHERE id = $1`, order)
	w.exec(t, `INSERT INTO users (id, email, role) VALUES ($1, 'olga@example.com', 'support')`, me)
	w.exec(t, `INSERT INTO audit_actions (id, user_id, role, action, object_type, object_id, reason, outcome, trace_id)
		VALUES (gen_random_uuid(), $1, 'support', 'reveal', 'intent', $2::uuid::text, 'r', 'DONE', 't')`, me, order)
	names := func() (list []string) {
		found, _, err := console.Reveal(t.Context(), w.db, me, order)
		require.NoError(t, err)
		for _, f := range found {
			list = append(list, f.Value)
		}
		return list
	}
	require.Contains(t, names(), "Anna Secret")
	w.exec(t, `UPDATE users SET role = 'viewer' WHERE id = $1`, me)
	require.Empty(t, names())
}
