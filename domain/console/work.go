package console

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// WorkQuery is the address of a queue's page, as it came. Empty fields mean "all", the oldest page, and 50 rows. A value that isn't
// known is VALIDATION_FAILED and names its parameter (state, assignee, type, error, tag, cursor, limit).
type WorkQuery struct {
	State    string
	Type     string // equal to Item.Label
	Error    string // equal to Group.Error
	Assignee string // "me": what Me has taken on
	Tag      string
	Cursor   string
	Limit    string
	Me       uuid.UUID
	Keys     []uuid.UUID // only these things; none means "all"
}

// WorkItem is a thing in a queue.
type WorkItem struct {
	Kind        string // payment, refund, shipment, operation, event, outbox, order, duplicate, job, approval
	ID          string
	Key         uuid.UUID // its place among things of one moment
	At          time.Time // its place in the queue: when it began, e.g. its order was placed
	Since       time.Time // when it came into the queue
	OrderID     uuid.NullUUID
	OrderNumber *int64
	Label       string // its type or reason
	State       string
	Amount      *money.Amount
	NextAt      *time.Time // when it is looked at again
	Attempts    int
	Said        string     // the last error or answer: its first line, masked
	Who         string     // holds or wanted it; masked if it is an address of a customer
	Until       *time.Time // end of its lease
	SentAt      *time.Time // since when a call may have reached the outside
	More        map[string]any
	Assignee    string // mail address
	Ticket      string
	Tags        []string
}

func (i WorkItem) place() (time.Time, uuid.UUID) { return i.At, i.Key }

// Subject is what people's words about the thing hang on.
func (i WorkItem) Subject() uuid.UUID {
	if i.OrderID.Valid {
		return i.OrderID.UUID
	}
	return i.Key
}

// Group is a number of failures of one kind.
type Group struct {
	Label       string
	Error       string // the first line, with numbers and IDs as #
	Count       int
	First, Last time.Time
}

func findQueue(name string) (queue, error) {
	for _, q := range queues() {
		if q.name == name {
			return q, nil
		}
	}
	return queue{}, fault.Missing("queue")
}

// WorkActions lists what the page of a queue offers.
func WorkActions(name string) []string { q, _ := findQueue(name); return q.actions }

// WorkStates lists what the state filter of a queue may name.
func WorkStates(name string) []string { q, _ := findQueue(name); return q.states }

// Work lists a queue, the longest waiting first. NOT_FOUND if there is no such queue.
func Work(ctx context.Context, q store.Querier, name string, query WorkQuery) (Page[WorkItem], error) {
	w, err := newWork(name, query)
	if err != nil {
		return Page[WorkItem]{}, err
	}
	back := w.cursor != nil && !w.cursor.newer
	items, err := w.list(ctx, q, w.limit+1, back)
	if err != nil {
		return Page[WorkItem]{}, err
	}
	more := len(items) > w.limit
	items = items[:min(len(items), w.limit)]
	if !back {
		return pagedForward(items, w.cursor != nil, more), nil
	}
	if !more { // the top is reached: show the first page whole
		query.Cursor = ""
		return Work(ctx, q, name, query)
	}
	slices.Reverse(items)
	return pagedForward(items, true, true), nil
}

// pagedForward is paged for a list that begins with the oldest.
func pagedForward(items []WorkItem, older, newer bool) Page[WorkItem] {
	p := Page[WorkItem]{Rows: items}
	if len(items) == 0 {
		return p
	}
	if older {
		p.Older = cursor{at: items[0].At, id: items[0].Key}.String()
	}
	if newer {
		last := items[len(items)-1]
		p.Newer = cursor{newer: true, at: last.At, id: last.Key}.String()
	}
	return p
}

// WorkSet lists everything that a filter matches, at most MaxCount: for an export, or a batch that freezes it.
func WorkSet(ctx context.Context, q store.Querier, name string, query WorkQuery) ([]WorkItem, error) {
	query.Cursor, query.Limit = "", ""
	w, err := newWork(name, query)
	if err != nil {
		return nil, err
	}
	return w.list(ctx, q, MaxCount, false)
}

// WorkGroups counts failures of one kind, the most first; at most 100 kinds of the oldest MaxCount things.
func WorkGroups(ctx context.Context, q store.Querier, name string, query WorkQuery) ([]Group, error) {
	w, err := newWork(name, query)
	if err != nil {
		return nil, err
	}
	sql := `SELECT coalesce(label, ''), error, count(*), min(at), max(at) FROM (` + w.union(MaxCount, false) + `) AS r GROUP BY 1, 2 ORDER BY 3 DESC, 4 LIMIT 100`
	rows, err := q.Query(ctx, sql, w.args...)
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", name, err)
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Group])
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", name, err)
	}
	return groups, nil
}

// work is a query in the making.
type work struct {
	queue
	query  WorkQuery
	cursor *cursor
	limit  int
	args   []any
}

func newWork(name string, query WorkQuery) (w work, err error) {
	if w.queue, err = findQueue(name); err != nil {
		return w, err
	}
	w.query = query
	var broken []fault.Field
	unknown := func(parameter, rule, message string) {
		broken = append(broken, fault.Field{Field: parameter, Rule: rule, Message: message})
	}
	if query.State != "" && !slices.Contains(w.states, query.State) {
		unknown("state", "known", "is no state of this queue")
	}
	if query.Assignee != "" && query.Assignee != "me" {
		unknown("assignee", "me", "can only be me")
	}
	for name, text := range map[string]string{"type": query.Type, "error": query.Error, "tag": query.Tag} {
		if !store.Storable(text) {
			unknown(name, "text", "can't be looked for")
		}
	}
	if w.limit, err = parseLimit(query.Limit); err != nil {
		unknown("limit", "25|50|100|200", "must be 25, 50, 100 or 200")
	}
	if query.Cursor != "" {
		c, err := parseCursor(query.Cursor)
		if err != nil {
			unknown("cursor", "cursor", "is no place in this list")
		}
		w.cursor = &c
	}
	if len(broken) > 0 {
		return w, fault.Validation(broken...)
	}
	return w, nil
}

// fingerprint is the first line of an error without what differs from case to case: addresses, IDs, numbers.
const fingerprint = `left(regexp_replace(regexp_replace(split_part(coalesce(%s, ''), E'\n', 1), '[^\s<>"''(),:;=]+@[^\s<>"''(),:;=]+', '#', 'g'),
	'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|[0-9]+', '#', 'g'), 200)`

// arg adds a parameter and returns its name.
func (w *work) arg(value any) string {
	w.args = append(w.args, value)
	return "$" + strconv.Itoa(len(w.args))
}

// conditions of one source.
func (w *work) conditions(s source, back bool) string {
	all := []string{s.where, s.awake()}
	if w.query.State != "" {
		all = append(all, s.state+" = "+w.arg(w.query.State))
	}
	if w.query.Type != "" {
		all = append(all, s.label+" = "+w.arg(w.query.Type))
	}
	if w.query.Error != "" {
		all = append(all, fmt.Sprintf(fingerprint, null(s.said, "text"))+" = "+w.arg(w.query.Error))
	}
	of := "EXISTS (SELECT FROM cases c WHERE c.object_id = " + s.subject()
	if w.query.Tag != "" {
		all = append(all, of+" AND "+w.arg(w.query.Tag)+" = ANY(c.tags))")
	}
	if w.query.Assignee != "" {
		all = append(all, of+" AND c.assignee = "+w.arg(w.query.Me)+")")
	}
	if len(w.query.Keys) > 0 {
		all = append(all, s.uuid()+" = ANY("+w.arg(w.query.Keys)+")")
	}
	if w.cursor != nil {
		than := ">"
		if back {
			than = "<"
		}
		all = append(all, fmt.Sprintf("(%s, %s) %s (%s, %s)", s.at, s.uuid(), than, w.arg(w.cursor.at), w.arg(w.cursor.id)))
	}
	return strings.Join(all, " AND ")
}

func null(expression, kind string) string {
	if expression == "" {
		return "NULL::" + kind
	}
	return "(" + expression + ")::" + kind
}

// union reads every source from its end.
func (w *work) union(limit int, back bool) string {
	direction := ""
	if back {
		direction = "DESC"
	}
	var parts []string
	for _, s := range w.sources {
		parts = append(parts, fmt.Sprintf(`(SELECT '%s'::text AS kind, %s AS object, %s AS key, %s AS at, %s AS since, %s AS order_id, %s AS label, %s AS state, %s AS minor, %s AS money,
			%s AS next, %s AS attempts, %s AS said, %s AS who, %s AS until, %s AS sent, %s AS more, %s AS error FROM %s %s WHERE %s ORDER BY %s %s, %s %s LIMIT %d)`,
			s.kind, null(s.id, "text"), s.uuid(), s.at, s.entered(), null(s.order, "uuid"), null(s.label, "text"), null(s.state, "text"), null(s.minor, "bigint"),
			null(s.money, "text"), null(s.next, "timestamptz"), null(s.attempts, "int"), null(s.said, "text"), null(s.who, "text"), null(s.until, "timestamptz"),
			null(s.sent, "timestamptz"), null(s.more, "jsonb"), fmt.Sprintf(fingerprint, null(s.said, "text")), s.from, s.joins, w.conditions(s, back),
			s.at, direction, s.id, direction, limit))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return fmt.Sprintf("%s ORDER BY at %s, key %s LIMIT %d", strings.Join(parts, " UNION ALL "), direction, direction, limit)
}

// list is union with the orders and people's words.
func (w *work) list(ctx context.Context, q store.Querier, limit int, back bool) ([]WorkItem, error) {
	direction := ""
	if back {
		direction = "DESC"
	}
	sql := fmt.Sprintf(`SELECT r.kind, r.object, r.key, r.at, r.since, r.order_id, o.number, coalesce(r.label, ''), coalesce(r.state, ''), r.minor, r.money, r.next,
			coalesce(r.attempts, 0), coalesce(r.said, ''), coalesce(r.who, ''), r.until, r.sent, r.more, coalesce(u.email, ''), coalesce(c.ticket, ''), coalesce(c.tags, '{}')
		FROM (%s) AS r LEFT JOIN orders o ON o.id = r.order_id LEFT JOIN cases c ON c.object_id = coalesce(r.order_id, r.key) LEFT JOIN users u ON u.id = c.assignee
		ORDER BY r.at %s, r.key %s`, w.union(limit, back), direction, direction)
	rows, err := q.Query(ctx, sql, w.args...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", w.name, err)
	}
	items, err := pgx.CollectRows(rows, scanWork)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", w.name, err)
	}
	return items, nil
}

func scanWork(row pgx.CollectableRow) (i WorkItem, err error) {
	var minor *int64
	var code *string
	var more []byte
	err = row.Scan(&i.Kind, &i.ID, &i.Key, &i.At, &i.Since, &i.OrderID, &i.OrderNumber, &i.Label, &i.State, &minor, &code, &i.NextAt, &i.Attempts, &i.Said, &i.Who,
		&i.Until, &i.SentAt, &more, &i.Assignee, &i.Ticket, &i.Tags)
	if err == nil && more != nil {
		err = json.Unmarshal(more, &i.More)
	}
	i.Said, _, _ = strings.Cut(maskText(i.Said), "\n")
	if minor != nil && code != nil {
		i.Amount = &money.Amount{Minor: *minor, Currency: *code}
	}
	return i, reading("thing in a queue", err)
}
