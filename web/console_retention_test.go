package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/retention"
)

// One click from the overview: the rail.
func TestQuestion_WouldCleaningLoseAnything(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.order(s.shopper(), "k", basket(item("pixel-orchard", 1))).placed(t)
	s.exec(`UPDATE operations SET created_at = now() - interval '1 year', status = 'FAILED', failure_code = 'MAIL_REFUSED', completed_at = now() - interval '1 year', next_attempt_at = NULL
		WHERE user_id = '00000000-0000-0000-0000-000000000001'`)
	v := s.as(account.Viewer)
	overview := v.page("/console", http.StatusOK)
	require.Equal(t, 1, overview.Find(`.rail a[href="/console/retention"]`).Length())
	require.Contains(t, v.page("/console/retention", http.StatusOK).Text(), "Not worked out yet")

	require.NoError(t, retention.Foresee(t.Context(), s.db, retention.Config{Operations: 30 * 24 * time.Hour}))
	row := v.page("/console/retention", http.StatusOK).Find(`[data-testid="retention-row"]`).First()
	require.Contains(t, row.Text(), "operations")
	require.Contains(t, row.Text(), "1 × failed, and nobody has settled it")
}
