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
SELECT 'operation ' || op.id, format('%s is COMPLETED, but %s %s does not exist', op.type, op.resource_type, op.resource_id)
FROM operations op WHERE op.status = 'COMPLETED' AND op.resource_type = 'order'
	AND NOT EXISTS (SELECT FROM orders r WHERE r.id::text = op.resource_id)
UNION ALL
SELECT 'operation ' || op.id, format('%s is COMPLETED, but %s %s does not exist', op.type, op.resource_type, op.resource_id)
FROM operations op WHERE op.status = 'COMPLETED' AND op.resource_type = 'payment'
	AND NOT EXISTS (SELECT FROM payments r WHERE r.id::text = op.resource_id)
UNION ALL
SELECT 'operation ' || op.id, format('%s is COMPLETED, but %s %s does not exist', op.type, op.resource_type, op.resource_id)
FROM operations op WHERE op.status = 'COMPLETED' AND op.resource_type IN ('refund', 'shipment')
	AND NOT EXISTS (SELECT FROM refunds r WHERE r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM shipments r WHERE r.id::text = op.resource_id)
UNION ALL
SELECT 'operation ' || op.id, format('%s is COMPLETED with resource type %s, which has no table here', op.type, coalesce(op.resource_type, 'none'))
FROM operations op WHERE op.status = 'COMPLETED'
	AND (op.resource_id IS NULL OR coalesce(op.resource_type, '') NOT IN ('order', 'payment', 'refund', 'shipment'))
UNION ALL
SELECT 'operation ' || op.id, format('CREATE_ORDER is COMPLETED, but order %s is not its own', op.order_id)
FROM operations op WHERE op.status = 'COMPLETED' AND op.type = 'CREATE_ORDER'
	AND NOT EXISTS (SELECT FROM orders o WHERE o.operation_id = op.id AND o.id = op.order_id)`
