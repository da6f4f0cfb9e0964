package invariant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

// plant is damage done by hand, past the constraints that would refuse it, and what a check must say about it. In the shop of
// fillSQL order 20 waits for its payment, 21's payment is UNKNOWN, 22 is canceled, 23 PAID, 24 not tried yet, the others are
// FULFILLED, 7 with a parcel.
type plant struct {
	what string
	sql  string
	id   int    // the invariant that it breaks
	who  string // in the example's subject
	says string // in the example's detail
	also []int  // others that it can't help breaking
}

func plants() []plant {
	const (
		o5  = `md5('order5')::uuid`
		o7  = `md5('order7')::uuid`
		old = `now() - interval '3 minutes'`
	)
	return []plant{
		{"second order of an operation", `ALTER TABLE orders DROP CONSTRAINT one_order_per_intent; UPDATE orders SET operation_id = md5('place6')::uuid WHERE id = ` + o5, 1, "operation ", "made 2 orders", []int{11}},
		{"second order of a cart", `ALTER TABLE orders DROP CONSTRAINT one_order_per_cart; UPDATE orders SET cart_id = md5('cart')::uuid WHERE id IN (` + o5 + `, md5('order6')::uuid)`, 1, "cart ", "became 2 orders", nil},
		{"two operations of one key", `ALTER TABLE operations DROP CONSTRAINT operations_identity; UPDATE operations SET key = 'key-6', user_id = md5('user6')::uuid WHERE key = 'key-5'`, 1, "key key-6", "is 2 operations", nil},

		{"two open payments", `DROP INDEX one_open_payment; INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, provider_payment_id)
			SELECT md5('second')::uuid, order_id, 2, md5('second')::uuid, 'PENDING', amount_minor, currency, provider, 'k2', 'pay_2' FROM payments WHERE id = md5('payment20')::uuid`, 2, "order ", "2 payment attempts", []int{12}},

		{"paid without money", `UPDATE payments SET status = 'FAILED' WHERE id = md5('payment5')::uuid`, 3, "order ", "with 0 succeeded payments", []int{12}},
		{"paid twice", `INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, provider_payment_id)
			SELECT md5('second')::uuid, order_id, 2, md5('second')::uuid, 'SUCCEEDED', amount_minor, currency, provider, 'k2', 'pay_2' FROM payments WHERE order_id = ` + o5, 3, "order ", "with 2 succeeded payments", []int{12}},
		{"paid another amount", `UPDATE payments SET amount_minor = amount_minor - 1 WHERE order_id = ` + o5, 3, "order ", "(minor units)", nil},
		{"paid in another currency", `UPDATE payments SET currency = 'USD' WHERE order_id = ` + o5, 3, "order ", "USD", nil},
		{"money for a canceled order", `UPDATE payments SET status = 'SUCCEEDED' WHERE id = md5('payment22')::uuid`, 3, "order ", "is CANCELED", []int{12}},

		{"no ORDER_PAID", `DELETE FROM outbox_events WHERE id = md5('paid5')::uuid`, 4, "order ", "with 0 ORDER_PAID events", nil},
		{"two ORDER_PAID", `INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, dispatched_at)
			SELECT md5('again')::uuid, 'again', event_type, order_id, trace_id, now() FROM outbox_events WHERE id = md5('paid5')::uuid`, 4, "order ", "with 2 ORDER_PAID events", nil},
		{"ORDER_PAID of an unpaid order", `UPDATE outbox_events SET event_type = 'ORDER_PAID' WHERE id = md5('placed22')::uuid`, 4, "order ", "is CANCELED with 1", nil},
		{"ORDER_PAID of no order", `UPDATE outbox_events SET event_type = 'ORDER_PAID', order_id = md5('nobody')::uuid WHERE id = md5('placed22')::uuid`, 4, "order ", "is missing with 1", nil},

		{"ORDER_PAID removed and there", `UPDATE orders SET outbox_removed = '{ORDER_PAID}' WHERE id = ` + o5, 4, "order ", "with 2 ORDER_PAID events, 1 of them removed", nil},
		{"ORDER_PAID removed from an unpaid order", `UPDATE orders SET outbox_removed = '{ORDER_PAID}' WHERE id = md5('order22')::uuid`, 4, "order ", "is CANCELED with 1", nil},
		{"removed too early", `UPDATE orders SET outbox_removed = '{ORDER_PLACED}' WHERE id = md5('order23')::uuid`, 4, "order ", "is PAID, but its events", nil},

		{"licence missing", `DELETE FROM licenses WHERE order_id = ` + o5 + ` AND unit = 1`, 5, "order ", "has 2 licences", nil},
		{"licence missing of a PAID order", `DELETE FROM licenses WHERE order_id = md5('order23')::uuid AND unit = 1`, 5, "order ", "ISSUE_LICENSES is completed", nil},
		{"licence too many", `INSERT INTO licenses (order_item_id, unit, order_id, license_key) VALUES (md5('item5')::uuid, 9, ` + o5 + `, 'K')`, 5, "order ", "has 4 licences", nil},
		{"wrong unit", `UPDATE licenses SET unit = 9 WHERE order_id = ` + o5 + ` AND unit = 1`, 5, "order ", "highest for unit 9", nil},
		{"unit twice", `ALTER TABLE licenses DROP CONSTRAINT licenses_pkey; UPDATE licenses SET unit = 2 WHERE order_id = ` + o5 + ` AND unit = 1`, 5, "line ", "2 licences for unit 2", nil},
		{"licence of an unpaid order", `INSERT INTO licenses (order_item_id, unit, order_id, license_key) VALUES (md5('item20')::uuid, 1, md5('order20')::uuid, 'K')`, 5, "order ", "is AWAITING_PAYMENT", []int{12}},
		{"licence of another's line", `UPDATE licenses SET order_id = md5('order6')::uuid WHERE order_id = ` + o5 + ` AND unit = 1`, 5, "order ", "the highest for unit 1, of order ", nil},

		{"second accrual", `ALTER TABLE bonus_entries DROP CONSTRAINT bonus_entries_pkey; INSERT INTO bonus_entries (order_id, kind, user_id, points) SELECT order_id, kind, user_id, points FROM bonus_entries WHERE order_id = ` + o5, 6, "order ", "2 bonus entries of kind ACCRUAL", nil},
		{"reversal alone", `UPDATE bonus_entries SET kind = 'REVERSAL' WHERE order_id = md5('order23')::uuid`, 6, "order ", "reversal, but no accrual", []int{12}},
		{"accrual missing", `DELETE FROM bonus_entries WHERE order_id = ` + o5, 6, "order ", "bonus missing", nil},
		{"accrual missing of a PAID order", `DELETE FROM bonus_entries WHERE order_id = md5('order23')::uuid`, 6, "order ", "ACCRUE_BONUS is completed", nil},
		{"accrual of a canceled order", `UPDATE bonus_entries SET order_id = md5('order22')::uuid WHERE order_id = md5('order23')::uuid`, 6, "order ", "is CANCELED: bonus accrued", []int{12}},
		{"mail twice", `ALTER TABLE notifications DROP CONSTRAINT notifications_order_id_kind_key; INSERT INTO notifications (dedupe_key, order_id, kind, recipient, message_id)
			SELECT 'again', order_id, kind, recipient, message_id FROM notifications WHERE order_id = md5('order6')::uuid`, 6, "order ", "2 notifications of kind order-paid", nil},
		{"mail missing", `DELETE FROM notifications WHERE order_id = md5('order6')::uuid`, 6, "order ", "mail missing", nil},
		{"mail of an unpaid order", `UPDATE notifications SET order_id = md5('order22')::uuid WHERE order_id = md5('order6')::uuid;
			UPDATE orders SET email = NULL WHERE id = md5('order6')::uuid`, 6, "order ", "is CANCELED: bonus missing", []int{12}},
		{"mail not sent though completed", `UPDATE operations SET status = 'COMPLETED', next_attempt_at = NULL, completed_at = now(), resource_type = 'order', resource_id = order_id WHERE id = md5('notify23')::uuid`, 6, "order ", "SEND_NOTIFICATION is completed", []int{12}},
		{"parcel twice", `ALTER TABLE shipments DROP CONSTRAINT shipments_pkey; INSERT INTO shipments (id, order_id, parcel, operation_id, status, provider_key, provider_shipment_id)
			VALUES (md5('ship')::uuid, ` + o7 + `, 1, md5('ship')::uuid, 'SUCCEEDED', 'k', 'shp')`, 6, "order ", "2 shipments of parcel 1", []int{12}},
		{"parcel of an unpaid order", `INSERT INTO shipments (id, order_id, parcel, operation_id, status, provider_key, provider_shipment_id)
			VALUES (md5('ship')::uuid, md5('order20')::uuid, 1, md5('ship')::uuid, 'SUCCEEDED', 'k', 'shp')`, 6, "order ", "parcel 1 is shipped", []int{12}},
		{"parcel of nothing", `INSERT INTO shipments (id, order_id, parcel, operation_id, status, provider_key, provider_shipment_id)
			VALUES (md5('ship')::uuid, ` + o5 + `, 1, md5('ship')::uuid, 'SUCCEEDED', 'k', 'shp')`, 6, "order ", "nothing to carry", []int{12}},
		{"parcel missing", `DELETE FROM shipments WHERE order_id = ` + o7, 6, "order ", "of its 0 parcels", []int{11}},
		{"parcel left out", `UPDATE shipments SET parcel = 2 WHERE order_id = ` + o7, 6, "order ", "of its 1 parcels up to number 2", nil},
		{"parcel without a label", `UPDATE shipments SET status = 'FAILED' WHERE order_id = ` + o7, 6, "order ", "have 0 a label", []int{12}},
		{"no label of a PAID order", `UPDATE orders SET status = 'PAID' WHERE id = ` + o7 + `; UPDATE shipments SET status = 'FAILED' WHERE order_id = ` + o7, 6, "order ", "SHIP_PARCEL is completed", []int{12}},
		{"a parcel was never planned", `UPDATE orders SET status = 'PAID', paid_at = ` + old + ` WHERE id = ` + o7 + `; DELETE FROM shipments WHERE order_id = ` + o7 + `;
			DELETE FROM operations WHERE id = md5('ship77')::uuid`, 6, "order ", "without an operation SHIP_PARCEL", nil},
		{"only a superseded attempt is left", `UPDATE orders SET status = 'PAID', paid_at = ` + old + ` WHERE id = ` + o7 + `;
			UPDATE shipments SET operation_id = md5('next')::uuid WHERE order_id = ` + o7 + `;
			UPDATE operations SET status = 'FAILED', failure_code = 'X' WHERE id = md5('ship77')::uuid`, 6, "order ", "nothing works on it", []int{12}},
		{"licence revoked for nothing", `UPDATE licenses SET revoked_at = now() WHERE order_id = ` + o5 + ` AND unit = 1`, 6, "order ", "unit 1 is revoked", []int{12}},
		{"bonus reversed for nothing", `INSERT INTO bonus_entries (order_id, kind, user_id, points) SELECT order_id, 'REVERSAL', user_id, -points FROM bonus_entries
			WHERE order_id = ` + o5, 6, "order ", "come to 0 points", []int{12}},
		{"refunded, nothing taken back", `UPDATE orders SET status = 'REFUNDED' WHERE id = ` + o5, 6, "order ", "nothing takes it back", []int{7, 12}},
		{"ORDER_REFUNDED of an order that isn't", `UPDATE outbox_events SET event_type = 'ORDER_REFUNDED' WHERE id = md5('placed5')::uuid`, 6, "order ", "with 1 ORDER_REFUNDED events", nil},
		{"ORDER_REFUNDED removed from an order that isn't", `UPDATE orders SET outbox_removed = '{ORDER_REFUNDED}' WHERE id = ` + o5, 6, "order ", "with 0 ORDER_REFUNDED events", nil},
		{"nothing works on a paid order", `UPDATE orders SET paid_at = ` + old + ` WHERE id = md5('order23')::uuid; DELETE FROM operations WHERE id = md5('notify23')::uuid`, 6, "order ", "nothing works on it", nil},
		{"an effect was never planned", `UPDATE orders SET paid_at = ` + old + ` WHERE id = md5('order23')::uuid; DELETE FROM operations WHERE id = md5('accrue23')::uuid`, 6, "order ", "without an operation ACCRUE_BONUS", nil},

		{"refunded more than captured", `ALTER TABLE payments DROP CONSTRAINT refunds_within_capture; UPDATE payments SET refunded_minor = amount_minor + 1 WHERE order_id = ` + o5, 7, "payment ", "refunded", nil},
		{"refunds add up to more", refund(`5`, `amount_minor`, `currency`) + `;` + refund(`6`, `1`, `currency`) + `;
			UPDATE refunds SET payment_id = md5('payment5')::uuid, order_id = ` + o5, 7, "payment ", "that did not fail come to", []int{12}},
		{"refund not booked", refund(`5`, `1`, `currency`), 7, "payment ", "refunded 0, its succeeded refunds come to 1", []int{12}},
		{"refund nobody made", `UPDATE payments SET refunded_minor = 1 WHERE order_id = ` + o5, 7, "payment ", "succeeded refunds come to 0", nil},
		{"order refunded, payment not", `UPDATE orders SET status = 'REFUNDED' WHERE id = ` + o5, 7, "order ", "that paid it is SUCCEEDED", []int{6, 12}},
		{"refund in another currency", refund(`5`, `1`, `'USD'`), 7, "refund ", "is in USD", []int{12}},
		{"refund of another's payment", refund(`5`, `1`, `currency`) + `; UPDATE refunds SET order_id = md5('order6')::uuid`, 7, "refund ", "for order", []int{12}},
		{"payment says refunded", `UPDATE payments SET status = 'REFUNDED' WHERE order_id = ` + o5, 7, "payment ", "is REFUNDED, captured", []int{12}},
		{"refund of what was not captured", refund(`22`, `1`, `currency`), 7, "refund ", "CANCELED", []int{12}},

		{"reservation lost", `UPDATE products SET reserved = reserved - 1`, 8, "product notes", "reserved", nil},
		{"stock negative", `ALTER TABLE products DROP CONSTRAINT stock_covers_reservations; UPDATE products SET on_hand = -1`, 8, "product notes", "-1 on hand", nil},
		{"oversold", `ALTER TABLE products DROP CONSTRAINT stock_covers_reservations; UPDATE products SET on_hand = 1 WHERE id = 'notes'`, 8, "product notes", "1 on hand", nil},

		{"due and not taken", `UPDATE operations SET next_attempt_at = ` + old + ` WHERE id = md5('pay21')::uuid`, 9, "operation ", "due since", nil},
		{"no next look", `ALTER TABLE operations DROP CONSTRAINT operations_check1; UPDATE operations SET next_attempt_at = NULL WHERE id = md5('pay21')::uuid`, 9, "operation ", "is PROCESSING since", nil},
		{"lease ended, nobody came", `UPDATE operations SET lease_expires_at = ` + old + ` WHERE id = md5('pay21')::uuid`, 9, "operation ", "its lease ended", nil},
		{"taken by the relay, never tried", `UPDATE operations SET created_at = now() - interval '4 minutes', next_attempt_at = now() + interval '30 seconds' WHERE id = md5('pay24')::uuid`, 9, "operation ", "nobody tried it", nil},
		{"tried once, never again", `UPDATE operations SET sent_at = now() - interval '2 hours' WHERE id = md5('pay21')::uuid`, 9, "operation ", "last tried at", nil},
		{"unresolved payment, nobody asks", `UPDATE operations SET status = 'FAILED', failure_code = 'X', next_attempt_at = NULL, completed_at = now() WHERE id = md5('pay21')::uuid`, 9, "payment ", "nobody will ask", []int{12}},

		{"refund, nobody asks", refund(`5`, `1`, `currency`) + `; UPDATE refunds SET status = 'UNKNOWN'`, 9, "refund ", "nobody will ask", []int{12}},
		{"parcel, nobody asks", `UPDATE orders SET status = 'PARTIALLY_REFUNDED' WHERE id = ` + o7 + `; UPDATE shipments SET status = 'UNKNOWN' WHERE order_id = ` + o7, 9, "shipment ", "nobody will ask", []int{7, 12}},
		{"orphan, nothing sends it back", `UPDATE payments SET orphaned_at = now() WHERE id = md5('payment22')::uuid`, 9, "payment ", "nothing sends it back", nil},
		{"pending payment, nobody watches", `DELETE FROM operations WHERE id = md5('watch20')::uuid`, 9, "payment ", "nobody watches it", nil},

		{"event due and not taken", received(old, 1, `now()`), 10, "event ", "is RECEIVED since", nil},
		{"event never looked at", received(`now() + interval '30 seconds'`, 0, old), 10, "event ", "after 0 looks", nil},
		{"event waits for ever", received(`now()`, 30, `now() - interval '1 hour'`), 10, "event ", "after 30 looks", nil},
		{"outbox row not taken", `UPDATE outbox_events SET dispatched_at = NULL, next_attempt_at = ` + old + `, attempts = 1 WHERE id = md5('placed5')::uuid`, 10, "outbox event ", "is waiting since", nil},
		{"outbox row fails for ever", `UPDATE outbox_events SET dispatched_at = NULL, attempts = 3, created_at = now() - interval '1 hour' WHERE id = md5('placed5')::uuid`, 10, "outbox event ", "after 3 tries", nil},

		{"result missing", `UPDATE operations SET resource_id = md5('nobody')::uuid WHERE id = md5('place5')::uuid`, 11, "operation ", "does not exist", nil},
		{"payment missing", `UPDATE operations SET resource_id = md5('nobody')::uuid WHERE id = md5('pay5')::uuid`, 11, "operation ", "payment", nil},
		{"enquiry missing", `UPDATE operations SET resource_type = 'lead' WHERE id = md5('pay5')::uuid`, 11, "operation ", "lead", nil},
		{"refund missing", `UPDATE operations SET resource_type = 'refund' WHERE id = md5('pay5')::uuid`, 11, "operation ", "refund", nil},
		{"parcel's record missing", `UPDATE operations SET resource_type = 'shipment' WHERE id = md5('pay5')::uuid`, 11, "operation ", "shipment", nil},
		{"no resource at all", `UPDATE operations SET resource_type = 'nothing' WHERE id = md5('pay5')::uuid`, 11, "operation ", "does not exist", nil},
		{"somebody else's order", `UPDATE operations SET order_id = md5('order6')::uuid WHERE id = md5('place5')::uuid`, 11, "operation ", "is not its own", nil},

		{"order's state unwritten", unwritten("order.fulfilled", "order_id", "order5"), 12, "order ", "order.fulfilled", nil},
		{"order's beginning unwritten", unwritten("order.awaiting_payment", "order_id", "order5"), 12, "order ", "order.awaiting_payment", nil},
		{"order's payment unwritten", unwritten("order.paid", "order_id", "order5"), 12, "order ", "order.paid", nil},
		{"payment's beginning unwritten", unwritten("payment.created", "payment_id", "payment5"), 12, "payment ", "payment.created", nil},
		{"event's beginning unwritten", unwritten("inbox.received", "incoming_event_id", "event5"), 12, "event ", "inbox.received", nil},
		{"a state nobody knows", `ALTER TABLE payments DROP CONSTRAINT payments_status_check; UPDATE payments SET status = 'LOST' WHERE id = md5('payment21')::uuid`, 12, "payment ", "of its state", nil},
		{"review unwritten", `UPDATE orders SET needs_review = true, review_reason = 'x' WHERE id = ` + o5, 12, "order ", "order.flagged", nil},
		{"payment's state unwritten", unwritten("payment.succeeded", "payment_id", "payment5"), 12, "payment ", "payment.succeeded", nil},
		{"payment's step unwritten", unwritten("payment.submitting", "payment_id", "payment5"), 12, "payment ", "payment.submitting", nil},
		{"event's end unwritten", unwritten("inbox.applied", "incoming_event_id", "event5"), 12, "event ", "inbox.applied", nil},
		{"operation's end unwritten", unwritten("operation.completed", "operation_id", "pay5"), 12, "operation ", "operation.completed", nil},
		{"refusal unwritten", `INSERT INTO operations (id, user_id, type, key, request_hash, status, failure_code, trace_id, completed_at)
			VALUES (md5('refused')::uuid, md5('user5')::uuid, 'CREATE_ORDER', 'refused', 'v1:', 'FAILED', 'OUT_OF_STOCK', md5(''), now())`, 12, "operation ", "operation.failed", nil},
		{"licence unwritten", unwritten("license.issued", "order_id", "order5"), 12, "order ", "license.issued", nil},
		{"bonus unwritten", unwritten("bonus.accrued", "order_id", "order5"), 12, "order ", "bonus.accrued", nil},
		{"mail unwritten", unwritten("mail.sent", "order_id", "order6"), 12, "order ", "mail.sent", nil},
		{"refund unwritten", refund(`5`, `1`, `currency`), 12, "operation ", "refund.succeeded", []int{7}},
		{"label unwritten", unwritten("shipment.succeeded", "operation_id", "ship77"), 12, "operation ", "shipment.succeeded", nil},
		{"delivery unwritten", `UPDATE shipments SET delivered_at = now() WHERE order_id = ` + o7, 12, "operation ", "shipment.delivered", nil},
		{"revocation unwritten", `UPDATE licenses SET revoked_at = now() WHERE order_id = ` + o5, 12, "order ", "license.revoked", []int{6}},
		{"reversal unwritten", `INSERT INTO bonus_entries (order_id, kind, user_id, points) SELECT order_id, 'REVERSAL', user_id, -points FROM bonus_entries
			WHERE order_id = ` + o5, 12, "order ", "bonus.reversed", []int{6}},
	}
}

func refund(n, amount, currency string) string {
	return `INSERT INTO refunds (id, order_id, payment_id, operation_id, status, amount_minor, currency, reason, provider, provider_key, provider_refund_id)
		SELECT md5('refund` + n + `')::uuid, order_id, id, md5('refund` + n + `')::uuid, 'SUCCEEDED', ` + amount + `, ` + currency + `, 'test', 'sim', 'k', 're_` + n + `'
		FROM payments WHERE id = md5('payment` + n + `')::uuid`
}

func received(due string, attempts int, at string) string {
	return fmt.Sprintf(`UPDATE incoming_events SET status = 'RECEIVED', processed_at = NULL, next_attempt_at = %s, attempts = %d,
		received_at = %s WHERE id = md5('event5')::uuid`, due, attempts, at)
}

func unwritten(kind, column, id string) string {
	return `DELETE FROM journal WHERE kind = '` + kind + `' AND ` + column + ` = md5('` + id + `')::uuid`
}

// Every invariant must be able to fail: each plant breaks a healthy shop, and exactly the invariants that it names notice.
func TestEveryViolationIsFound(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "40")
	found := map[int]bool{}
	for _, p := range plants() {
		t.Run(p.what, func(t *testing.T) { // in turn: one database, damaged and restored
			findings := damaged(t, db, p.sql)
			for _, f := range findings {
				switch {
				case f.ID == p.id:
					require.False(t, f.OK)
					require.NotZero(t, f.Violations)
					requireExample(t, f, p.who, p.says)
					found[f.ID] = true
				case !slices.Contains(p.also, f.ID):
					require.True(t, f.OK, "invariant %d noticed, too: %v", f.ID, f.Examples)
				}
			}
		})
	}
	require.Len(t, found, len(invariant.All()), "an invariant without a plant proves nothing")
}

func requireExample(t *testing.T, f invariant.Finding, who, says string) {
	t.Helper()
	for _, e := range f.Examples {
		if strings.HasPrefix(e.Subject, who) && strings.Contains(e.Detail, says) {
			return
		}
	}
	require.Failf(t, "no such example", "%q … %q in %v", who, says, f.Examples)
}

// damaged checks what a transaction that is never committed makes of the shop: DDL rolls back as well.
func damaged(t *testing.T, db *pgxpool.Pool, sql string) (findings []invariant.Finding) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), sql)
	require.NoError(t, err)
	findings, err = invariant.Evaluate(t.Context(), tx, invariant.Config{})
	require.NoError(t, err)
	return findings
}
