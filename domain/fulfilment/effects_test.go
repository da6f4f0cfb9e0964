package fulfilment_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestLicensesAreTheQuantityAndStayTheSame(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db, paymenttest.Wish{Units: 7})
	errs := make([]error, 10)
	together(10, func(i int) { errs[i] = b.executor.Execute(t.Context(), b.id(fulfilment.IssueLicenses)) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	first := b.licenses(t)
	require.Len(t, first, 7)
	for _, key := range first {
		require.Regexp(t, `^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$`, key)
	}
	// The operation is run again, as after a restore or by an operator: units that are there stay as they are.
	for _, lost := range []int{0, 2} {
		_, err := db.Exec(t.Context(), `UPDATE operations SET status = 'PROCESSING', completed_at = NULL, next_attempt_at = now() WHERE id = $1`, b.id(fulfilment.IssueLicenses))
		require.NoError(t, err)
		_, err = db.Exec(t.Context(), `DELETE FROM licenses WHERE order_id = $1 AND unit > 7 - $2`, b.order.ID, lost)
		require.NoError(t, err)
		b.run(t, fulfilment.IssueLicenses)
		again := b.licenses(t)
		require.Len(t, again, 7)
		require.Equal(t, first[:7-lost], again[:7-lost])
	}
}

func TestBonusIsAccruedOnce(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db, paymenttest.Wish{Units: 3}) // 149.70
	errs := make([]error, 10)
	together(10, func(i int) { errs[i] = b.executor.Execute(t.Context(), b.id(fulfilment.AccrueBonus)) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM bonus_entries WHERE order_id = $1 AND points = 149 AND user_id = $2`, b.order.ID, b.order.UserID))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'bonus.accrued'`, b.order.ID))
}

// FULFILLED comes with the last effect, whichever that is, and not before.
func TestFulfilledWithTheLastEffect(t *testing.T) {
	t.Parallel()
	l, a, m := fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification
	for _, email := range []string{"", "ann@example.com"} {
		for _, sequence := range [][]operation.Type{{l, a, m}, {l, m, a}, {a, l, m}} {
			tx := storetest.Tx(t)
			b := setup(t, tx, paymenttest.Wish{Email: email})
			for i, k := range sequence {
				require.Equal(t, "PAID", b.status(t))
				b.run(t, k, k)
				require.Equal(t, i == len(sequence)-1, b.status(t) == "FULFILLED")
			}
			require.Equal(t, 1, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'order.fulfilled'`, b.order.ID))
		}
	}
}

// Effects that end at the same moment see each other: no order stays PAID because each thought that another was open.
func TestEffectsThatEndTogether(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db, paymenttest.Wish{Email: "ann@example.com"})
	for range 25 {
		b.order = b.paid(t, paymenttest.Wish{Email: "ann@example.com"})
		kinds := []operation.Type{fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification}
		errs := make([]error, len(kinds))
		together(len(kinds), func(i int) { errs[i] = b.executor.Execute(t.Context(), b.id(kinds[i])) })
		for _, err := range errs {
			require.NoError(t, err)
		}
		b.run(t, fulfilment.SendNotification) // it may have come before the licences
		require.Equal(t, "FULFILLED", b.status(t))
	}
	require.Len(t, b.mailer.Accepted(), 25)
}

// Every effect locks the order before it asks whether it is the last: two that are about to end queue behind one who has it.
func TestTheLastTwoEffectsQueueOnTheOrder(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	l, a, m := fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification
	for _, c := range [][]operation.Type{{l, a, m}, {a, l, m}} {
		b := setup(t, db, paymenttest.Wish{Email: "ann@example.com"})
		b.run(t, c[0])
		holder, err := db.Begin(t.Context())
		require.NoError(t, err)
		_, err = holder.Exec(t.Context(), `SELECT 1 FROM orders WHERE id = $1 FOR UPDATE`, b.order.ID)
		require.NoError(t, err)
		errs := make(chan error, 2)
		for _, k := range c[1:] {
			go func() { errs <- b.executor.Execute(t.Context(), b.id(k)) }()
		}
		require.Eventually(t, func() bool {
			return paymenttest.Count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 2
		}, 5*time.Second, 2*time.Millisecond)
		require.NoError(t, holder.Rollback(t.Context()))
		require.NoError(t, <-errs)
		require.NoError(t, <-errs)
		b.run(t, m) // it may have come before the licences
		require.Equal(t, "FULFILLED", b.status(t))
	}
}

// The licence's transaction holds the order and wakes the mail, whose transaction holds its own row and wants the order.
func TestWakingTheMailDoesntDeadlock(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db, paymenttest.Wish{Email: "ann@example.com"})
	mail, err := db.Begin(t.Context()) // the mail's executor has leased, and is about to lock the order
	require.NoError(t, err)
	_, err = mail.Exec(t.Context(), `UPDATE operations SET attempt = attempt + 1 WHERE id = $1`, b.id(fulfilment.SendNotification))
	require.NoError(t, err)
	b.run(t, fulfilment.IssueLicenses)
	require.Len(t, b.licenses(t), 3)
	require.NoError(t, mail.Rollback(t.Context()))
}

func TestNothingIsPlannedTwiceByTwoRelays(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db, paymenttest.Wish{})
	require.Equal(t, []operation.Type{fulfilment.IssueLicenses, fulfilment.AccrueBonus, fulfilment.SendNotification, fulfilment.ShipParcel}, fulfilment.Types())
	require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) error { return fulfilment.Plan(t.Context(), tx, nil) }))
	require.Equal(t, 3, paymenttest.Count(t, db, `SELECT count(*) FROM operations WHERE order_id = $1 AND type <> 'CREATE_PAYMENT'`, b.order.ID))
}
