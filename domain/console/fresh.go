package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"onefold/domain/store"
)

// Now is the moment by the database's clock, which dates every row of a list.
func Now(ctx context.Context, q store.Querier) (at time.Time, err error) {
	if err = q.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at); err != nil {
		return at, fmt.Errorf("read the clock: %w", err)
	}
	return at, nil
}

// WorkSince counts what a queue's filter matches and what came into the queue after a moment of Now: because it happened then, or
// because it has waited for so long, or because it was put off until then. It looks at the latest MaxCount of each kind. A page's
// cursor and limit don't matter. NOT_FOUND if there is no such queue.
func WorkSince(ctx context.Context, q store.Querier, name string, query WorkQuery, since time.Time) (n int, err error) {
	query.Cursor, query.Limit = "", ""
	w, err := newWork(name, query)
	if err != nil {
		return 0, err
	}
	var parts []string
	for _, s := range w.sources {
		parts = append(parts, fmt.Sprintf("(SELECT greatest(%s, (SELECT c.snoozed_until FROM cases c WHERE c.object_id = %s)) AS came FROM %s %s WHERE %s ORDER BY %s DESC, %s DESC LIMIT %d)",
			s.entered(), s.subject(), s.from, s.joins, w.conditions(s, false), s.at, s.id, MaxCount))
	}
	sql := "SELECT count(*) FROM (" + strings.Join(parts, " UNION ALL ") + ") AS r WHERE came > " + w.arg(since)
	if err = q.QueryRow(ctx, sql, w.args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what is new of %s: %w", name, err)
	}
	return n, nil
}

// entered is since when a thing is in its queue.
func (s source) entered() string {
	if s.came == "" {
		return s.at
	}
	return "coalesce(" + s.came + ", " + s.at + ")"
}
