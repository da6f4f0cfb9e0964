package jobs

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
)

const (
	pending   = `SELECT count(*) = $1 FROM payments WHERE status = 'PENDING'`
	fulfilled = `SELECT count(*) = $1 FROM orders WHERE status = 'FULFILLED'`
)

// effects are exactly those of n paid orders of three licences each.
func (b *bench) effects(t *testing.T, n int) {
	t.Helper()
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM orders WHERE status = 'FULFILLED' AND NOT needs_review`))
	require.Equal(t, 3*n, b.count(t, `SELECT count(*) FROM licenses`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM bonus_entries`))
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM notifications WHERE sends = 1 AND sent_at IS NOT NULL`))
	require.Len(t, b.mailer.Accepted(), n)
	require.Len(t, b.provider.Booked(), n)
	require.Equal(t, n, b.count(t, `SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM operations WHERE status <> 'COMPLETED'`))
	for _, kind := range []string{"order.paid", "order.fulfilled", "payment.succeeded", "license.issued", "mail.sent", "bonus.accrued"} {
		require.Equal(t, n, b.count(t, `SELECT count(*) FROM journal WHERE kind = $1`, kind), kind)
	}
}

// Two processes carry orders from the first call to the last mail, every webhook comes three times, and all job rows are
// deleted in between and after: everything happens, once.
func TestPurchasesSurviveTheDeletionOfEveryJob(t *testing.T) {
	t.Parallel()
	const n = 8
	b := setup(t)
	lose := func() {
		_, err := b.db.Exec(t.Context(), `DELETE FROM river_job WHERE state <> 'running'`)
		require.NoError(t, err)
		paymenttest.MakeDue(t, b.db)
		_, err = b.db.Exec(t.Context(), `UPDATE incoming_events SET next_attempt_at = now() WHERE status = 'RECEIVED'`)
		require.NoError(t, err)
	}
	relay := b.process(t, 0)
	orders := make([]paymenttest.Order, n)
	for i := range orders {
		orders[i] = paymenttest.NewOrder(t, b.db, paymenttest.Wish{Email: "ann@example.com"})
	}
	b.round(t, relay)
	lose()
	b.start(t, 4)
	b.start(t, 4)
	b.until(t, "payments are asked for", pending, n)
	for i, o := range orders {
		for delivery := range 3 {
			b.hear(t, fmt.Sprintf("evt_%d_%d", i, delivery%2), o, provider.Succeeded)
		}
	}
	b.round(t, relay)
	b.until(t, "orders are fulfilled", fulfilled, n)
	b.until(t, "events are done", `SELECT count(*) = $1 FROM incoming_events WHERE status IN ('APPLIED', 'NO_CHANGE')`, 2*n)
	b.effects(t, n)

	lose()
	_, err := b.db.Exec(t.Context(), `UPDATE outbox_events SET dispatched_at = NULL, next_attempt_at = now()`)
	require.NoError(t, err)
	b.until(t, "events go out again", `SELECT count(*) = 0 FROM outbox_events WHERE dispatched_at IS NULL OR $1 = 0`, n)
	b.until(t, "no job is left", `SELECT count(*) = 0 FROM river_job WHERE state NOT IN ('completed', 'discarded', 'cancelled') OR $1 = 0`, n)
	b.effects(t, n)
}

// Stopping waits for the job that runs, and what its call taught is kept.
func TestStopKeepsWhatARunningCallTeaches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calling, answer := make(chan struct{}), make(chan struct{})
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		close(calling)
		<-answer
		return book(), nil
	}
	paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	j := b.process(t, 2)
	go func() { ended <- j.Run(ctx) }()
	<-calling
	stop()
	close(answer)
	require.NoError(t, <-ended)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM payments p JOIN operations o ON o.id = p.operation_id WHERE p.status = 'PENDING' AND o.status = 'COMPLETED'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM river_job WHERE state = 'completed'`))
}

// The journal names the job that did it, and the trace of the request that wanted it.
func TestTheJournalKnowsJobAndTrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.start(t, 2)
	b.until(t, "the payment is asked for", pending, 1)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM journal j JOIN river_job r ON r.id = j.job_id JOIN operations o ON o.id = j.operation_id
		WHERE j.kind = 'payment.pending' AND j.payment_id = $1 AND j.trace_id = o.trace_id AND r.kind = 'create_payment'`, o.PaymentID))
}
