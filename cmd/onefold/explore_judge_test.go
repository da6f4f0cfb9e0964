package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/money"
	"onefold/domain/provider"
)

// check holds the promise against the invariants and the provider's ledger.
func (r *schedule) check() {
	// Nobody works on what earlier schedules left pending; that this one moves on is settled (see quiet), by its own time.
	findings, err := invariant.Check(r.Context(), r.pool, invariant.Config{Sweep: 24 * time.Hour})
	require.NoError(r, err)
	for _, f := range findings {
		require.True(r, f.OK, "%s: %v", f.Name, f.Examples)
	}
	require.Equal(r, strconv.Itoa(len(r.orders)), r.text(`SELECT count(*)::text FROM orders o JOIN orders m ON m.user_id = o.user_id WHERE m.id = ($1::uuid[])[1]
		UNION ALL SELECT '0' LIMIT 1`))
	rows, err := r.pool.Query(r.Context(), `SELECT id::text, status, orphaned_at IS NOT NULL, refunded_minor FROM payments WHERE order_id = ANY($1)`, r.orders)
	require.NoError(r, err)
	var id, status string
	var orphan bool
	var refunded int64
	_, err = pgx.ForEachRow(rows, []any{&id, &status, &orphan, &refunded}, func() error {
		r.compare(id, status, orphan, refunded)
		return nil
	})
	require.NoError(r, err)
	rows, err = r.pool.Query(r.Context(), `SELECT id::text, status FROM shipments WHERE order_id = ANY($1)`, r.orders)
	require.NoError(r, err)
	_, err = pgx.ForEachRow(rows, []any{&id, &status}, func() error {
		_, err := r.client.FindShipment(r.Context(), id)
		none := err != nil && provider.KindOf(err) == provider.NotFound
		require.True(r, none || err == nil, "one label per parcel: %v", err)
		require.Equal(r, status == "SUCCEEDED", !none, "parcel %s is %s", id, status)
		return nil
	})
	require.NoError(r, err)
}

// compare holds a payment against the provider's ledger, the ground truth.
func (r *schedule) compare(id, status string, orphan bool, refunded int64) {
	at, err := r.client.FindPayment(r.Context(), id)
	if provider.KindOf(err) == provider.NotFound && err != nil {
		require.Contains(r, []string{"FAILED", "CREATED"}, status, "payment %s is not at the provider", id)
		return
	}
	require.NoError(r, err, "one payment per reference")
	captured := orphan || status == "SUCCEEDED" || status == "PARTIALLY_REFUNDED" || status == "REFUNDED"
	require.Equal(r, at.Status == provider.Succeeded, captured, "payment %s is %s, at the provider %s", id, status, at.Status)
	var given int64
	for _, back := range r.refundsAt(at.ID) {
		given += back
	}
	require.Equal(r, given, refunded, "refunds of payment %s", id)
}

func (r *schedule) refundsAt(paymentID string) (list []int64) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.sim+"/v1/refunds?paymentId="+paymentID, nil)
	require.NoError(r, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(r, err)
	defer answer.Body.Close()
	var page struct {
		Items []struct {
			Status string
			Amount money.Amount
		}
	}
	require.NoError(r, json.NewDecoder(answer.Body).Decode(&page))
	for _, i := range page.Items {
		if i.Status == "succeeded" {
			list = append(list, i.Amount.Minor)
		}
	}
	return list
}
