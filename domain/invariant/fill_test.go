package invariant_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// fillSQL writes n orders as the domain would leave them, in every state that a healthy shop shows: of twenty, one waits for the
// provider's page, one for its outcome, one for its first try, one is canceled, one has its mail still to come, and fifteen are
// done, one of them with a mug in a parcel. IDs are made from the number, so a test can name them: md5('order1')::uuid.
const fillSQL = `
CREATE TEMP TABLE made ON COMMIT DROP AS SELECT g, CASE g % 20 WHEN 0 THEN 'pending' WHEN 1 THEN 'unknown' WHEN 2 THEN 'canceled'
	WHEN 3 THEN 'paid' WHEN 4 THEN 'created' ELSE 'done' END AS shape, now() - interval '10 seconds' AS at, md5('trace' || g) AS trace,
	md5('order' || g)::uuid AS o, md5('payment' || g)::uuid AS p, md5('item' || g)::uuid AS i, md5('event' || g)::uuid AS e,
	md5('place' || g)::uuid AS place, md5('pay' || g)::uuid AS pay, md5('issue' || g)::uuid AS issue, md5('accrue' || g)::uuid AS accrue,
	md5('notify' || g)::uuid AS notify, md5('watch' || g)::uuid AS watch, 1 + g % 3 AS units
FROM generate_series(1, {n}) g;
INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand, reserved)
	SELECT 'notes', 'license', '', '', '', '', 100000000, sum(units) FILTER (WHERE shape <> 'canceled') FROM made;
INSERT INTO operations (id, user_id, type, key, request_hash, status, order_id, resource_type, resource_id, trace_id, created_at, completed_at)
	SELECT place, md5('user' || g)::uuid, 'CREATE_ORDER', 'key-' || g, 'v1:' || trace, 'COMPLETED', o, 'order', o, trace, at, at FROM made;
INSERT INTO operations (id, user_id, type, key, request_hash, status, order_id, resource_type, resource_id, trace_id, created_at, completed_at,
		next_attempt_at, attempt)
	SELECT id, '00000000-0000-0000-0000-000000000001', type, key || o, 'v1:system', CASE WHEN ended THEN 'COMPLETED' ELSE 'PROCESSING' END, o,
		kind, CASE kind WHEN 'order' THEN o ELSE p END, trace, at, CASE WHEN ended THEN at END, CASE WHEN NOT ended THEN now() END,
		(ended OR shape = 'unknown')::int
	FROM made CROSS JOIN LATERAL (VALUES
		(pay, 'CREATE_PAYMENT', 'payment:create:order:', 'payment', shape NOT IN ('unknown', 'created'), true),
		(watch, 'WATCH_PAYMENT', 'payment:watch:order:', 'payment', shape <> 'pending', shape NOT IN ('unknown', 'created')),
		(issue, 'ISSUE_LICENSES', 'license:issue:order:', 'order', true, shape IN ('paid', 'done')),
		(accrue, 'ACCRUE_BONUS', 'bonus:accrue:order:', 'order', true, shape IN ('paid', 'done')),
		(notify, 'SEND_NOTIFICATION', 'mail:order-paid:order:', 'order', shape = 'done', shape IN ('paid', 'done'))
	) AS op(id, type, key, kind, ended, there) WHERE there;
INSERT INTO orders (id, user_id, operation_id, status, email, currency, subtotal_minor, total_minor, created_at, paid_at, fulfilled_at)
	SELECT o, md5('user' || g)::uuid, place, CASE shape WHEN 'done' THEN 'FULFILLED' WHEN 'paid' THEN 'PAID' WHEN 'canceled' THEN 'CANCELED'
		ELSE 'AWAITING_PAYMENT' END, CASE WHEN g % 10 <> 5 THEN 'buyer' || g || '@example.com' END, 'RUB', 4990 * units, 4990 * units, at,
		CASE WHEN shape IN ('paid', 'done') THEN at END, CASE shape WHEN 'done' THEN at END FROM made;
INSERT INTO order_items (id, order_id, product_id, kind, name, quantity, price_minor) SELECT i, o, 'notes', 'license', 'Notes', units, 4990 FROM made;
INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand, reserved)
	SELECT 'mug', 'physical', '', '', '', '', 100000000, count(*) FROM made WHERE g % 20 = 7;
INSERT INTO order_items (id, order_id, product_id, kind, name, quantity, price_minor) SELECT md5('mug' || g)::uuid, o, 'mug', 'physical', 'Mug', 1, 0
	FROM made WHERE g % 20 = 7;
INSERT INTO operations (id, user_id, type, key, request_hash, status, order_id, resource_type, resource_id, trace_id, created_at, completed_at)
	SELECT md5('ship7' || g)::uuid, '00000000-0000-0000-0000-000000000001', 'SHIP_PARCEL', 'delivery:create:order:' || o || ':1', 'v1:system', 'COMPLETED',
		o, 'shipment', md5('parcel' || g)::uuid, trace, at, at FROM made WHERE g % 20 = 7;
INSERT INTO shipments (id, order_id, parcel, operation_id, status, provider_key, provider_shipment_id, tracking)
	SELECT md5('parcel' || g)::uuid, o, 1, md5('ship7' || g)::uuid, 'SUCCEEDED', 'delivery:create:order:' || o || ':1', 'shp_' || g, 'TP' || g
	FROM made WHERE g % 20 = 7;
INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, provider_payment_id, succeeded_at)
	SELECT p, o, 1, pay, CASE shape WHEN 'done' THEN 'SUCCEEDED' WHEN 'paid' THEN 'SUCCEEDED' ELSE upper(shape) END, 4990 * units, 'RUB', 'sim',
		'payment:create:order:' || o, CASE WHEN shape NOT IN ('created', 'unknown') THEN 'pay_' || trace END,
		CASE WHEN shape IN ('paid', 'done') THEN at END FROM made;
INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, created_at, dispatched_at)
	SELECT md5('placed' || g)::uuid, 'order.placed:' || o, 'ORDER_PLACED', o, trace, at, at FROM made
	UNION ALL SELECT md5('paid' || g)::uuid, 'order.paid:' || o, 'ORDER_PAID', o, trace, at, at FROM made WHERE shape IN ('paid', 'done');
INSERT INTO incoming_events (id, provider, event_id, event_type, object_id, payload, payload_hash, status, payment_id, order_id, trace_id, received_at, processed_at)
	SELECT e, 'sim', 'evt_' || trace, 'payment.succeeded', 'pay_' || trace, '{}', trace, 'APPLIED', p, o, trace, at, at
	FROM made WHERE shape IN ('paid', 'done');
INSERT INTO licenses (order_item_id, unit, order_id, license_key) SELECT i, u, o, md5('license' || g || '/' || u)
	FROM made CROSS JOIN LATERAL generate_series(1, units) u WHERE shape IN ('paid', 'done');
INSERT INTO bonus_entries (order_id, kind, user_id, points) SELECT o, 'ACCRUAL', md5('user' || g)::uuid, 49 FROM made WHERE shape IN ('paid', 'done');
INSERT INTO notifications (dedupe_key, order_id, kind, recipient, message_id, sends, sent_at)
	SELECT 'mail:order-paid:order:' || o, o, 'order-paid', 'buyer' || g || '@example.com', 'mail.' || o, 1, at FROM made WHERE shape = 'done' AND g % 10 <> 5;
INSERT INTO journal (at, kind, trace_id, operation_id, order_id, payment_id, incoming_event_id, detail)
	SELECT at, kind, trace, CASE WHEN split_part(kind, '.', 1) <> 'inbox' THEN op END, CASE WHEN kind <> 'inbox.received' THEN o END,
		CASE split_part(kind, '.', 1) WHEN 'payment' THEN p END, CASE split_part(kind, '.', 1) WHEN 'inbox' THEN e END,
		jsonb_build_object('from', was, 'attempt', 1)
	FROM made CROSS JOIN LATERAL (VALUES
		('order.awaiting_payment', place, '', true), ('payment.created', pay, '', true), ('payment.submitting', pay, 'CREATED', shape <> 'created'),
		('payment.pending', pay, 'SUBMITTING', shape NOT IN ('created', 'unknown')), ('payment.unknown', pay, 'SUBMITTING', shape = 'unknown'),
		('payment.canceled', pay, 'PENDING', shape = 'canceled'), ('order.canceled', place, 'AWAITING_PAYMENT', shape = 'canceled'),
		('operation.completed', pay, '', shape NOT IN ('created', 'unknown')),
		('operation.completed', watch, '', shape NOT IN ('created', 'unknown', 'pending')),
		('inbox.received', NULL, '', shape IN ('paid', 'done')), ('payment.succeeded', pay, 'PENDING', shape IN ('paid', 'done')),
		('order.paid', NULL, 'AWAITING_PAYMENT', shape IN ('paid', 'done')), ('inbox.applied', NULL, '', shape IN ('paid', 'done')),
		('license.issued', issue, '', shape IN ('paid', 'done')), ('operation.completed', issue, '', shape IN ('paid', 'done')),
		('bonus.accrued', accrue, '', shape IN ('paid', 'done')), ('operation.completed', accrue, '', shape IN ('paid', 'done')),
		('mail.sent', notify, '', shape = 'done' AND g % 10 <> 5), ('operation.completed', notify, '', shape = 'done'),
		('order.fulfilled', NULL, 'PAID', shape = 'done'),
		('shipment.created', md5('ship7' || g)::uuid, '', g % 20 = 7), ('shipment.submitting', md5('ship7' || g)::uuid, '', g % 20 = 7),
		('shipment.succeeded', md5('ship7' || g)::uuid, '', g % 20 = 7), ('operation.completed', md5('ship7' || g)::uuid, '', g % 20 = 7)
	) AS line(kind, op, was, there) WHERE there;`

// fill makes n orders in one go, past the pool's own limits.
func fill(t testing.TB, db *pgxpool.Pool, n string) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = 0; SET LOCAL synchronous_commit = off;"+strings.ReplaceAll(fillSQL, "{n}", n))
		return err
	}))
}
