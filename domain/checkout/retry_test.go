package checkout_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// failed is an order whose last attempt ended without money.
func (b *bench) failed(t *testing.T) uuid.UUID {
	t.Helper()
	id := orderID(t, b.place(t, b.command(uuid.NewString())))
	b.set(t, id, payment.Failed)
	return id
}

func (b *bench) set(t *testing.T, order uuid.UUID, s payment.State) {
	t.Helper()
	_, err := b.db.Exec(t.Context(), `UPDATE payments SET status = $2, provider_payment_id = id::text WHERE order_id = $1`, order, s)
	require.NoError(t, err)
}

func TestRetryTwiceIsOneAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	id := b.failed(t)
	first, err := b.desk.Retry(t.Context(), b.user, id, "R")
	require.NoError(t, err)
	require.Equal(t, 202, first.Result.Code)
	for range 2 {
		again, err := b.desk.Retry(t.Context(), b.user, id, "R")
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, first.Result, again.Result)
	}
	_, err = b.desk.Retry(t.Context(), b.user, id, "S")
	require.Equal(t, "PAYMENT_IN_PROGRESS", code(t, err))
	require.Equal(t, 2, b.counts(t).payments)
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM payments WHERE order_id = $1 AND attempt = 2 AND status = 'CREATED' AND provider_key = $2`,
		id, fmt.Sprintf("payment:create:order:%s:2", id)))
	require.Positive(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE operation_id = $1 AND order_id = $2`, first.ID, id))
	require.NoError(t, checkoutFinds(t, b, id, 2))
}

func checkoutFinds(t *testing.T, b *bench, id uuid.UUID, attempts int) error {
	t.Helper()
	o, err := checkout.Find(t.Context(), b.db, b.user, id)
	require.Len(t, o.Payments, attempts)
	return err
}

// One key under two orders, and as a key of placing an order, is three intents.
func TestRetryKeysBelongToTheOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	b.place(t, b.command("K"))
	for range 2 {
		out, err := b.desk.Retry(t.Context(), b.user, b.failed(t), "K")
		require.NoError(t, err)
		require.False(t, out.Replayed)
		require.Equal(t, "payment", out.Result.ResourceType)
	}
}

func TestRetryOfEveryState(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	want := map[payment.State]string{
		payment.Created: "PAYMENT_IN_PROGRESS", payment.Submitting: "PAYMENT_IN_PROGRESS", payment.Pending: "PAYMENT_IN_PROGRESS",
		payment.Unknown: "PAYMENT_UNRESOLVED", payment.Succeeded: "ORDER_STATE", payment.PartiallyRefunded: "ORDER_STATE", payment.Refunded: "ORDER_STATE",
		payment.Canceled: "", payment.Failed: "",
	}
	for _, s := range payment.States() {
		id := b.failed(t)
		b.set(t, id, s)
		_, err := b.desk.Retry(t.Context(), b.user, id, "R")
		require.Equal(t, want[s], code(t, err), s)
		require.Contains(t, want, s)
		b.set(t, id, payment.Failed)
		if want[s] != "" {
			out, err := b.desk.Retry(t.Context(), b.user, id, "R")
			require.NoError(t, err, "a refusal binds nothing to the key")
			require.False(t, out.Replayed)
		}
	}
	for _, s := range order.States() {
		id := b.failed(t)
		_, err := b.db.Exec(t.Context(), `UPDATE orders SET status = $2, paid_at = now(), fulfilled_at = now() WHERE id = $1`, id, s)
		require.NoError(t, err)
		_, err = b.desk.Retry(t.Context(), b.user, id, "R")
		if s == order.AwaitingPayment {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, "ORDER_STATE", code(t, err), s)
	}
}

// Money came in for an attempt that had failed: a person looks at it, and nobody is asked to pay again meanwhile.
func TestAFlaggedOrderIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	id := b.failed(t)
	require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
		return order.Flag(t.Context(), tx, id, uuid.Nil, "success_after_failed")
	}))
	_, err := b.desk.Retry(t.Context(), b.user, id, "R")
	require.Equal(t, "PAYMENT_UNRESOLVED", code(t, err))
	require.Equal(t, 1, b.counts(t).payments)
}

func TestRetryOfSomebodyElsesOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	id := b.failed(t)
	for _, c := range []struct{ user, order uuid.UUID }{{b.somebody(t), id}, {b.user, uuid.New()}} {
		_, err := b.desk.Retry(t.Context(), c.user, c.order, "R")
		require.Equal(t, "NOT_FOUND", code(t, err))
	}
	require.Equal(t, 1, b.counts(t).payments)
}

func TestManyRetriesWithManyKeysAreOneAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	id := b.failed(t)
	outs, errs := make([]operation.Outcome, 20), make([]error, 20)
	together(20, func(i int) { outs[i], errs[i] = b.desk.Retry(t.Context(), b.user, id, string(rune('a'+i/2))) })
	fresh := 0
	for i, err := range errs {
		if err != nil {
			require.Equal(t, "PAYMENT_IN_PROGRESS", code(t, err))
			continue
		}
		if !outs[i].Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, 2, b.counts(t).payments)
}
