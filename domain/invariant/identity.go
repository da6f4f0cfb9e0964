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
// otherwise a new kind of operation would escape. What an operator's press changes may be cleaned away; its line of the audit stays. Each anti-join lets through only what it didn't find.
const resultsExist = `
SELECT 'operation ' || op.id, format('%s is COMPLETED, but its %s %s does not exist', op.type, coalesce(op.resource_type, 'result'), op.resource_id)
FROM operations op WHERE op.status = 'COMPLETED'
	AND NOT EXISTS (SELECT FROM orders r WHERE op.resource_type = 'order' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM payments r WHERE op.resource_type = 'payment' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM refunds r WHERE op.resource_type = 'refund' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM shipments r WHERE op.resource_type = 'shipment' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM leads r WHERE op.resource_type = 'lead' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM reconcile_runs r WHERE op.resource_type = 'reconciliation' AND r.id::text = op.resource_id)
	AND NOT EXISTS (SELECT FROM audit_actions r WHERE op.type LIKE 'OPERATOR\_%' AND op.resource_type NOT IN ('refund', 'reconciliation')
		AND r.operation_id = op.id AND r.outcome = 'DONE')
UNION ALL
SELECT 'operation ' || op.id, format('CREATE_ORDER is COMPLETED, but order %s is not its own', op.order_id)
FROM operations op WHERE op.status = 'COMPLETED' AND op.type = 'CREATE_ORDER'
	AND NOT EXISTS (SELECT FROM orders o WHERE o.operation_id = op.id AND o.id = op.order_id)`
