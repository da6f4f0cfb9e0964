package invariant

import (
	"fmt"
	"regexp"
	"strings"
)

// The column of the journal that names a kind's entity, as journalSQL knows it.
const (
	byOrder = 1 + iota
	byPayment
	byEvent
	byOperation
)

// kind is a sort of journal row that a table can call for.
type kind struct {
	name   string
	source int
}

// kinds lists them. Refunds and shipments have no column of their own: their rows carry their operation.
func kinds() []kind {
	var list []kind
	for _, k := range []struct {
		noun   string
		source int
		what   string
	}{
		{"order", byOrder, "awaiting_payment paid fulfilled canceled expired partially_refunded refunded flagged"},
		{"payment", byPayment, "created submitting pending unknown succeeded canceled failed partially_refunded refunded"},
		{"inbox", byEvent, "received applied no_change stale ignored quarantined"},
		{"operation", byOperation, "completed failed"},
		{"refund", byOperation, "created submitting unknown succeeded failed"},
		{"shipment", byOperation, "created submitting unknown succeeded failed delivered"},
		{"license", byOrder, "issued revoked"},
		{"bonus", byOrder, "accrued reversed"},
		{"mail", byOrder, "sent"},
	} {
		for what := range strings.FieldsSeq(k.what) {
			list = append(list, kind{k.noun + "." + what, k.source})
		}
	}
	return list
}

// unlisted stands for a state without a kind: nothing ever writes it, so such a row is a violation.
const unlisted = 62

var braces = regexp.MustCompile(`\{[a-z_.* ]+\}`)

// journalComplete compares, for each entity, the set of kinds that its row calls for with the set that was written, as bits. One
// pass over the journal makes the latter, and with it the set of states that a payment left, which must have been written as
// well. A COMPLETED local operation is proven by what it made: the order's own row.
//
// In the text {a.b} is the bit of a kind, {a.*} the bit of a kind a.<status> by the column status.
func journalComplete() string {
	bits, rows, states := map[string]string{"unlisted": fmt.Sprint(int64(1) << unlisted)}, []string{}, map[string]string{}
	for i, k := range kinds() {
		bit := fmt.Sprint(int64(1) << i)
		bits[k.name] = bit
		rows = append(rows, fmt.Sprintf("('%s', %d, %s::bigint)", k.name, k.source, bit))
		noun, what, _ := strings.Cut(k.name, ".")
		states[noun] += fmt.Sprintf(" WHEN '%s' THEN %s", strings.ToUpper(what), bit)
	}
	rows = append(rows, fmt.Sprintf("('of its state', 0, %s::bigint)", bits["unlisted"]))
	for noun, cases := range states {
		bits[noun+".*"] = "CASE status" + cases + " ELSE " + bits["unlisted"] + " END"
	}
	bits["kinds"] = "(VALUES " + strings.Join(rows, ", ") + ")"
	return braces.ReplaceAllStringFunc(journalSQL, func(name string) string { return bits[strings.Trim(name, "{}")] })
}

const journalSQL = `
WITH written AS (
	SELECT CASE k.source WHEN 1 THEN order_id WHEN 2 THEN payment_id WHEN 3 THEN incoming_event_id ELSE operation_id END AS id, bit_or(k.bit) AS bits, bit_or(l.bit) AS was
	FROM journal j JOIN {kinds} AS k(name, source, bit) ON k.name = j.kind
	LEFT JOIN {kinds} AS l(name, source, bit) ON l.name = CASE k.source WHEN 2 THEN 'payment.' || lower(j.detail ->> 'from') END
	GROUP BY 1
), called(entity, id, bits) AS (
	SELECT 'order', id, {order.awaiting_payment} | {order.*} | CASE WHEN paid_at IS NOT NULL THEN {order.paid} ELSE 0 END
		| CASE WHEN fulfilled_at IS NOT NULL THEN {order.fulfilled} ELSE 0 END | CASE WHEN needs_review THEN {order.flagged} ELSE 0 END FROM orders
	UNION ALL
	SELECT 'payment', id, {payment.created} | {payment.*} | CASE WHEN succeeded_at IS NOT NULL THEN {payment.succeeded} ELSE 0 END FROM payments
	UNION ALL
	SELECT 'event', id, {inbox.*} | CASE WHEN contradicts IS NULL THEN {inbox.received} ELSE 0 END FROM incoming_events
	UNION ALL
	SELECT 'operation', id, {operation.*} FROM operations WHERE status = 'FAILED' OR (status = 'COMPLETED' AND user_id = @system)
	UNION ALL
	SELECT 'order', order_id, {license.issued} | CASE WHEN bool_or(revoked_at IS NOT NULL) THEN {license.revoked} ELSE 0 END FROM licenses GROUP BY order_id
	UNION ALL
	SELECT 'order', order_id, CASE kind WHEN 'ACCRUAL' THEN {bonus.accrued} ELSE {bonus.reversed} END FROM bonus_entries
	UNION ALL
	SELECT 'order', order_id, {mail.sent} FROM notifications WHERE sent_at IS NOT NULL
	UNION ALL
	SELECT 'operation', operation_id, {refund.*} | CASE WHEN external THEN 0 ELSE {refund.created} END FROM refunds
	UNION ALL
	SELECT 'operation', operation_id, {shipment.*} | {shipment.created} | CASE WHEN delivered_at IS NOT NULL THEN {shipment.delivered} ELSE 0 END
		FROM shipments
)
SELECT c.entity || ' ' || c.id, 'has no journal row ' || (SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM {kinds} AS k(name, source, bit)
	WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) & k.bit <> 0)
FROM called c LEFT JOIN written w ON w.id = c.id
WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) <> 0`
