package invariant

import (
	"fmt"
	"regexp"
	"strings"
)

// kinds of journal rows that tables call for, by the column of the journal that names their entity. Refunds and shipments have no
// column of their own: their rows carry their operation.
const (
	orderKinds = `order.awaiting_payment order.paid order.fulfilled order.canceled order.expired order.partially_refunded order.refunded
		order.flagged license.issued license.revoked bonus.accrued bonus.reversed mail.sent`
	paymentKinds = `payment.created payment.submitting payment.pending payment.unknown payment.succeeded payment.canceled payment.failed
		payment.partially_refunded payment.refunded`
	otherKinds = `inbox.received inbox.applied inbox.no_change inbox.stale inbox.ignored inbox.quarantined operation.completed operation.failed
		refund.created refund.submitting refund.unknown refund.succeeded refund.failed
		shipment.created shipment.submitting shipment.unknown shipment.succeeded shipment.failed shipment.delivered`
)

// unlisted is the bit of a state without a kind: nothing ever writes it, so such a row is a violation.
const unlisted = 1 << 30

var braces = regexp.MustCompile(`\{[a-z_.* ]+\}`)

// journalComplete compares, for each entity, the set of kinds that its row calls for with the set that was written, as bits. Each
// part makes the latter in one pass over the journal, and for payments the set of states that they left as well, which must have
// been written, too. A COMPLETED local operation is proven by what it made: the order's own row.
func journalComplete() []string {
	return []string{
		journalPart("j.order_id", orderKinds, ordersCall),
		journalPart("j.payment_id", paymentKinds, paymentsCall),
		journalPart("coalesce(j.incoming_event_id, j.operation_id)", otherKinds, othersCall),
	}
}

// journalPart fills in the kinds. In the text {a.b} is the bit of a kind, {a.*} the bit of a kind a.<status> by the column status.
func journalPart(entity, kinds, calls string) string {
	bits, rows, states := map[string]string{"entity": entity, "left": "0"}, []string{}, map[string]string{}
	for name := range strings.FieldsSeq(kinds) {
		bit := fmt.Sprint(1 << len(rows))
		bits[name] = bit
		rows = append(rows, fmt.Sprintf("('%s', %s)", name, bit))
		noun, what, _ := strings.Cut(name, ".")
		states[noun] += fmt.Sprintf(" WHEN '%s' THEN %s", strings.ToUpper(what), bit)
	}
	bits["kinds"] = "(VALUES " + strings.Join(rows, ", ") + ")"
	for noun, cases := range states {
		bits[noun+".*"] = fmt.Sprintf("CASE status%s ELSE %d END", cases, unlisted)
	}
	if cases, ok := states["payment"]; ok {
		bits["left"] = "bit_or(CASE j.detail ->> 'from'" + cases + " END)"
	}
	return braces.ReplaceAllStringFunc(strings.Replace(journalSQL, "{calls}", calls, 1), func(name string) string { return bits[strings.Trim(name, "{}")] })
}

const journalSQL = `
WITH written AS (
	SELECT {entity} AS id, bit_or(k.bit) AS bits, {left} AS was FROM journal j JOIN {kinds} AS k(name, bit) ON k.name = j.kind GROUP BY 1
), called(entity, id, bits) AS ({calls})
SELECT DISTINCT c.entity || ' ' || c.id, 'has no journal row ' || coalesce((SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM {kinds} AS k(name, bit)
	WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) & k.bit <> 0), 'of its state')
FROM called c LEFT JOIN written w ON w.id = c.id
WHERE (c.bits | coalesce(w.was, 0)) & ~coalesce(w.bits, 0) <> 0`

const ordersCall = `
	SELECT 'order', id, {order.awaiting_payment} | {order.*} | CASE WHEN paid_at IS NOT NULL THEN {order.paid} ELSE 0 END
		| CASE WHEN fulfilled_at IS NOT NULL THEN {order.fulfilled} ELSE 0 END | CASE WHEN needs_review THEN {order.flagged} ELSE 0 END FROM orders
	UNION ALL
	SELECT 'order', order_id, {license.issued} | CASE WHEN revoked_at IS NOT NULL THEN {license.revoked} ELSE 0 END FROM licenses
	UNION ALL
	SELECT 'order', order_id, CASE kind WHEN 'ACCRUAL' THEN {bonus.accrued} ELSE {bonus.reversed} END FROM bonus_entries
	UNION ALL
	SELECT 'order', order_id, {mail.sent} FROM notifications WHERE sent_at IS NOT NULL`

const paymentsCall = `
	SELECT 'payment', id, {payment.created} | {payment.*} | CASE WHEN succeeded_at IS NOT NULL THEN {payment.succeeded} ELSE 0 END FROM payments`

const othersCall = `
	SELECT 'event', id, {inbox.*} | CASE WHEN contradicts IS NULL THEN {inbox.received} ELSE 0 END FROM incoming_events
	UNION ALL
	SELECT 'operation', id, {operation.*} FROM operations WHERE status = 'FAILED' OR (status = 'COMPLETED' AND user_id = @system)
	UNION ALL
	SELECT 'operation', operation_id, {refund.*} | CASE WHEN external THEN 0 ELSE {refund.created} END FROM refunds
	UNION ALL
	SELECT 'operation', operation_id, {shipment.*} | {shipment.created} | CASE WHEN delivered_at IS NOT NULL THEN {shipment.delivered} ELSE 0 END
		FROM shipments`
