package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
)

// What is masked is shown to the one who said why, for a while, and the audit knows.
func TestMaskedDataIsShownToWhoSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	order := f.sold("revealed")
	a := f.do(http.MethodPost, "/api/leads", `{"name":"Anna Secret","email":"anna@example.com","message":"Hello there"}`, "Authorization", "Bearer "+f.shopper(), "Idempotency-Key", "ask")
	var lead struct{ LeadID string }
	require.NoError(t, json.Unmarshal([]byte(a.Body), &lead))
	var key string
	require.NoError(t, f.db.QueryRow(t.Context(), `SELECT license_key FROM licenses WHERE order_id = $1`, order).Scan(&key))

	for id, secrets := range map[string][]string{order: {key}, lead.LeadID: {"Anna Secret", "anna@example.com", "Hello there"}} {
		page := "/console/intents/" + id
		shows := func(s *shop) (n int) {
			text := s.page(page, http.StatusOK).Text()
			for _, secret := range secrets {
				n += strings.Count(text, secret)
			}
			return n
		}
		before := f.audited("reveal", "DONE")
		support := f.as(account.Support)
		require.Zero(t, shows(support))
		require.Equal(t, http.StatusForbidden, f.as(account.Viewer).press("reveal", id).Status)
		require.Equal(t, http.StatusUnprocessableEntity, support.press("reveal", id, "reason", "").Status)
		require.Zero(t, shows(support))

		form := support.actForm("/console/act/reveal/" + id)
		for range 2 {
			done(t, support.post("/console/act/reveal/"+id, form))
		}
		require.Equal(t, before+1, f.audited("reveal", "DONE"))
		require.Equal(t, len(secrets), shows(support))
		require.Equal(t, len(secrets), shows(support), "a reload shows it still")
		require.Zero(t, shows(f.as(account.Admin)), "it is shown to who asked")
		text := support.get(page+".json", "").Body
		for _, secret := range secrets {
			require.NotContains(t, text, secret, "the evidence stays masked")
		}
	}
	require.Equal(t, http.StatusNotFound, f.as(account.Support).press("reveal", "00000000-0000-0000-0000-000000000001").Status)
}
