package invariant

// journalComplete lists the journal rows that the tables call for and removes those that are there, in one pass over the
// journal. An entity is its order, payment or incoming event; everything else (operations, and later refunds and shipments) is
// found by its operation. A COMPLETED local operation is proven by what it made: the order's own row.
const journalComplete = `
WITH called(kind, id) AS (
	SELECT k, o.id FROM orders o CROSS JOIN LATERAL (VALUES
		('order.awaiting_payment'),
		(CASE WHEN o.paid_at IS NOT NULL THEN 'order.paid' END),
		(CASE WHEN o.fulfilled_at IS NOT NULL THEN 'order.fulfilled' END),
		(CASE WHEN o.status IN ('CANCELED', 'EXPIRED', 'PARTIALLY_REFUNDED', 'REFUNDED') THEN 'order.' || lower(o.status) END),
		(CASE WHEN o.needs_review THEN 'order.flagged' END)) AS v(k) WHERE k IS NOT NULL
	UNION ALL
	SELECT k, p.id FROM payments p CROSS JOIN LATERAL (VALUES
		('payment.created'),
		(CASE WHEN p.status <> 'CREATED' THEN 'payment.' || lower(p.status) END),
		(CASE WHEN p.succeeded_at IS NOT NULL AND p.status <> 'SUCCEEDED' THEN 'payment.succeeded' END)) AS v(k) WHERE k IS NOT NULL
	UNION ALL
	SELECT 'inbox.received', id FROM incoming_events WHERE contradicts IS NULL
	UNION ALL
	SELECT 'inbox.' || lower(status), id FROM incoming_events WHERE status <> 'RECEIVED'
	UNION ALL
	SELECT 'operation.' || lower(status), id FROM operations WHERE status = 'FAILED' OR (status = 'COMPLETED' AND user_id = @system)
	UNION ALL
	SELECT DISTINCT 'license.issued', order_id FROM licenses
	UNION ALL
	SELECT 'bonus.accrued', order_id FROM bonus_entries WHERE kind = 'ACCRUAL'
	UNION ALL
	SELECT 'mail.sent', order_id FROM notifications WHERE sent_at IS NOT NULL
	UNION ALL
	SELECT 'refund.' || lower(status), operation_id FROM refunds
	UNION ALL
	SELECT 'shipment.' || lower(status), operation_id FROM shipments
), written AS NOT MATERIALIZED (
	SELECT kind, CASE split_part(kind, '.', 1) WHEN 'order' THEN order_id WHEN 'payment' THEN payment_id WHEN 'inbox' THEN incoming_event_id
		WHEN 'license' THEN order_id WHEN 'bonus' THEN order_id WHEN 'mail' THEN order_id ELSE operation_id END AS id
	FROM journal
)
SELECT CASE split_part(c.kind, '.', 1) WHEN 'payment' THEN 'payment ' WHEN 'inbox' THEN 'event ' WHEN 'operation' THEN 'operation '
	WHEN 'refund' THEN 'operation ' WHEN 'shipment' THEN 'operation ' ELSE 'order ' END || c.id, 'has no journal row ' || c.kind
FROM called c WHERE NOT EXISTS (SELECT FROM written w WHERE w.kind = c.kind AND w.id = c.id)
UNION ALL
SELECT 'payment ' || j.payment_id, format('left %s for %s without a journal row of the former', j.detail ->> 'from', j.detail ->> 'to')
FROM journal j WHERE j.kind LIKE 'payment.%' AND j.detail ->> 'from' <> ''
	AND NOT EXISTS (SELECT FROM written w WHERE w.kind = 'payment.' || lower(j.detail ->> 'from') AND w.id = j.payment_id)`
