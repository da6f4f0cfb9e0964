package jobs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/refund"
)

// The whole way back: an operator asks, the workers do the rest. Meanwhile another order's money comes too late and goes back too.
func TestMoneyGoesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t, 4)
	b.start(t, 4)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{Email: "ann@example.com"})
	late := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	const pending = `SELECT count(*) = 2 FROM payments WHERE status = 'PENDING'`
	b.until(t, "both payments are at the provider", pending)
	_, err := b.db.Exec(t.Context(), `UPDATE orders SET status = 'CANCELED' WHERE id = $1`, late.ID)
	require.NoError(t, err)
	b.hear(t, "evt_paid", o, provider.Succeeded)
	b.hear(t, "evt_late", late, provider.Succeeded)
	b.until(t, "fulfilled", `SELECT status = 'FULFILLED' FROM orders WHERE id = $1`, o.ID)

	runner := &operation.Runner{DB: b.db, Retention: time.Hour, Wait: time.Second}
	actor := uuid.New()
	for range 2 {
		_, err = refund.Create(t.Context(), runner, actor, o.ID, "k", nil, "the customer changed their mind", nil)
		require.NoError(t, err)
	}
	b.until(t, "taken back", `SELECT status = 'REFUNDED' AND NOT EXISTS (SELECT FROM licenses WHERE order_id = o.id AND revoked_at IS NULL)
		AND (SELECT sum(points) FROM bonus_entries WHERE order_id = o.id) = 0 FROM orders o WHERE id = $1`, o.ID)
	b.until(t, "the late money went back", `SELECT p.status = 'REFUNDED' AND o.status = 'CANCELED' AND o.review_reason = 'paid_after_close'
		FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.id = $1`, late.ID)
	require.Equal(t, 2, b.provider.Refunds())
	b.until(t, "nothing is left to do", `SELECT NOT EXISTS (SELECT FROM operations WHERE status = 'PROCESSING')`)
}
