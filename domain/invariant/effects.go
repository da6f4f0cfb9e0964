package invariant

import "onefold/domain/fulfilment"

// licensesMatch: a FULFILLED order has all of them; a PAID one has all of them once ISSUE_LICENSES is completed; a refunded
// one may have been refunded before they were issued. Nobody has more, and an unpaid order has none.
const licensesMatch = `
WITH issued AS MATERIALIZED (SELECT order_item_id, order_id, count(*) AS n, max(unit) AS highest FROM licenses GROUP BY order_item_id, order_id)
SELECT 'order ' || o.id, format('is %s; line %s (%s) of %s units has %s licences, the highest for unit %s', o.status, i.id, i.kind, i.quantity,
	coalesce(l.n, 0), coalesce(l.highest, 0)) || CASE WHEN l.order_id <> i.order_id THEN ', of order ' || l.order_id ELSE '' END
FROM order_items i JOIN orders o ON o.id = i.order_id LEFT JOIN issued l ON l.order_item_id = i.id
WHERE l.order_id <> i.order_id OR CASE WHEN i.kind <> 'license' OR o.paid_at IS NULL THEN l.n > 0
	WHEN o.status = 'FULFILLED' THEN l.n IS DISTINCT FROM i.quantity OR l.highest > i.quantity
	ELSE l.n > i.quantity OR l.highest > i.quantity END
UNION ALL
SELECT 'order ' || o.id, format('is PAID and ISSUE_LICENSES is completed, but line %s of %s units has %s licences', i.id, i.quantity, count(l.unit))
FROM orders o JOIN operations op ON op.order_id = o.id AND op.type = @issue AND op.status = 'COMPLETED'
JOIN order_items i ON i.order_id = o.id AND i.kind = 'license' LEFT JOIN licenses l ON l.order_item_id = i.id
WHERE o.status = 'PAID' GROUP BY o.id, i.id, i.quantity HAVING count(l.unit) <> i.quantity
UNION ALL
SELECT 'line ' || order_item_id, format('has %s licences for unit %s', count(*), unit)
FROM licenses WHERE order_item_id IN (SELECT order_item_id FROM issued WHERE n > 1) GROUP BY order_item_id, unit HAVING count(*) > 1`

// effectsOnce: too many, too early (before the money), missing though the order or its operation says done, and a PAID order
// past the limit on which nothing works. One whose ORDER_PAID event is parked or whose effect FAILED waits for a person.
const effectsOnce = `
SELECT 'order ' || order_id, format('has %s bonus entries of kind %s', count(*), kind) FROM bonus_entries GROUP BY order_id, kind HAVING count(*) > 1
UNION ALL
SELECT 'order ' || order_id, format('has %s notifications of kind %s', count(*), kind) FROM notifications GROUP BY order_id, kind HAVING count(*) > 1
UNION ALL
SELECT 'order ' || order_id, format('has %s shipments of parcel %s', count(*), parcel) FROM shipments GROUP BY order_id, parcel HAVING count(*) > 1
UNION ALL
SELECT 'order ' || r.order_id, 'has a bonus reversal, but no accrual' FROM bonus_entries r WHERE r.kind = 'REVERSAL'
	AND NOT EXISTS (SELECT FROM bonus_entries a WHERE a.order_id = r.order_id AND a.kind = 'ACCRUAL')
UNION ALL
SELECT 'order ' || o.id, format('is %s with %s ORDER_REFUNDED events', o.status, count(e.id))
FROM orders o LEFT JOIN outbox_events e ON e.order_id = o.id AND e.event_type = 'ORDER_REFUNDED'
WHERE o.status = 'REFUNDED' OR e.id IS NOT NULL OR 'ORDER_REFUNDED' = ANY (o.outbox_removed)
GROUP BY o.id, o.status, o.outbox_removed HAVING count(e.id) + coalesce(cardinality(array_positions(o.outbox_removed, 'ORDER_REFUNDED')), 0) <> (o.status = 'REFUNDED')::int
UNION ALL
SELECT 'order ' || o.id, format('is %s, but the licence of line %s, unit %s is revoked', o.status, l.order_item_id, l.unit)
FROM licenses l JOIN orders o ON o.id = l.order_id WHERE l.revoked_at IS NOT NULL AND o.status <> 'REFUNDED'
UNION ALL
SELECT 'order ' || o.id, format('is %s, its bonus entries come to %s points', o.status, sum(b.points))
FROM bonus_entries b JOIN orders o ON o.id = b.order_id WHERE b.order_id IN (SELECT order_id FROM bonus_entries WHERE kind = 'REVERSAL')
GROUP BY o.id, o.status HAVING sum(b.points) <> 0 OR o.status <> 'REFUNDED'
UNION ALL
SELECT 'order ' || o.id, 'is REFUNDED, still has what it was given, and nothing takes it back' FROM orders o
WHERE o.status = 'REFUNDED' AND ((SELECT count(*) FROM licenses l WHERE l.order_id = o.id AND l.revoked_at IS NULL) > 0
		OR (SELECT coalesce(sum(points), 0) FROM bonus_entries b WHERE b.order_id = o.id) <> 0)
	AND NOT EXISTS (SELECT FROM outbox_events e WHERE e.order_id = o.id AND e.event_type = 'ORDER_REFUNDED' AND e.dispatched_at IS NULL)
	AND NOT EXISTS (SELECT FROM operations op WHERE op.order_id = o.id AND op.type = @reverse AND op.status = 'PROCESSING')
UNION ALL
SELECT 'order ' || o.id, format('is %s, but parcel %s is shipped', o.status, s.parcel) FROM shipments s JOIN orders o ON o.id = s.order_id WHERE o.paid_at IS NULL
UNION ALL
SELECT 'order ' || order_id, format('has nothing to carry, but a parcel %s', parcel) FROM shipments s
WHERE NOT EXISTS (SELECT FROM order_items i WHERE i.order_id = s.order_id AND i.kind = 'physical')
UNION ALL
SELECT 'order ' || o.id, format('is %s; of its %s parcels up to number %s have %s a label', o.status, count(s.parcel), coalesce(max(s.parcel), 0),
	count(*) FILTER (WHERE s.status = 'SUCCEEDED'))
FROM orders o LEFT JOIN shipments s ON s.order_id = o.id
WHERE o.status = 'FULFILLED' AND o.id IN (SELECT order_id FROM order_items WHERE kind = 'physical')
GROUP BY o.id, o.status HAVING count(s.parcel) = 0 OR max(s.parcel) <> count(s.parcel) OR bool_or(s.status <> 'SUCCEEDED')
UNION ALL
SELECT 'order ' || o.id, format('is %s: bonus %s, mail %s', o.status, CASE WHEN b.order_id IS NULL THEN 'missing' ELSE 'accrued' END,
	CASE WHEN n.sent_at IS NOT NULL THEN 'sent' WHEN o.email IS NULL THEN 'not wanted' ELSE 'missing' END)
FROM orders o
LEFT JOIN bonus_entries b ON b.order_id = o.id AND b.kind = 'ACCRUAL'
LEFT JOIN notifications n ON n.order_id = o.id AND n.kind = 'order-paid'
WHERE CASE WHEN o.paid_at IS NULL THEN b.order_id IS NOT NULL OR n.order_id IS NOT NULL
	WHEN o.status = 'FULFILLED' THEN b.order_id IS NULL OR (o.email IS NOT NULL AND n.sent_at IS NULL AND n.given_up_at IS NULL
		AND NOT EXISTS (SELECT FROM notifications again WHERE again.order_id = o.id AND again.sent_at IS NOT NULL)) END
UNION ALL
SELECT 'order ' || o.id, format('is PAID and %s is completed, but its effect is missing', op.type)
FROM orders o JOIN operations op ON op.order_id = o.id AND op.status = 'COMPLETED'
WHERE o.status = 'PAID' AND CASE op.type
	WHEN @accrue THEN NOT EXISTS (SELECT FROM bonus_entries b WHERE b.order_id = o.id AND b.kind = 'ACCRUAL')
	WHEN @ship THEN NOT EXISTS (SELECT FROM shipments s WHERE s.operation_id = op.id AND s.status = 'SUCCEEDED')
	WHEN @notify THEN o.email IS NOT NULL
		AND NOT EXISTS (SELECT FROM notifications n WHERE n.order_id = o.id AND n.kind = 'order-paid' AND n.sent_at IS NOT NULL) END
UNION ALL
SELECT 'order ' || o.id, format('is PAID since %s, and nothing works on it', o.paid_at)
FROM orders o WHERE o.status = 'PAID' AND NOT o.needs_review AND o.paid_at < now() - @grace::interval
	AND NOT EXISTS (SELECT FROM outbox_events e WHERE e.order_id = o.id AND e.event_type = 'ORDER_PAID' AND e.parked_at IS NOT NULL)
	AND NOT EXISTS (SELECT FROM operations op WHERE op.order_id = o.id AND op.type IN (@issue, @accrue, @notify, @ship) AND op.status <> 'COMPLETED'
		AND NOT (op.type = @notify AND op.status = 'FAILED') AND NOT ` + fulfilment.Superseded + `)
UNION ALL
SELECT 'order ' || o.id, format('is PAID since %s without an operation %s', o.paid_at, t.type)
FROM orders o CROSS JOIN unnest(ARRAY[@issue, @accrue, @notify, @ship]::text[]) AS t(type)
WHERE (t.type <> @ship OR EXISTS (SELECT FROM order_items i WHERE i.order_id = o.id AND i.kind = 'physical')) AND o.status = 'PAID' AND NOT o.needs_review AND o.paid_at < now() - @grace::interval
	AND NOT EXISTS (SELECT FROM outbox_events e WHERE e.order_id = o.id AND e.event_type = 'ORDER_PAID' AND e.parked_at IS NOT NULL)
	AND NOT EXISTS (SELECT FROM operations op WHERE op.order_id = o.id AND op.type = t.type)`

const stockAddsUp = `
SELECT 'product ' || p.id, format('%s on hand, %s reserved, open and paid orders hold %s', p.on_hand, p.reserved, coalesce(held.units, 0))
FROM products p LEFT JOIN (
	SELECT i.product_id, sum(i.quantity) AS units FROM order_items i JOIN orders o ON o.id = i.order_id
	WHERE o.status NOT IN ('CANCELED', 'EXPIRED') GROUP BY i.product_id
) held ON held.product_id = p.id
WHERE p.reserved < 0 OR p.reserved > p.on_hand OR p.reserved <> coalesce(held.units, 0)`
