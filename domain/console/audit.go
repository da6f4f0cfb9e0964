package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// AuditQuery is the address of the audit, as it came. Empty fields mean "all", the newest page, and 50 rows. A value that isn't known
// is VALIDATION_FAILED and names its parameter (person, action, object, outcome, from, to, cursor, limit).
type AuditQuery struct {
	Person   string // mail address
	Action   string
	Object   string // ID of what was acted on, or of its order
	Outcome  string // one of AuditOutcomes
	From, To string // days, "2026-11-30", both included, in Zone
	Cursor   string
	Limit    string
	Zone     *time.Location // nil means UTC
}

// AuditOutcomes lists what may have become of a press.
func AuditOutcomes() []string { return []string{"DONE", "REPLAYED", "REFUSED"} }

// AuditLine is one press of one button.
type AuditLine struct {
	ID          uuid.UUID
	At          time.Time
	Person      string // mail address; "" if the account is gone
	Role        string // at that time
	Action      string
	ObjectType  string
	ObjectID    string
	OrderID     uuid.NullUUID
	OrderNumber *int64
	Reason      string
	Outcome     string
	Code        string // why it was refused
	OperationID uuid.NullUUID
	TraceID     string
	Detail      map[string]any
	Rows        []AuditRow `db:"-"`
}

func (l AuditLine) place() (time.Time, uuid.UUID) { return l.At, l.ID }

// AuditRow is a row that the action touched: what differs before and after.
type AuditRow struct {
	Table, ID string
	Before    map[string]any // nil: made by it
	After     map[string]any
}

const auditColumns = `a.id, a.at, coalesce(u.email, ''), a.role, a.action, a.object_type, a.object_id, a.order_id, o.number, coalesce(a.reason, ''), a.outcome,
	coalesce(a.code, ''), a.operation_id, a.trace_id, a.detail`

const auditFrom = ` FROM audit_actions a LEFT JOIN users u ON u.id = a.user_id LEFT JOIN orders o ON o.id = a.order_id`

// where turns the filters into conditions.
func (q AuditQuery) where() (conditions []string, args []any, err error) {
	var broken []fault.Field
	add := func(condition string, arg any) {
		args = append(args, arg)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	for name, text := range map[string]string{"person": q.Person, "action": q.Action, "object": q.Object} {
		if !store.Storable(text) {
			broken = append(broken, fault.Field{Field: name, Rule: "text", Message: "can't be looked for"})
		}
	}
	if q.Person != "" {
		add("a.user_id = (SELECT id FROM users WHERE email = lower($%d))", q.Person)
	}
	if q.Action != "" {
		add("a.action = $%d", q.Action)
	}
	if id, err := uuid.Parse(q.Object); q.Object != "" && err == nil {
		add("(a.object_id = $%[1]d::uuid::text OR a.order_id = $%[1]d)", id)
	} else if q.Object != "" {
		add("a.object_id = $%d", q.Object)
	}
	if q.Outcome != "" {
		if !slices.Contains(AuditOutcomes(), q.Outcome) {
			broken = append(broken, fault.Field{Field: "outcome", Rule: "known", Message: "is no outcome"})
		}
		add("a.outcome = $%d", q.Outcome)
	}
	for _, day := range []struct {
		name, text, condition string
		plus                  int
	}{{"from", q.From, "a.at >= $%d", 0}, {"to", q.To, "a.at < $%d", 1}} {
		if day.text == "" {
			continue
		}
		zone := q.Zone
		if zone == nil {
			zone = time.UTC
		}
		at, err := time.ParseInLocation(time.DateOnly, day.text, zone)
		if err != nil {
			broken = append(broken, fault.Field{Field: day.name, Rule: "date", Message: "is no day like 2026-11-30"})
		}
		add(day.condition, at.AddDate(0, 0, day.plus))
	}
	if len(broken) > 0 {
		return nil, nil, fault.Validation(broken...)
	}
	return conditions, args, nil
}

// Audit lists what people pressed, newest first, with the rows that each press touched.
func Audit(ctx context.Context, q store.Querier, query AuditQuery) (Page[AuditLine], error) {
	conditions, args, err := query.where()
	if err != nil {
		return Page[AuditLine]{}, err
	}
	_, _, limit, c, err := list{}.where(Query{Cursor: query.Cursor, Limit: query.Limit})
	if err != nil {
		return Page[AuditLine]{}, err
	}
	direction := "DESC"
	if c != nil {
		than := "<"
		if c.newer {
			than, direction = ">", "ASC"
		}
		args = append(args, c.at, c.id)
		conditions = append(conditions, fmt.Sprintf("(a.at, a.id) %s ($%d, $%d)", than, len(args)-1, len(args)))
	}
	lines, err := auditLines(ctx, q, conditions, args, direction, limit+1)
	if err != nil {
		return Page[AuditLine]{}, err
	}
	more := len(lines) > limit
	lines = lines[:min(len(lines), limit)]
	if c != nil && c.newer {
		if !more { // the top is reached: show the first page whole
			query.Cursor = ""
			return Audit(ctx, q, query)
		}
		slices.Reverse(lines)
		more = true
	}
	return paged(lines, c != nil, more), touchedRows(ctx, q, lines)
}

// AuditSet lists everything that a filter matches, at most MaxCount, newest first, without rows: for an export.
func AuditSet(ctx context.Context, q store.Querier, query AuditQuery) ([]AuditLine, error) {
	conditions, args, err := query.where()
	if err != nil {
		return nil, err
	}
	return auditLines(ctx, q, conditions, args, "DESC", MaxCount)
}

func auditLines(ctx context.Context, q store.Querier, conditions []string, args []any, direction string, limit int) ([]AuditLine, error) {
	sql := "SELECT " + auditColumns + auditFrom
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	rows, err := q.Query(ctx, fmt.Sprintf("%s ORDER BY a.at %s, a.id %s LIMIT %d", sql, direction, direction, limit), args...)
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[AuditLine])
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	return lines, nil
}

func touchedRows(ctx context.Context, q store.Querier, lines []AuditLine) error {
	at := map[uuid.UUID]int{}
	var ids []uuid.UUID
	for i, l := range lines {
		at[l.ID], ids = i, append(ids, l.ID)
	}
	rows, err := q.Query(ctx, `SELECT action_id, table_name, row_id, before, after FROM audit_rows WHERE action_id = ANY($1) ORDER BY action_id, line`, ids)
	if err != nil {
		return fmt.Errorf("read rows of the audit: %w", err)
	}
	var id uuid.UUID
	var r AuditRow
	var before, after []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &r.Table, &r.ID, &before, &after}, func() error {
		row := AuditRow{Table: r.Table, ID: r.ID}
		err := errors.Join(jsonInto(before, &row.Before), jsonInto(after, &row.After))
		lines[at[id]].Rows = append(lines[at[id]].Rows, row)
		return err
	})
	if err != nil {
		return fmt.Errorf("read rows of the audit: %w", err)
	}
	return nil
}

func jsonInto(text []byte, into *map[string]any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read JSON of the audit: %w", err)
	}
	return nil
}

// Pressed is what became of the presses of one form: the line of what was done, and how often it was pressed again. ok is false while
// nothing was done.
func Pressed(ctx context.Context, q store.Querier, operationID uuid.UUID) (line AuditLine, again int, ok bool, err error) {
	lines, err := auditLines(ctx, q, []string{"a.operation_id = $1", "a.outcome = 'DONE'"}, []any{operationID}, "ASC", 1)
	if err != nil || len(lines) == 0 {
		return line, 0, false, err
	}
	line = lines[0]
	err = q.QueryRow(ctx, `SELECT count(*) FROM audit_actions WHERE object_id = $1 AND at >= $2 AND operation_id = $3 AND outcome = 'REPLAYED'`,
		line.ObjectID, line.At, operationID).Scan(&again)
	if err != nil {
		return line, 0, false, fmt.Errorf("count presses: %w", err)
	}
	return line, again, true, nil
}
