package console

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// mine is the journal of an intent: rows of its order, and rows of its operations and events that name no order, such as
// refused repeats and the arrival of an event. $1 is the order or NULL, $2 the operation that the intent is.
const mine = `WITH ops AS (SELECT id FROM operations WHERE order_id = $1 UNION SELECT $2::uuid), mine AS (
	SELECT ` + journalColumns + ` FROM journal WHERE order_id = $1
	UNION ALL SELECT ` + journalColumns + ` FROM journal WHERE order_id IS NULL AND operation_id IN (SELECT id FROM ops)
	UNION ALL SELECT ` + journalColumns + ` FROM journal WHERE order_id IS NULL AND operation_id IS NULL
		AND incoming_event_id IN (` + eventsOfOrder + `)
) `

const journalColumns = `id, at, kind, trace_id, operation_id, order_id, payment_id, incoming_event_id, outbox_event_id, job_id, detail`

// eventsOfOrder: those that were matched with it, other payloads under their IDs, and those still waiting that name one of its
// payments at the provider.
const eventsOfOrder = `SELECT id FROM incoming_events WHERE order_id = $1
	UNION SELECT c.id FROM incoming_events e JOIN incoming_events c ON c.event_id = e.event_id AND c.provider = e.provider
		WHERE e.order_id = $1 AND c.contradicts IS NOT NULL
	UNION SELECT e.id FROM payments p JOIN incoming_events e ON e.provider = p.provider AND e.object_id = p.provider_payment_id
		WHERE p.order_id = $1 AND e.status = 'RECEIVED'`

// half of the longest timeline: its beginning and its end are kept.
const half = 250

// count says how many journal rows of a kind there are, with the guard that absorbed them; root counts those of the intent's own
// operation alone.
type count struct {
	kind, guard string
	n, root     int
}

// gather reads everything in one batch. orderID is NULL for an operation that made no order.
func gather(ctx context.Context, q store.Querier, orderID uuid.NullUUID, rootID uuid.UUID) (Intent, error) {
	var in Intent
	b := &pgx.Batch{}
	b.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&in.Now) })
	b.Queue(`SELECT id, number, user_id, cart_id, operation_id, status, needs_review, coalesce(review_reason, ''), coalesce(email, ''), locale,
			currency, subtotal_minor, discount_minor, total_minor, coalesce(promo_code, ''), created_at, paid_at, fulfilled_at, closed_at
		FROM orders WHERE id = $1`, orderID).Query(func(rows pgx.Rows) error {
		orders, err := pgx.CollectRows(rows, scanOrder)
		if len(orders) > 0 {
			in.Order = &orders[0]
		}
		return reading("order", err)
	})
	var items []Item
	into(b, &items, scanItem, `SELECT i.id, i.product_id, i.kind, i.name, i.quantity, i.price_minor, o.currency
		FROM order_items i JOIN orders o ON o.id = i.order_id WHERE i.order_id = $1 ORDER BY i.id`, orderID)
	into(b, &in.Operations, scanOperation, `SELECT `+operationColumns+` FROM `+operationRows+`
		WHERE op.order_id = $1 OR op.id = $2 ORDER BY op.id <> $2, op.created_at, op.id`, orderID, rootID)
	into(b, &in.Payments, scanPayment, `SELECT `+paymentColumns+` FROM `+paymentRows+` WHERE p.order_id = $1 ORDER BY p.attempt`, orderID)
	into(b, &in.Refunds, scanRefund, `SELECT id, payment_id, operation_id, status, amount_minor, currency, reason, coalesce(provider_refund_id, ''),
		created_at, updated_at FROM refunds WHERE payment_id IN (SELECT id FROM payments WHERE order_id = $1) ORDER BY created_at, id`, orderID)
	into(b, &in.Shipments, pgx.RowToStructByPos[Shipment], `SELECT id, parcel, attempt, operation_id, status, coalesce(provider_shipment_id, ''),
		coalesce(tracking, ''), coalesce(failure_code, ''), created_at, updated_at, delivered_at FROM shipments WHERE order_id = $1 ORDER BY parcel`, orderID)
	into(b, &in.Events, pgx.RowToStructByPos[IncomingEvent], `SELECT `+eventColumns+` FROM `+eventRows+`
		WHERE e.id IN (`+eventsOfOrder+`) ORDER BY e.received_at, e.id`, orderID)
	into(b, &in.Outbox, scanOutboxEvent, `SELECT `+outboxColumns+` FROM `+outboxRows+` WHERE x.order_id = $1 ORDER BY x.created_at, x.id`, orderID)
	into(b, &in.Licenses, scanLicense, `SELECT order_item_id, unit, license_key, issued_at, revoked_at FROM licenses
		WHERE order_id = $1 ORDER BY order_item_id, unit`, orderID)
	into(b, &in.Bonus, pgx.RowToStructByPos[BonusEntry], `SELECT kind, points, created_at FROM bonus_entries WHERE order_id = $1 ORDER BY created_at`, orderID)
	into(b, &in.Notifications, scanNotification, `SELECT kind, recipient, message_id, sends, sent_at, created_at FROM notifications
		WHERE order_id = $1 ORDER BY created_at, kind`, orderID)
	into(b, &in.said, scanMessage, `SELECT id, provider, payment_id, received_at, substr(payload, 1, `+longestPayload+`) FROM incoming_events
		WHERE id IN (`+eventsOfOrder+`) ORDER BY received_at, id`, orderID)
	in.gatherPeople(b, orderID, rootID)
	total := 0
	into(b, &in.Timeline, scanEntry(&total), mine+`SELECT `+journalColumns+`, n
		FROM (SELECT `+journalColumns+`, row_number() OVER (ORDER BY at, id) AS i, count(*) OVER () AS n FROM mine) AS m
		WHERE i <= $3 OR i > n - $3 ORDER BY at, id`, orderID, rootID, half)
	into(b, &in.counts, scanCount, mine+`SELECT kind, coalesce(detail ->> 'guard', ''), count(*), count(*) FILTER (WHERE operation_id = $2)
		FROM mine GROUP BY 1, 2 ORDER BY 1, 2`, orderID, rootID)
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return in, fmt.Errorf("read intent: %w", err)
	}
	if in.Order != nil {
		in.Order.Items = items
	}
	if len(in.Operations) > 0 && in.Operations[0].ID == rootID {
		in.Root = &in.Operations[0]
	}
	if in.Omitted = total - len(in.Timeline); in.Omitted > 0 {
		in.Timeline[half].OmittedBefore = in.Omitted
	}
	return in, nil
}

// into queues a query whose rows fill a list.
func into[T any](b *pgx.Batch, list *[]T, scan pgx.RowToFunc[T], sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(rows, scan)
		return reading("rows", err)
	})
}

// reading names what went wrong while rows were taken in; nil stays nil.
func reading(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", what, err)
}

func scanOrder(row pgx.CollectableRow) (o Order, err error) {
	err = row.Scan(&o.ID, &o.Number, &o.UserID, &o.CartID, &o.OperationID, &o.Status, &o.NeedsReview, &o.ReviewReason, &o.Email, &o.Locale,
		&o.Total.Currency, &o.Subtotal.Minor, &o.Discount.Minor, &o.Total.Minor, &o.PromoCode, &o.CreatedAt, &o.PaidAt, &o.FulfilledAt, &o.ClosedAt)
	o.Subtotal.Currency, o.Discount.Currency = o.Total.Currency, o.Total.Currency
	o.Email = maskEmail(o.Email)
	return o, reading("order", err)
}

func scanItem(row pgx.CollectableRow) (i Item, err error) {
	err = row.Scan(&i.ID, &i.ProductID, &i.Kind, &i.Name, &i.Quantity, &i.Price.Minor, &i.Price.Currency)
	return i, reading("line", err)
}

func scanRefund(row pgx.CollectableRow) (r Refund, err error) {
	err = row.Scan(&r.ID, &r.PaymentID, &r.OperationID, &r.Status, &r.Amount.Minor, &r.Amount.Currency, &r.Reason, &r.ProviderRefundID,
		&r.CreatedAt, &r.UpdatedAt)
	r.Reason = maskText(r.Reason)
	return r, reading("refund", err)
}

func scanLicense(row pgx.CollectableRow) (License, error) {
	l, err := pgx.RowToStructByPos[License](row)
	l.Key = maskLicense(l.Key)
	return l, err
}

func scanNotification(row pgx.CollectableRow) (Notification, error) {
	n, err := pgx.RowToStructByPos[Notification](row)
	n.Recipient = maskEmail(n.Recipient)
	return n, err
}

func scanCount(row pgx.CollectableRow) (c count, err error) {
	err = row.Scan(&c.kind, &c.guard, &c.n, &c.root)
	return c, reading("count", err)
}
