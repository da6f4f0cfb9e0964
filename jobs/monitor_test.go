package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Workers prove the invariants by themselves, from the start on; several processes don't do it twice.
func TestWorkersMonitorInvariants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.db.Exec(t.Context(), `UPDATE products SET reserved = on_hand; INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand, reserved)
		VALUES ('ghost', 'license', '', '', '', '', 1, 1)`)
	require.NoError(t, err)
	for range 2 {
		b.start(t, 2)
	}
	require.Eventually(t, func() bool {
		var judged, violated int
		err := b.db.QueryRow(t.Context(), `SELECT count(*), coalesce(min(number) FILTER (WHERE violations > 0), 0) FROM invariant_results`).Scan(&judged, &violated)
		return err == nil && judged == 12 && violated == 8
	}, time.Minute, 100*time.Millisecond)
}
