package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fulfilment"
	"onefold/domain/store"
)

// Queue is a number of things that wait for knowledge or for a person.
type Queue struct {
	Name   string // one of QueueNames
	Count  int    // at most MaxCount; that many means "or more"
	Oldest *time.Time
	Age    time.Duration // of the oldest, by the database's clock; 0 when empty
}

// MaxCount is where counting a queue stops, and how many things of it one export or batch takes.
const MaxCount = 10_000

// queue is a row of the table of what waits. A new one is a row here and its words in components/i18n.
type queue struct {
	name    string
	actions []string // what its page offers: operator.Name, those for many first
	states  []string // what ?state= may be
	sources []source
}

// source is where things of a queue come from: rows of one table, read by one partial index from its oldest end. The other
// fields are SQL expressions; an empty one is NULL.
type source struct {
	kind         string // of the thing
	from, where  string
	at, id       string // the index's columns
	key          string // a uuid in the order of id; empty if id is one
	came         string // since when it is in the queue; empty if that is at
	order        string
	joins        string // what the fields below need, besides from
	label, state string
	minor, money string
	next         string // when it is looked at again
	attempts     string
	said         string // the last error or answer
	who          string // holds or wanted it
	until, sent  string // of a lease: its end; since when a call may have reached the outside
	more         string // jsonb
}

func queues() []queue {
	op := source{
		kind: "operation", from: "operations op", at: "op.created_at", id: "op.id", order: "op.order_id", label: "op.type", state: "op.status",
		next: "op.next_attempt_at", attempts: "op.attempt", said: "concat_ws(': ', op.failure_code, op.last_error)", who: "op.lease_owner",
		until: "op.lease_expires_at", sent: "op.sent_at",
	}
	event := source{
		kind: "event", from: "incoming_events e", at: "e.received_at", id: "e.id", order: "e.order_id", label: "e.event_type", state: "e.status",
		next: "e.next_attempt_at", attempts: "e.attempts", said: "e.reason", who: "e.provider",
	}
	return []queue{
		{name: "unknown_payments", actions: []string{"reconcile", "settle_payment"}, states: []string{unknown}, sources: []source{
			unknownOf("payment", "payments", "t.provider", "t.amount_minor"), unknownOf("refund", "refunds", "t.provider", "t.amount_minor"),
			unknownOf("shipment", "shipments", "'parcel ' || t.parcel", ""),
		}},
		{name: "stuck_operations", actions: []string{"recover"}, states: []string{"PROCESSING"}, sources: []source{op.of(stuckSQL).since(stuckSinceSQL)}},
		{name: "failed_effects", actions: []string{"settle_failure"}, states: []string{failed}, sources: []source{op.of(brokenSQL).since("op.completed_at")}},
		{
			name: "quarantined_events", actions: []string{"reprocess", "settle_event"}, states: []string{"QUARANTINED"},
			sources: []source{event.of("e.status = 'QUARANTINED' AND e.settled_at IS NULL").since("e.processed_at")},
		},
		{
			name: "waiting_events", actions: []string{"reprocess"}, states: []string{"RECEIVED"},
			sources: []source{event.of("e.status = 'RECEIVED' AND e.attempts > 0")},
		},
		{name: "parked_events", actions: []string{"redispatch", "settle_outbox"}, states: []string{outboxParked}, sources: []source{{
			kind: "outbox", from: "outbox_events x", where: "x.parked_at IS NOT NULL AND x.settled_at IS NULL", at: "x.created_at", id: "x.id",
			came: "x.parked_at", order: "x.order_id", label: "x.event_type", state: "'PARKED'", attempts: "x.attempts", said: "x.last_error",
		}}},
		{name: "orders_in_review", actions: []string{"settle_review"}, states: OrderStates(), sources: []source{{
			kind: "order", from: "orders t", where: "t.needs_review", at: "t.created_at", id: "t.id", came: flaggedSQL, order: "t.id", label: "t.review_reason",
			state: "t.status", minor: "t.total_minor", money: "t.currency",
		}}},
		{name: "orphan_payments", actions: []string{"settle_orphan"}, states: PaymentStates(), sources: []source{{
			kind: "payment", from: "payments t", where: "t.orphaned_at IS NOT NULL AND t.settled_at IS NULL AND t.refunded_minor < t.amount_minor",
			at: "t.created_at", id: "t.id", came: "t.orphaned_at", order: "t.order_id", label: "t.provider", state: "t.status",
			minor: "t.amount_minor - t.refunded_minor", money: "t.currency",
		}}},
		{name: "possible_duplicates", actions: []string{"judge_duplicate"}, states: OrderStates(), sources: []source{{
			kind: "duplicate", from: "possible_duplicates d", where: "d.settled_at IS NULL", at: "d.found_at", id: "d.order_id", order: "d.order_id",
			joins: "JOIN orders t ON t.id = d.order_id", label: "'possible_duplicate'", state: "t.status", minor: "t.total_minor", money: "t.currency",
			more: "jsonb_build_object('earlier', d.earlier_id)",
		}}},
		{name: "failed_jobs", actions: []string{"retry_job"}, states: []string{"discarded", "cancelled"}, sources: []source{job("discarded"), job("cancelled")}},
		{name: "approvals", actions: []string{"approve", "reject"}, states: []string{"OPEN"}, sources: []source{{
			kind: "approval", from: "approvals a", where: "a.decision IS NULL", at: "a.requested_at", id: "a.id", order: "a.order_id",
			joins: "JOIN users by ON by.id = a.requested_by", label: "a.action", state: "'OPEN'", said: "a.reason", who: "by.email", more: "a.input",
		}}},
	}
}

// OrderStates lists what a state filter of orders may name.
func OrderStates() []string {
	return []string{"AWAITING_PAYMENT", "PAID", "FULFILLED", "CANCELED", "EXPIRED", "PARTIALLY_REFUNDED", "REFUNDED"}
}

// of is the source with a condition.
func (s source) of(where string) source {
	s.where = where
	return s
}

// since is the source with the moment in which things enter the queue.
func (s source) since(came string) source {
	s.came = came
	return s
}

// flaggedSQL is when an order was put under review.
const flaggedSQL = `greatest(t.created_at, (SELECT max(y.at) FROM journal y WHERE y.order_id = t.id AND y.kind = 'order.flagged'))`

// brokenSQL is what failed for good, isn't a business result, and hasn't been settled or replaced: the index operations_broken.
const brokenSQL = `op.status = 'FAILED' AND op.settled_at IS NULL AND op.user_id = '00000000-0000-0000-0000-000000000001'
	AND op.type <> 'CREATE_PAYMENT' AND NOT ` + fulfilment.Superseded

func unknownOf(kind, table, label, minor string) source {
	s := source{
		kind: kind, from: table + " t", where: "t.status = 'UNKNOWN'", at: "t.updated_at", id: "t.id", order: "t.order_id", label: label,
		joins: "LEFT JOIN operations op ON op.id = t.operation_id", state: "t.status", next: "op.next_attempt_at", attempts: "op.looks",
		said: "op.last_error", minor: minor, until: "op.lease_expires_at",
	}
	if minor != "" {
		s.money, s.more = "t.currency", "jsonb_build_object('providerId', t.provider_"+kind+"_id)"
	}
	return s
}

// job is what River gave up in a state, unless a newer job carries on the same row.
func job(state string) source {
	return source{
		kind: "job", from: "river_job j", at: "j.finalized_at", id: "j.id", key: "lpad(to_hex(j.id), 32, '0')::uuid",
		where: "j.state = '" + state + "' AND j.finalized_at IS NOT NULL AND NOT EXISTS (SELECT FROM river_job t WHERE t.args @> j.args AND t.args = j.args" +
			" AND t.kind = j.kind AND t.id > j.id)",
		label: "j.kind", state: "j.state::text", attempts: "j.attempt", said: "j.errors[array_upper(j.errors, 1)] ->> 'error'",
	}
}

// subject is what people's words about a thing hang on: its order, else itself.
func (s source) subject() string {
	if s.order == "" {
		return s.uuid()
	}
	return "coalesce(" + s.order + ", " + s.uuid() + ")"
}

// uuid is the thing's key in the list.
func (s source) uuid() string {
	if s.key != "" {
		return s.key
	}
	return s.id
}

// awake: nobody has asked to be left alone with it since it came into the queue.
func (s source) awake() string {
	return "NOT EXISTS (SELECT FROM cases c WHERE c.object_id = " + s.subject() + " AND c.snoozed_until > now() AND " + s.entered() + " <= c.snoozed_at)"
}

// countSQL counts each queue as its page lists it.
func countSQL() string {
	var all []string
	for i, q := range queues() {
		var parts []string
		for _, s := range q.sources {
			parts = append(parts, fmt.Sprintf("(SELECT %s AS at FROM %s WHERE %s AND %s ORDER BY %s, %s LIMIT %d)",
				s.entered(), s.from, s.where, s.awake(), s.at, s.id, MaxCount))
		}
		all = append(all, fmt.Sprintf("SELECT %d, '%s', least(count(*), %d), min(at) FROM (%s) AS r", i, q.name, MaxCount, strings.Join(parts, " UNION ALL ")))
	}
	return "SELECT name, n, oldest, extract(epoch FROM clock_timestamp() - oldest)::float8 FROM (" + strings.Join(all, " UNION ALL ") +
		") AS queue(position, name, n, oldest) ORDER BY position"
}

// QueueNames lists the queues in the order of their urgency.
func QueueNames() (names []string) {
	for _, q := range queues() {
		names = append(names, q.name)
	}
	return names
}

// Queues counts what needs attention; what is snoozed doesn't.
func Queues(ctx context.Context, q store.Querier) ([]Queue, error) {
	rows, err := q.Query(ctx, countSQL())
	if err != nil {
		return nil, fmt.Errorf("count queues: %w", err)
	}
	queues, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (queue Queue, err error) {
		var seconds *float64
		if err = row.Scan(&queue.Name, &queue.Count, &queue.Oldest, &seconds); err == nil && seconds != nil {
			queue.Age = time.Duration(*seconds * float64(time.Second))
		}
		return queue, reading("queue", err)
	})
	if err != nil {
		return nil, fmt.Errorf("count queues: %w", err)
	}
	return queues, nil
}
