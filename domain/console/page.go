package console

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Query is a list's address, as it came: every field may hold anything. Empty fields mean "all", the newest page, and 50 rows.
// A value that isn't known is VALIDATION_FAILED and names its parameter (state, type, provider, cursor, limit): a list never
// shows more than was asked for.
type Query struct {
	State    string // of the rows; each list says which it knows
	Type     string
	Provider string
	Cursor   string // from Page.Newer or Page.Older
	Limit    string // 25, 50, 100 or 200
}

// Page is a part of a list, newest first.
type Page[T any] struct {
	Rows  []T
	Newer string // cursor of the page before; "" means that this is the first
	Older string // cursor of the page after; "" means that this is the last
}

// keyed rows have the place in their list by which pages are cut.
type keyed interface {
	place() (time.Time, uuid.UUID)
}

// cursor is a place in a list and the direction in which to read on from it.
type cursor struct {
	newer bool
	at    time.Time
	id    uuid.UUID
}

func (c cursor) String() string {
	direction := "o"
	if c.newer {
		direction = "n"
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s|%d|%s", direction, c.at.UnixMicro(), c.id))
}

var (
	errCursor = errors.New("not a cursor")
	errLimit  = errors.New("not a page size")
)

func parseCursor(text string) (c cursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "|")
	if err != nil || len(parts) != 3 || (parts[0] != "n" && parts[0] != "o") {
		return c, errCursor
	}
	micros, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || micros < 0 || micros > farFuture {
		return c, errCursor
	}
	if c.id, err = uuid.Parse(parts[2]); err != nil {
		return c, errCursor
	}
	c.newer, c.at = parts[0] == "n", time.UnixMicro(micros).UTC()
	return c, nil
}

// farFuture is the year 9999 in microseconds: a cursor beyond it would be no timestamp to Postgres.
const farFuture = 253402300799_000000

const defaultLimit = 50

// list is one kind of list: SQL fragments and what a Query may name.
type list struct {
	columns   string
	from      string
	at, id    string            // sort columns; there must be an index on both
	states    map[string]string // state → its condition. Literal, so that partial indexes apply to prepared statements too
	types     []string          // the known types; nil means any
	typeIs    string            // column of the type
	providers string            // column of the provider; "" if the list has none
}

// where turns the filters into conditions, or names every parameter with an unknown value.
func (l list) where(q Query) (conditions []string, args []any, limit int, c *cursor, err error) {
	var broken []fault.Field
	unknown := func(parameter, rule, message string) {
		broken = append(broken, fault.Field{Field: parameter, Rule: rule, Message: message})
	}
	if q.State != "" {
		if condition, ok := l.states[q.State]; ok {
			conditions = append(conditions, condition)
		} else {
			unknown("state", "known", "is no state of this list")
		}
	}
	if q.Type != "" {
		if l.types != nil && !slices.Contains(l.types, q.Type) || !store.Storable(q.Type) {
			unknown("type", "known", "is no type of this list")
		}
		args = append(args, q.Type)
		conditions = append(conditions, fmt.Sprintf("%s = $%d", l.typeIs, len(args)))
	}
	if q.Provider != "" {
		if l.providers == "" || !slices.Contains(Providers(), q.Provider) {
			unknown("provider", "known", "is no provider of this list")
		}
		args = append(args, q.Provider)
		conditions = append(conditions, fmt.Sprintf("%s = $%d", l.providers, len(args)))
	}
	if limit, err = parseLimit(q.Limit); err != nil {
		unknown("limit", "25|50|100|200", "must be 25, 50, 100 or 200")
	}
	if q.Cursor != "" {
		parsed, err := parseCursor(q.Cursor)
		if err != nil {
			unknown("cursor", "cursor", "is no place in this list")
		}
		c = &parsed
	}
	if len(broken) > 0 {
		return nil, nil, 0, nil, fault.Validation(broken...)
	}
	return conditions, args, limit, c, nil
}

func parseLimit(text string) (int, error) {
	if text == "" {
		return defaultLimit, nil
	}
	for _, n := range []int{25, 50, 100, 200} {
		if strconv.Itoa(n) == text {
			return n, nil
		}
	}
	return 0, errLimit
}

// read fetches one page: limit + 1 rows tell whether there are more.
func read[T keyed](ctx context.Context, q store.Querier, l list, query Query, scan pgx.RowToFunc[T]) (Page[T], error) {
	conditions, args, limit, c, err := l.where(query)
	if err != nil {
		return Page[T]{}, err
	}
	direction := "DESC"
	if c != nil {
		than := "<"
		if c.newer {
			than, direction = ">", "ASC"
		}
		args = append(args, c.at, c.id)
		conditions = append(conditions, fmt.Sprintf("(%s, %s) %s ($%d, $%d)", l.at, l.id, than, len(args)-1, len(args)))
	}
	sql := "SELECT " + l.columns + " FROM " + l.from
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	sql += fmt.Sprintf(" ORDER BY %s %s, %s %s LIMIT %d", l.at, direction, l.id, direction, limit+1)
	found, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Page[T]{}, fmt.Errorf("read list: %w", err)
	}
	rows, err := pgx.CollectRows(found, scan)
	if err != nil {
		return Page[T]{}, fmt.Errorf("read list: %w", err)
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	if c != nil && c.newer {
		if !more { // the top is reached: show the first page whole
			query.Cursor = ""
			return read(ctx, q, l, query, scan)
		}
		slices.Reverse(rows)
		return paged(rows, true, true), nil
	}
	return paged(rows, c != nil, more), nil
}

func paged[T keyed](rows []T, newer, older bool) Page[T] {
	p := Page[T]{Rows: rows}
	if len(rows) == 0 {
		return p
	}
	if newer {
		at, id := rows[0].place()
		p.Newer = cursor{newer: true, at: at, id: id}.String()
	}
	if older {
		at, id := rows[len(rows)-1].place()
		p.Older = cursor{at: at, id: id}.String()
	}
	return p
}
