package retention

import "onefold/domain/fulfilment"

// rule says for one table which rows are old, why some of those stay, and how the others go. Its SQL knows the arguments
// @operations, @incoming_events, @outbox_events, @journal, @guests (intervals) and @system (user).
type rule struct {
	table string
	alias string
	from  string // the table under its alias, with what the conditions need; orders are o
	old   string // condition: old enough to be looked at
	stays string // the reason why an old row stays; NULL if it goes

	walk  walk
	goes  string // condition that is asked when an old row is about to go: nothing makes it stay
	locks string // aliases of the rows that are locked while one goes
	also  string // more common table expressions of the removal; doomed holds the IDs of what goes
}

// walk is the index along which a table is gone through, so that a batch costs the same however much stays.
type walk struct {
	from  string
	where string
	at    string // time column
	id    string
	kind  string // type of id
	match string // column by which the rule's rows are found
}

// rules in the order in which they run: journal entries go after what they tell of, guests after their baskets.
func rules() []rule {
	return []rule{operations(), incomingEvents(), outboxEvents(), journal(), carts(), users()}
}

// held is why all rows of an order o stay; NULL if nothing holds them, as for rows without an order.
const held = `CASE
	WHEN o.needs_review THEN 'order under review'
	WHEN EXISTS (SELECT FROM outbox_events w WHERE w.order_id = o.id AND w.parked_at IS NOT NULL AND w.settled_at IS NULL) THEN 'order has a parked event'
	WHEN EXISTS (SELECT FROM incoming_events w WHERE w.order_id = o.id AND w.status = 'QUARANTINED' AND w.settled_at IS NULL) THEN 'order has a quarantined event'
	WHEN o.status = 'AWAITING_PAYMENT' OR (o.status IN ('PAID', 'PARTIALLY_REFUNDED') AND o.fulfilled_at IS NULL)
		OR EXISTS (SELECT FROM operations w WHERE w.order_id = o.id AND w.status = 'PROCESSING')
		OR EXISTS (SELECT FROM outbox_events w WHERE w.order_id = o.id AND w.dispatched_at IS NULL AND w.parked_at IS NULL)
		OR EXISTS (SELECT FROM payments w WHERE w.order_id = o.id AND w.orphaned_at IS NOT NULL AND w.refunded_minor < w.amount_minor)
	THEN 'order unfinished' END`

func operations() rule {
	const old = `op.created_at < now() - @operations::interval AND coalesce(op.completed_at, op.created_at) < now() - @operations::interval
		AND coalesce(op.expires_at, op.created_at) <= now()`
	stays := `CASE WHEN op.status = 'PROCESSING' THEN 'unfinished'
		WHEN op.status = 'FAILED' AND op.user_id = @system AND op.settled_at IS NULL AND op.failure_code NOT IN ('PAYMENT_REJECTED', 'NOT_AT_PROVIDER')
			AND NOT ` + fulfilment.Superseded + ` THEN 'failed for good'
		ELSE ` + held + ` END`
	return rule{
		table: "operations", alias: "op", from: `operations op LEFT JOIN orders o ON o.id = op.order_id`, old: old,
		stays: stays, goes: `(` + stays + `) IS NULL`,
		walk:  walk{"operations op", old, "op.created_at", "op.id", "uuid", "op.id"},
		locks: "op",
	}
}

// incomingEvents: an event stays as long as another payload under its ID is quarantined; people compare the two.
func incomingEvents() rule {
	const old = `e.received_at < now() - @incoming_events::interval
		AND coalesce(e.processed_at, e.received_at) < now() - @incoming_events::interval`
	stays := `CASE WHEN e.status = 'RECEIVED' THEN 'unfinished'
		WHEN e.status = 'QUARANTINED' AND e.settled_at IS NULL THEN 'quarantined'
		WHEN EXISTS (SELECT FROM incoming_events c WHERE c.contradicts = e.id) THEN 'contradicted by a quarantined event'
		ELSE ` + held + ` END`
	return rule{
		table: "incoming_events", alias: "e", from: `incoming_events e LEFT JOIN orders o ON o.id = e.order_id`, old: old,
		stays: stays, goes: `(` + stays + `) IS NULL`,
		walk:  walk{"incoming_events e", old, "e.received_at", "e.id", "uuid", "e.id"},
		locks: "e",
	}
}

// outboxEvents: the order remembers what was removed, in the same transaction.
func outboxEvents() rule {
	const old = `x.created_at < now() - @outbox_events::interval
		AND coalesce(x.dispatched_at, x.settled_at, x.created_at) < now() - @outbox_events::interval`
	stays := `CASE WHEN x.parked_at IS NOT NULL AND x.settled_at IS NULL THEN 'parked' WHEN x.dispatched_at IS NULL AND x.parked_at IS NULL THEN 'unfinished' ELSE ` + held + ` END`
	return rule{
		table: "outbox_events", alias: "x", from: `outbox_events x JOIN orders o ON o.id = x.order_id`, old: old,
		stays: stays, goes: `(` + stays + `) IS NULL`,
		walk:  walk{"outbox_events x", old, "x.created_at", "x.id", "uuid", "x.id"},
		locks: "x, o",
		also: `, noted AS (
			UPDATE orders o SET outbox_removed = o.outbox_removed || d.types
			FROM (SELECT order_id, array_agg(event_type ORDER BY event_type) AS types
				FROM outbox_events WHERE id IN (SELECT id FROM doomed) GROUP BY order_id) d
			WHERE o.id = d.order_id)`,
	}
}

// passing is the predicate of the index journal_passing: entries about rows that are removed some day.
//
//nolint:gosec // no credentials, whatever the name recalls
const passing = `split_part(j.kind, '.', 1) IN ('operation', 'inbox', 'outbox', 'effect')`

// journal: an entry stays as long as what it tells of. The plan foresees which operations and events go before it.
func journal() rule {
	const old = `j.at < now() - @journal::interval`
	op, e := operations(), incomingEvents()
	return rule{
		table: "journal", alias: "j", from: `journal j LEFT JOIN orders o ON o.id = j.order_id`, old: old,
		stays: `CASE WHEN NOT ` + passing + ` THEN 'history of orders and money'
			WHEN EXISTS (SELECT FROM ` + op.from + ` WHERE op.id = j.operation_id AND ` + op.remains() + `) THEN 'operation is kept'
			WHEN EXISTS (SELECT FROM ` + e.from + ` WHERE e.id = j.incoming_event_id AND ` + e.remains() + `) THEN 'event is kept'
			ELSE ` + held + ` END`,
		walk: walk{"journal j", passing + ` AND ` + old, "j.at", "j.id", "bigint", "j.id"},
		goes: passing + ` AND (` + held + `) IS NULL AND NOT EXISTS (SELECT FROM operations p WHERE p.id = j.operation_id)
			AND NOT EXISTS (SELECT FROM incoming_events p WHERE p.id = j.incoming_event_id)`,
		locks: "j",
	}
}

// remains is the condition that a row is still there after a run.
func (r rule) remains() string { return `NOT (` + r.old + ` AND (` + r.stays + `) IS NULL)` }
