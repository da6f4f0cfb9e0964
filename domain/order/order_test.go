package order_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestEveryMove(t *testing.T) {
	t.Parallel()
	allowed := map[[2]order.State]bool{
		{order.AwaitingPayment, order.Paid}: true, {order.AwaitingPayment, order.Canceled}: true, {order.AwaitingPayment, order.Expired}: true,
		{order.Paid, order.Fulfilled}: true, {order.Paid, order.PartiallyRefunded}: true, {order.Paid, order.Refunded}: true,
		{order.Fulfilled, order.PartiallyRefunded}: true, {order.Fulfilled, order.Refunded}: true,
		{order.PartiallyRefunded, order.Refunded}: true,
	}
	for _, from := range order.States() {
		for _, to := range order.States() {
			require.Equal(t, allowed[[2]order.State{from, to}], from.CanMove(to), "%s to %s", from, to)
		}
	}
}

func TestStatesAreTheSchemas(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, checked(t, storetest.Tx(t), "orders"), order.States())
}

// checked reads the states that the table's CHECK allows.
func checked(t *testing.T, db store.Querier, table string) (states []order.State) {
	t.Helper()
	var definition string
	paymenttest.Read(t, db, `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1`, []any{table + "_status_check"}, &definition)
	for _, word := range regexp.MustCompile(`'([A-Z_]+)'`).FindAllStringSubmatch(definition, -1) {
		states = append(states, order.State(word[1]))
	}
	return states
}

func set(t *testing.T, tx pgx.Tx, id uuid.UUID, s order.State) {
	t.Helper()
	_, err := tx.Exec(t.Context(), `UPDATE orders SET status = $2, paid_at = now(), fulfilled_at = CASE WHEN $2 = 'FULFILLED' THEN now() END WHERE id = $1`, id, s)
	require.NoError(t, err)
}

// Money for an order is taken once, wherever the order stands; where it can't be taken, somebody is told.
func TestMarkPaidInEveryState(t *testing.T) {
	t.Parallel()
	for _, s := range order.States() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			tx := storetest.Tx(t)
			o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
			set(t, tx, o.ID, s)
			for range 2 {
				locked, err := order.Lock(t.Context(), tx, o.ID)
				require.NoError(t, err)
				require.NoError(t, order.MarkPaid(t.Context(), tx, locked, o.PaymentID))
			}
			after, err := order.Lock(t.Context(), tx, o.ID)
			require.NoError(t, err)
			require.True(t, after.NeedsReview, "the second time is a second payment")
			var reason string
			paymenttest.Read(t, tx, `SELECT review_reason FROM orders WHERE id = $1`, []any{o.ID}, &reason)
			events := paymenttest.Count(t, tx, `SELECT count(*) FROM outbox_events WHERE order_id = $1 AND event_type = 'ORDER_PAID'`, o.ID)
			switch s {
			case order.AwaitingPayment:
				require.Equal(t, order.Paid, after.State)
				require.Equal(t, 1, events)
				require.Equal(t, 1, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'order.paid'`, o.ID))
				require.Equal(t, "second_payment", reason)
			case order.Canceled, order.Expired:
				require.Equal(t, s, after.State)
				require.Zero(t, events)
				require.Equal(t, "paid_after_close", reason)
			default:
				require.Equal(t, s, after.State)
				require.Zero(t, events)
				require.Equal(t, "second_payment", reason)
			}
		})
	}
}

// A refund moves a paid order forward, and only all of the money has consequences, once.
func TestMarkRefundedInEveryState(t *testing.T) {
	t.Parallel()
	for _, s := range order.States() {
		for _, all := range []bool{false, true} {
			tx := storetest.Tx(t)
			o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
			set(t, tx, o.ID, s)
			for range 2 {
				locked, err := order.Lock(t.Context(), tx, o.ID)
				require.NoError(t, err)
				require.NoError(t, order.MarkRefunded(t.Context(), tx, locked, o.PaymentID, all))
			}
			to, events := order.PartiallyRefunded, 0
			if all {
				to, events = order.Refunded, 1
			}
			want, lines := to, 1
			if !s.CanMove(to) {
				want, lines, events = s, 0, 0
			}
			after, err := order.Lock(t.Context(), tx, o.ID)
			require.NoError(t, err)
			require.Equal(t, want, after.State)
			require.Equal(t, lines, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = $2`, o.ID, "order."+strings.ToLower(string(to))))
			require.Equal(t, events, paymenttest.Count(t, tx, `SELECT count(*) FROM outbox_events WHERE order_id = $1 AND event_type = 'ORDER_REFUNDED'`, o.ID))
		}
	}
}

func TestMarkFulfilledOnlyFromPaidAndOnce(t *testing.T) {
	t.Parallel()
	for _, s := range order.States() {
		tx := storetest.Tx(t)
		o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
		set(t, tx, o.ID, s)
		for range 2 {
			require.NoError(t, order.MarkFulfilled(t.Context(), tx, o.ID))
		}
		after, err := order.Lock(t.Context(), tx, o.ID)
		require.NoError(t, err)
		want, lines := s, 0
		switch s {
		case order.Paid:
			want, lines = order.Fulfilled, 1
		case order.PartiallyRefunded: // it gets its time only
			lines = 1
		}
		require.Equal(t, want, after.State)
		require.Equal(t, lines, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'order.fulfilled'`, o.ID))
	}
}

func TestTheFirstReasonStays(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
	for _, reason := range []string{"first", "second"} {
		require.NoError(t, order.Flag(t.Context(), tx, o.ID, o.PaymentID, reason))
	}
	var reason string
	paymenttest.Read(t, tx, `SELECT review_reason FROM orders WHERE id = $1`, []any{o.ID}, &reason)
	require.Equal(t, "first", reason)
	require.Equal(t, 2, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'order.flagged'`, o.ID), "both are remembered")
}

func TestFindingAnOrder(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
	cart := uuid.New()
	_, err := tx.Exec(t.Context(), `UPDATE orders SET cart_id = $2 WHERE id = $1`, o.ID, cart)
	require.NoError(t, err)
	id, found, err := order.ByCart(t.Context(), tx, cart)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, o.ID, id)
	_, found, err = order.ByCart(t.Context(), tx, uuid.New())
	require.NoError(t, err)
	require.False(t, found)

	var operationID, none, one uuid.UUID
	paymenttest.Read(t, tx, `SELECT operation_id FROM orders WHERE id = $1`, []any{o.ID}, &operationID)
	b := &pgx.Batch{}
	order.QueueByOperation(b, operationID, &one)
	order.QueueByOperation(b, uuid.New(), &none)
	require.NoError(t, tx.SendBatch(t.Context(), b).Close())
	require.Equal(t, o.ID, one)
	require.Equal(t, uuid.Nil, none)
}

// The database itself refuses a second order of one intent or cart, and totals that don't add up.
func TestTheSchemasOwnGuards(t *testing.T) {
	t.Parallel()
	for sql, constraint := range map[string]string{
		`INSERT INTO orders (id, user_id, operation_id, status, currency, subtotal_minor, total_minor) SELECT gen_random_uuid(), user_id, operation_id, 'AWAITING_PAYMENT', 'RUB', 1, 1 FROM orders WHERE id = $1`:                         "one_order_per_intent",
		`INSERT INTO orders (id, user_id, operation_id, cart_id, status, currency, subtotal_minor, total_minor) SELECT gen_random_uuid(), user_id, gen_random_uuid(), cart_id, 'AWAITING_PAYMENT', 'RUB', 1, 1 FROM orders WHERE id = $1`:  "one_order_per_cart",
		`INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key) VALUES (gen_random_uuid(), $1, 2, gen_random_uuid(), 'CREATED', 1, 'RUB', 'x', 'y')`:                           "one_open_payment",
		`INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key) VALUES (gen_random_uuid(), $1, 1, gen_random_uuid(), 'FAILED', 1, 'RUB', 'x', 'y')`:                            "one_attempt_number",
		`INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key) SELECT gen_random_uuid(), $1, 2, operation_id, 'FAILED', 1, 'RUB', 'x', 'y' FROM payments WHERE order_id = $1`: "one_attempt_per_operation",
		`UPDATE orders SET total_minor = total_minor + 1 WHERE id = $1`:                                                  "orders_check",
		`UPDATE payments SET refunded_minor = amount_minor + 1 WHERE order_id = $1`:                                      "refunds_within_capture",
		`UPDATE products SET reserved = on_hand + 1 WHERE id = (SELECT product_id FROM order_items WHERE order_id = $1)`: "stock_covers_reservations",
	} {
		t.Run(constraint+" "+strings.Fields(sql)[0], func(t *testing.T) {
			t.Parallel()
			tx := storetest.Tx(t)
			o := paymenttest.NewOrder(t, tx, paymenttest.Wish{})
			_, err := tx.Exec(t.Context(), `UPDATE orders SET cart_id = gen_random_uuid() WHERE id = $1`, o.ID)
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), sql, o.ID)
			require.Equal(t, constraint, store.Constraint(err))
		})
	}
}
