package console

// Kinds lists what is searched for, in the order in which it is shown.
func Kinds() []string {
	return []string{
		"order", "operation", "key", "payment", "provider_payment", "refund", "shipment", "event", "outbox", "trace", "job", "lead", "cart", "license", "user",
	}
}

// finder looks for one kind of ID. Its SQL returns rows of hitSQL's source: (order_id, operation_id, event_id).
type finder struct {
	kind  string
	takes func(text string) (arg any, ok bool)
	sql   string
}

// finders in the order in which they win when several lead to one intent. Each uses an index.
var finders = []finder{ //nolint:gochecknoglobals // a table
	{"order", isUUID, `SELECT id, NULL::uuid, NULL::uuid FROM orders WHERE id = $1 OR operation_id = $1`},
	{"order", isNumber, `SELECT id, NULL::uuid, NULL::uuid FROM orders WHERE number = $1`},
	{"operation", isUUID, `SELECT order_id, id, NULL::uuid FROM operations WHERE id = $1`},
	{"payment", isUUID, `SELECT order_id, operation_id, NULL::uuid FROM payments WHERE id = $1`},
	{"refund", isUUID, `SELECT order_id, operation_id, NULL::uuid FROM refunds WHERE id = $1`},
	{"shipment", isUUID, `SELECT order_id, operation_id, NULL::uuid FROM shipments WHERE id = $1`},
	{"event", isUUID, `SELECT order_id, NULL::uuid, id FROM incoming_events WHERE id = $1`},
	{"lead", isUUID, `SELECT NULL::uuid, operation_id, NULL::uuid FROM leads WHERE id = $1`},
	{"cart", isUUID, `SELECT id, NULL::uuid, NULL::uuid FROM orders WHERE cart_id = $1`},
	{"outbox", isUUID, `SELECT order_id, NULL::uuid, NULL::uuid FROM outbox_events WHERE id = $1`},
	{"key", isText, `SELECT order_id, id, NULL::uuid FROM operations WHERE key = $1 ORDER BY created_at DESC`},
	{"provider_payment", isText, `SELECT order_id, operation_id, NULL::uuid FROM payments WHERE provider_payment_id = $1`},
	{"refund", isText, `SELECT order_id, operation_id, NULL::uuid FROM refunds WHERE provider_refund_id = $1`},
	{"shipment", isText, `SELECT order_id, operation_id, NULL::uuid FROM shipments WHERE provider_shipment_id = $1 OR tracking = $1`},
	{"license", isText, `SELECT order_id, NULL::uuid, NULL::uuid FROM licenses WHERE license_key = upper($1)`},
	{"event", isText, `SELECT order_id, NULL::uuid, id FROM incoming_events WHERE event_id = $1 AND contradicts IS NULL
		UNION ALL SELECT f.order_id, NULL::uuid, f.id FROM incoming_events e JOIN incoming_events f ON f.id = e.contradicts
		WHERE e.event_id = $1 AND e.contradicts IS NOT NULL`},
	{"trace", isTrace, ofJournal + `j.trace_id = $1`},
	{"job", isNumber, ofJournal + `j.job_id = $1`},
	{"user", isEmail, `SELECT id, NULL::uuid, NULL::uuid FROM orders WHERE email = $1
		UNION SELECT o.id, NULL::uuid, NULL::uuid FROM users u JOIN orders o ON o.user_id = u.id WHERE u.email = $1`},
}

// ofJournal leads from journal rows to what they are about, also where they name only an operation or event.
const ofJournal = `SELECT DISTINCT coalesce(j.order_id, op.order_id, e.order_id), j.operation_id, j.incoming_event_id
	FROM journal j LEFT JOIN operations op ON op.id = j.operation_id LEFT JOIN incoming_events e ON e.id = j.incoming_event_id WHERE `
