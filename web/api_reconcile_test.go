package web_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/reconcile"
)

// unknown makes the payments of all orders so far unknown, with their next look far away.
func (s *shop) unknown() (payments []string) {
	s.t.Helper()
	s.exec(`UPDATE payments SET status = 'UNKNOWN'`)
	s.exec(`UPDATE operations SET next_attempt_at = now() + interval '1 hour', attempt = 1 WHERE type = 'CREATE_PAYMENT'`)
	rows, err := s.db.Query(s.t.Context(), `SELECT id::text FROM payments ORDER BY id`)
	require.NoError(s.t, err)
	payments, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return payments
}

func TestReconcileByAPI(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 3 {
		s.order(s.shopper(), uuid.NewString(), basket(item("pixel-orchard", 1))).placed(t)
	}
	payments := s.unknown()
	support := s.somebody(account.Support)
	const path = "/api/reconciliations"
	for _, role := range []account.Role{account.Shopper, account.Viewer} {
		s.command(path, s.somebody(role), "k", `{}`).refused(t, http.StatusForbidden, "FORBIDDEN", role)
	}
	first := s.command(path, support, "k", `{"objects":["`+payments[0]+`"]}`)
	require.Equal(t, http.StatusAccepted, first.Status, first.Body)
	s.command(path, support, "k", `{"objects":["`+payments[0]+`"]}`).replays(t, first)
	s.command(path, support, "k", `{"objects":["`+payments[1]+`"]}`).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM reconcile_runs`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT' AND next_attempt_at <= now()`))

	all := s.command(path, support, "k", `{}`)
	require.Equal(t, http.StatusAccepted, all.Status, all.Body)
	require.Equal(t, 3, s.count(`SELECT count(*) FROM operations WHERE type = 'CREATE_PAYMENT' AND next_attempt_at <= now()`))
	s.command(path, support, "k2", `{"objects":["`+uuid.NewString()+`"]}`).refused(t, http.StatusNotFound, "NOT_FOUND")
	s.command(path, support, "k2", `{"objects":["x"]}`).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	s.command(path, support, "k2", `{"kind":"moon"}`).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED")

	// The executor has looked: the run tells.
	s.exec(`UPDATE operations SET attempt = 2, lease_expires_at = NULL, last_error = 'provider: not_sent: refused' WHERE type = 'CREATE_PAYMENT'`)
	_, err := reconcile.Record(t.Context(), s.db)
	require.NoError(t, err)
	run := s.get(all.Header.Get("Location"), s.somebody(account.Viewer))
	require.Equal(t, http.StatusOK, run.Status)
	require.Contains(t, run.Body, `"unreachable":3`)
	require.Contains(t, run.Body, `"finishedAt"`)
	s.get(all.Header.Get("Location"), s.shopper()).refused(t, http.StatusForbidden, "FORBIDDEN")
	s.get(path+"/"+uuid.NewString(), support).refused(t, http.StatusNotFound, "NOT_FOUND")
}
