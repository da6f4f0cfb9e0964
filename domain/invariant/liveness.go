package invariant

// operationsMove: waiting for the outside is fine for ever (age raises alarms, not outcomes), not being looked at is not.
// The relay moves next_attempt_at on even when no worker follows, hence the look at the tries themselves.
const operationsMove = `
SELECT 'operation ' || id, format('%s is PROCESSING since %s after %s tries: %s', type, created_at, attempt, CASE
	WHEN next_attempt_at < now() - @grace::interval THEN 'due since ' || next_attempt_at
	WHEN lease_expires_at < now() - @grace::interval THEN 'its lease ended at ' || lease_expires_at
	WHEN attempt = 0 THEN 'nobody tried it'
	ELSE 'last tried at ' || sent_at END)
FROM operations WHERE status = 'PROCESSING' AND (
	next_attempt_at IS NULL OR next_attempt_at < now() - @grace::interval
	OR lease_expires_at < now() - @grace::interval
	OR (attempt = 0 AND created_at < now() - (@grace::interval + @delay::interval) AND next_attempt_at <= now() + @lease::interval)
	OR (sent_at < now() - (@grace::interval + @pause::interval) AND next_attempt_at <= now() + @lease::interval))
UNION ALL
SELECT 'payment ' || p.id, format('of order %s is %s, but its operation is not PROCESSING: nobody will ask', p.order_id, p.status)
FROM payments p JOIN orders o ON o.id = p.order_id
WHERE p.status IN ('CREATED', 'SUBMITTING', 'UNKNOWN') AND NOT o.needs_review
	AND NOT EXISTS (SELECT FROM operations op WHERE op.id = p.operation_id AND op.status = 'PROCESSING')
UNION ALL
SELECT 'refund ' || r.id, format('of order %s is %s, but its operation is not PROCESSING: nobody will ask', r.order_id, r.status)
FROM refunds r JOIN orders o ON o.id = r.order_id
WHERE r.status IN ('CREATED', 'SUBMITTING', 'UNKNOWN') AND NOT o.needs_review
	AND NOT EXISTS (SELECT FROM operations op WHERE op.id = r.operation_id AND op.status = 'PROCESSING')
UNION ALL
SELECT 'shipment ' || s.id, format('of order %s is %s, but its operation is not PROCESSING: nobody will ask', s.order_id, s.status)
FROM shipments s JOIN orders o ON o.id = s.order_id
WHERE s.status IN ('CREATED', 'SUBMITTING', 'UNKNOWN') AND NOT o.needs_review
	AND NOT EXISTS (SELECT FROM operations op WHERE op.id = s.operation_id AND op.status = 'PROCESSING')
UNION ALL
SELECT 'payment ' || p.id, format('has money that order %s could not take, and nothing sends it back', p.order_id)
FROM payments p WHERE p.orphaned_at IS NOT NULL AND p.refunded_minor < p.amount_minor
	AND NOT EXISTS (SELECT FROM operations op WHERE op.order_id = p.order_id AND op.type = @orphan AND op.key = 'refund:orphan:payment:' || p.id)
UNION ALL
SELECT 'payment ' || p.id, format('of order %s is PENDING, but nobody watches it', p.order_id)
FROM payments p JOIN orders o ON o.id = p.order_id
WHERE p.status = 'PENDING' AND NOT o.needs_review
	AND NOT EXISTS (SELECT FROM operations op WHERE op.order_id = p.order_id AND op.type = @watch AND op.status = 'PROCESSING')`

const boxesDrain = `
SELECT 'event ' || id, format('%s %s is RECEIVED since %s after %s looks, due at %s', provider, event_id, received_at, attempts, next_attempt_at)
FROM incoming_events WHERE status = 'RECEIVED' AND (
	next_attempt_at < now() - @grace::interval
	OR (attempts = 0 AND received_at < now() - @grace::interval)
	OR received_at < now() - (@grace::interval + @object_limit::interval))
UNION ALL
SELECT 'outbox event ' || id, format('%s is waiting since %s after %s tries, due at %s', dedupe_key, created_at, attempts, next_attempt_at)
FROM outbox_events WHERE dispatched_at IS NULL AND parked_at IS NULL AND (
	next_attempt_at < now() - @grace::interval
	OR (attempts = 0 AND created_at < now() - @grace::interval)
	OR created_at < now() - (@grace::interval + @dispatch_limit::interval))`
