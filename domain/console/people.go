package console

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Press is one press of a console's button.
type Press struct {
	ID          uuid.UUID
	At          time.Time
	UserID      uuid.UUID
	Email       string // of the staff: not masked
	Role        string // at that time
	Action      string
	ObjectType  string
	ObjectID    string
	Reason      string // masked
	Outcome     string // DONE, REPLAYED or REFUSED
	Code        string // why it was refused
	OperationID uuid.NullUUID
	TraceID     string
}

// Look is a question to the outside that somebody asked for.
type Look struct {
	RunID      uuid.UUID
	Email      string // who asked; "" for the schedule
	At         time.Time
	ObjectType string
	ObjectID   uuid.UUID
	Before     string
	After      string // "" until it is done
	Result     string // CHANGED, UNCHANGED, UNREACHABLE or SKIPPED; "" until it is done
	DoneAt     *time.Time
	TraceID    string
}

// Note is what somebody wrote down.
type Note struct {
	ID   uuid.UUID
	At   time.Time
	By   string
	Text string // masked
}

// Twin is an order of the same shopper that asks for the same, under another key.
type Twin struct {
	OrderID   uuid.UUID
	Number    int64
	Status    string
	CreatedAt time.Time
	Earlier   bool   // it came first
	Verdict   string // technical_retry or on_purpose; "" until somebody has said
	Note      string // masked
	Key       string // of its operation; "" once retention has removed that
}

// partsOfIntent are the IDs of everything that an operator may have pressed on. $1 is the order or NULL, $2 the operation.
const partsOfIntent = `SELECT $1::uuid UNION SELECT $2::uuid UNION SELECT id FROM leads WHERE operation_id = $2
	UNION SELECT id FROM operations WHERE order_id = $1 UNION SELECT id FROM payments WHERE order_id = $1
	UNION SELECT id FROM refunds WHERE order_id = $1 UNION SELECT id FROM shipments WHERE order_id = $1
	UNION SELECT id FROM outbox_events WHERE order_id = $1 UNION SELECT id FROM incoming_events WHERE order_id = $1`

const pressesSQL = `SELECT a.id, a.at, a.user_id, coalesce(u.email, ''), a.role, a.action, a.object_type, a.object_id, coalesce(a.reason, ''),
		a.outcome, coalesce(a.code, ''), a.operation_id, a.trace_id
	FROM (SELECT id FROM audit_actions WHERE order_id = $1
		UNION SELECT id FROM audit_actions WHERE object_id IN (SELECT p.id::text FROM (` + partsOfIntent + `) AS p(id) WHERE p.id IS NOT NULL)) AS mine
	JOIN audit_actions a ON a.id = mine.id LEFT JOIN users u ON u.id = a.user_id ORDER BY a.at, a.id LIMIT 500`

const looksSQL = `SELECT i.run_id, coalesce(u.email, ''), r.created_at, i.object_type, i.object_id, i.before, coalesce(i.after, ''), coalesce(i.result, ''),
		i.done_at, r.trace_id
	FROM (` + partsOfIntent + `) AS p(id) JOIN reconcile_items i ON i.object_id = p.id JOIN reconcile_runs r ON r.id = i.run_id
	LEFT JOIN users u ON u.id = r.started_by ORDER BY r.created_at, i.object_id LIMIT 500`

const twinsSQL = `SELECT o.id, o.number, o.status, o.created_at, t.earlier, coalesce(t.verdict, ''), coalesce(t.note, ''), coalesce(op.key, '')
	FROM (SELECT earlier_id, true, verdict, note FROM possible_duplicates WHERE order_id = $1
		UNION ALL SELECT order_id, false, verdict, note FROM possible_duplicates WHERE earlier_id = $1) AS t(id, earlier, verdict, note)
	JOIN orders o ON o.id = t.id LEFT JOIN operations op ON op.id = o.operation_id ORDER BY o.created_at LIMIT 20`

const notesSQL = `SELECT n.id, n.at, coalesce(u.email, ''), n.text FROM case_notes n LEFT JOIN users u ON u.id = n.user_id
	WHERE n.object_id = coalesce($1::uuid, $2::uuid) ORDER BY n.at, n.id LIMIT 500`

// gatherPeople queues what people did about the intent, and what its first request asked for.
func (in *Intent) gatherPeople(b *pgx.Batch, orderID uuid.NullUUID, rootID uuid.UUID) {
	into(b, &in.Presses, func(row pgx.CollectableRow) (Press, error) {
		p, err := pgx.RowToStructByPos[Press](row)
		p.Reason = maskText(p.Reason)
		return p, err
	}, pressesSQL, orderID, rootID)
	into(b, &in.Looks, pgx.RowToStructByPos[Look], looksSQL, orderID, rootID)
	into(b, &in.Notes, func(row pgx.CollectableRow) (Note, error) {
		n, err := pgx.RowToStructByPos[Note](row)
		n.Text = maskText(n.Text)
		return n, err
	}, notesSQL, orderID, rootID)
	into(b, &in.Twins, func(row pgx.CollectableRow) (Twin, error) {
		t, err := pgx.RowToStructByPos[Twin](row)
		t.Note = maskText(t.Note)
		return t, err
	}, twinsSQL, orderID)
	b.Queue(`SELECT id, operation_id, created_at FROM leads WHERE operation_id = $1`, rootID).Query(func(rows pgx.Rows) error {
		leads, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Lead])
		if len(leads) > 0 {
			in.Lead = &leads[0]
		}
		return reading("enquiry", err)
	})
	var raw []json.RawMessage
	b.Queue(`SELECT request_fields FROM operations WHERE id = $1 AND request_fields IS NOT NULL`, rootID).Query(func(rows pgx.Rows) (err error) {
		if raw, err = pgx.CollectRows(rows, pgx.RowTo[json.RawMessage]); err != nil || len(raw) == 0 {
			return reading("request", err)
		}
		return reading("request", json.Unmarshal(raw[0], &in.fields))
	})
}
