package invariant

const oneOpenPayment = `
SELECT 'order ' || order_id, format('has %s payment attempts that are not final', count(*))
FROM payments WHERE status IN ('CREATED', 'SUBMITTING', 'PENDING', 'UNKNOWN') GROUP BY order_id HAVING count(*) > 1`

// paidOnce looks from both sides: a paid order without its money, and money without a paid order. A flagged order is a
// person's case already.
const paidOnce = `
WITH captured AS (
	SELECT order_id, count(*) AS n, sum(amount_minor) AS amount, min(currency) AS currency
	FROM payments WHERE status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED') GROUP BY order_id
)
SELECT 'order ' || o.id, format('is %s over %s %s with %s succeeded payments of %s %s (minor units)', o.status, o.total_minor, o.currency,
	coalesce(c.n, 0), coalesce(c.amount, 0), coalesce(c.currency, o.currency))
FROM orders o LEFT JOIN captured c ON c.order_id = o.id
WHERE NOT o.needs_review AND CASE WHEN o.status IN ('PAID', 'FULFILLED', 'PARTIALLY_REFUNDED', 'REFUNDED')
	THEN c.n IS DISTINCT FROM 1 OR c.amount <> o.total_minor OR c.currency <> o.currency
	ELSE c.n > 0 END`

// paidEvent counts the events that are there and those that retention removed, which the order remembers. It may only have removed
// them from an order that waits for nothing.
const paidEvent = `
WITH said AS (SELECT order_id, count(*) AS n FROM outbox_events WHERE event_type = 'ORDER_PAID' GROUP BY order_id)
SELECT 'order ' || coalesce(o.id, e.order_id), format('is %s with %s ORDER_PAID events, %s of them removed', coalesce(o.status, 'missing'),
	coalesce(e.n, 0) + r.n, r.n)
FROM orders o FULL JOIN said e ON e.order_id = o.id
CROSS JOIN LATERAL (SELECT coalesce(cardinality(array_positions(o.outbox_removed, 'ORDER_PAID')), 0)) AS r(n)
WHERE coalesce(e.n, 0) + r.n <> (coalesce(o.status, '') IN ('PAID', 'FULFILLED', 'PARTIALLY_REFUNDED', 'REFUNDED'))::int
UNION ALL
SELECT 'order ' || id, format('is %s, but its events %s are removed already', status, outbox_removed)
FROM orders WHERE outbox_removed IS NOT NULL AND status IN ('AWAITING_PAYMENT', 'PAID')`

// refundsWithin counts a refund whose outcome isn't known as spent: it may have happened. Only a refund made at the provider
// meanwhile can make those too much, and that flags the order. Money without an order (orphaned_at) is refundable whatever
// became of its attempt, and never moves the order.
const refundsWithin = `
SELECT 'payment ' || id, format('captured %s, refunded %s (minor units)', amount_minor, refunded_minor)
FROM payments WHERE refunded_minor < 0 OR refunded_minor > amount_minor
UNION ALL
SELECT 'payment ' || p.id, format('is %s, captured %s, refunded %s, its succeeded refunds come to %s (minor units)', p.status, p.amount_minor,
	p.refunded_minor, coalesce(r.amount, 0))
FROM payments p LEFT JOIN (SELECT payment_id, sum(amount_minor) AS amount FROM refunds WHERE status = 'SUCCEEDED' GROUP BY payment_id) r ON r.payment_id = p.id
WHERE p.refunded_minor <> coalesce(r.amount, 0) OR (p.status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED') AND p.status <>
	CASE WHEN p.refunded_minor = 0 THEN 'SUCCEEDED' WHEN p.refunded_minor < p.amount_minor THEN 'PARTIALLY_REFUNDED' ELSE 'REFUNDED' END)
UNION ALL
SELECT 'order ' || o.id, format('is %s, but payment %s that paid it is %s', o.status, p.id, p.status)
FROM payments p JOIN orders o ON o.id = p.order_id
WHERE p.orphaned_at IS NULL AND p.status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED')
	AND ((p.status = 'SUCCEEDED') <> (o.status NOT IN ('PARTIALLY_REFUNDED', 'REFUNDED')) OR (p.status = 'REFUNDED') <> (o.status = 'REFUNDED'))
UNION ALL
SELECT 'payment ' || p.id, format('captured %s, its refunds that did not fail come to %s (minor units)', p.amount_minor, r.amount)
FROM (SELECT payment_id, sum(amount_minor) AS amount FROM refunds WHERE status <> 'FAILED' GROUP BY payment_id) r
JOIN payments p ON p.id = r.payment_id JOIN orders o ON o.id = p.order_id WHERE r.amount > p.amount_minor AND NOT o.needs_review
UNION ALL
SELECT 'refund ' || r.id, format('of payment %s (%s, %s, order %s) is in %s for order %s', p.id, p.status, p.currency, p.order_id, r.currency, r.order_id)
FROM refunds r JOIN payments p ON p.id = r.payment_id
WHERE r.currency <> p.currency OR r.order_id <> p.order_id OR
	(p.orphaned_at IS NULL AND p.status NOT IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED'))`
