package invariant

import (
	"fmt"
	"regexp"
	"strings"
)

// kinds lists the journal rows that a table can call for, each with the column of the journal that names its entity. Refunds and
// shipments have no column of their own: their rows carry their operation.
func kinds() []struct{ name, column string } {
	var list []struct{ name, column string }
	for _, k := range []struct{ noun, column, what string }{
		{"order", "order_id", "awaiting_payment paid fulfilled canceled expired partially_refunded refunded flagged"},
		{"payment", "payment_id", "created submitting pending unknown succeeded canceled failed partially_refunded refunded"},
		{"inbox", "incoming_event_id", "received applied no_change stale ignored quarantined"},
		{"operation", "operation_id", "completed failed"},
		{"refund", "operation_id", "created submitting unknown succeeded failed"},
		{"shipment", "operation_id", "created submitting unknown succeeded failed"},
		{"license", "order_id", "issued"},
		{"bonus", "order_id", "accrued"},
		{"mail", "order_id", "sent"},
	} {
		for what := range strings.FieldsSeq(k.what) {
			list = append(list, struct{ name, column string }{k.noun + "." + what, k.column})
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
		rows = append(rows, fmt.Sprintf("('%s', '%s', %s::bigint)", k.name, k.column, bit))
		noun, what, _ := strings.Cut(k.name, ".")
		states[noun] += fmt.Sprintf(" WHEN '%s' THEN %s", strings.ToUpper(what), bit)
	}
	rows = append(rows, fmt.Sprintf("('of its state', '', %s::bigint)", bits["unlisted"]))
	for noun, cases := range states {
		bits[noun+".*"] = "CASE status" + cases + " ELSE " + bits["unlisted"] + " END"
	}
	bits["kinds"] = "(VALUES " + strings.Join(rows, ", ") + ")"
	return braces.ReplaceAllStringFunc(journalSQL, func(name string) string { return bits[strings.Trim(name, "{}")] })
}

const journalSQL = `
WITH written AS (
	SELECT CASE k.source WHEN 'order_id' THEN order_id WHEN 'payment_id' THEN payment_id WHEN 'incoming_event_id' THEN incoming_event_id
		ELSE operation_id END AS id, bit_or(k.bit) AS bits, bit_or(l.bit) AS was
	FROM journal j JOIN {kinds} AS k(name, source, bit) ON k.name = j.kind
	LEFT JOIN {kinds} AS l(name, source, bit) ON l.name = CASE k.source WHEN 'payment_id' THEN 'payment.' || lower(j.detail ->> 'from') END
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
	SELECT DISTINCT 'order', order_id, {license.issued} FROM licenses
	UNION ALL
	SELECT 'order', order_id, {bonus.accrued} FROM bonus_entries WHERE kind = 'ACCRUAL'
	UNION ALL
	SELECT 'order', order_id, {mail.sent} FROM notifications WHERE sent_at IS NOT NULL
	UNION ALL
	SELECT 'operation', operation_id, {refund.*} FROM refunds
	UNION ALL
	SELECT 'operation', operation_id, {shipment.*} FROM shipments
)
SELECT c.entity || ' ' || c.id, 'has no journal row ' || (SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM {kinds} AS k(name, source, bit)
	WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) & k.bit <> 0)
FROM called c LEFT JOIN written w ON w.id = c.id
WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) <> 0`
