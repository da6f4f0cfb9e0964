package invariant

// oneOrder: the unique constraints promise it; this looks at the rows themselves, so that a constraint that was dropped,
// deferred or built over bad data can't hide a second order.
const oneOrder = `
SELECT 'operation ' || operation_id, format('made %s orders', count(*)) FROM orders GROUP BY operation_id HAVING count(*) > 1
UNION ALL
SELECT 'cart ' || cart_id, format('became %s orders', count(*)) FROM orders WHERE cart_id IS NOT NULL GROUP BY cart_id HAVING count(*) > 1
UNION ALL
SELECT 'key ' || key, format('is %s operations of user %s, type %s, target "%s"', count(*), user_id, type, target)
FROM operations GROUP BY key, user_id, type, target HAVING count(*) > 1`

// resultsExist compares each named resource with its table. A resource type that isn't in the list is itself a violation:
// otherwise a new kind of operation would escape.
const resultsExist = `
SELECT 'operation ' || op.id, format('%s is COMPLETED, but its %s %s %s', op.type, coalesce(op.resource_type, 'result'),
	coalesce(op.resource_id, ''), CASE WHEN o.id IS NOT NULL THEN 'is not its own' ELSE 'does not exist' END)
FROM operations op
LEFT JOIN orders o ON op.resource_type = 'order' AND o.id::text = op.resource_id
LEFT JOIN payments p ON op.resource_type = 'payment' AND p.id::text = op.resource_id
LEFT JOIN refunds r ON op.resource_type = 'refund' AND r.id::text = op.resource_id
LEFT JOIN shipments s ON op.resource_type = 'shipment' AND s.id::text = op.resource_id
LEFT JOIN leads l ON op.resource_type = 'lead' AND l.id::text = op.resource_id
WHERE op.status = 'COMPLETED' AND (coalesce(o.id, p.id, r.id, s.id, l.id) IS NULL
	OR (op.type = 'CREATE_ORDER' AND (o.operation_id, o.id) IS DISTINCT FROM (op.id, op.order_id)))`
