package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Run is a run as people see it. Its counts are final when FinishedAt is set; before, Items say more.
type Run struct {
	ID          uuid.UUID  `json:"runId"`
	By          uuid.UUID  `json:"-"`
	ByEmail     string     `json:"by"` // "" for the schedule
	Scope       Scope      `json:"scope"`
	Kind        string     `json:"kind,omitempty"` // "" for all
	Total       int        `json:"total"`
	Done        int        `json:"done"`
	Changed     int        `json:"changed"`
	Unchanged   int        `json:"unchanged"`
	Unreachable int        `json:"unreachable"`
	Skipped     int        `json:"skipped"`
	CreatedAt   time.Time  `json:"createdAt"`
	FinishedAt  *time.Time `json:"finishedAt,omitempty"`
	TraceID     string     `json:"-"`
}

// Item is one object of a run.
type Item struct {
	Kind       string     `json:"kind"`
	ObjectID   uuid.UUID  `json:"id"`
	OrderID    uuid.UUID  `json:"orderId"`
	Before     string     `json:"before"`
	After      string     `json:"after,omitempty"`
	Result     string     `json:"result,omitempty"` // CHANGED, UNCHANGED, UNREACHABLE, SKIPPED; "" while the answer isn't there
	Detail     string     `json:"-"`
	DoneAt     *time.Time `json:"doneAt,omitempty"`
	OrderName  int64      `json:"-"` // the order's number
	NextLookAt *time.Time `json:"nextLookAt,omitempty"`
}

const runColumns = `r.id, r.started_by, coalesce(u.email, ''), r.scope, r.filter, r.total, c.done, c.changed, c.unchanged, c.unreachable, c.skipped,
	r.created_at, r.finished_at, r.trace_id
	FROM reconcile_runs r LEFT JOIN users u ON u.id = r.started_by CROSS JOIN LATERAL (
		SELECT r.changed + r.unchanged + r.unreachable + r.skipped AS done, r.changed, r.unchanged, r.unreachable, r.skipped WHERE r.finished_at IS NOT NULL
		UNION ALL SELECT count(done_at), count(*) FILTER (WHERE result = 'CHANGED'), count(*) FILTER (WHERE result = 'UNCHANGED'),
			count(*) FILTER (WHERE result = 'UNREACHABLE'), count(*) FILTER (WHERE result = 'SKIPPED')
		FROM reconcile_items i WHERE i.run_id = r.id AND r.finished_at IS NULL HAVING r.finished_at IS NULL) c`

// Find reads a run and at most limit of its items, those without an answer first, then what changed. NOT_FOUND if there is none.
func Find(ctx context.Context, q store.Querier, id uuid.UUID, limit int) (Run, []Item, error) {
	rows, err := q.Query(ctx, `SELECT `+runColumns+` WHERE r.id = $1`, id)
	if err != nil {
		return Run{}, nil, fmt.Errorf("read run: %w", err)
	}
	run, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Run])
	if errors.Is(err, pgx.ErrNoRows) {
		return run, nil, fault.Missing("reconciliation")
	}
	if err != nil {
		return run, nil, fmt.Errorf("read run: %w", err)
	}
	rows, err = q.Query(ctx, `SELECT i.object_type, i.object_id, i.order_id, i.before, coalesce(i.after, ''), coalesce(i.result, ''),
			coalesce(i.detail, ''), i.done_at, o.number, op.next_attempt_at
		FROM reconcile_items i JOIN orders o ON o.id = i.order_id LEFT JOIN operations op ON op.id = i.operation_id
		WHERE i.run_id = $1 ORDER BY i.done_at IS NOT NULL, i.result, i.object_id LIMIT $2`, id, limit)
	if err != nil {
		return run, nil, fmt.Errorf("read items: %w", err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Item])
	if err != nil {
		return run, nil, fmt.Errorf("read items: %w", err)
	}
	return run, items, nil
}

// Latest lists the newest runs, at most limit.
func Latest(ctx context.Context, q store.Querier, limit int) ([]Run, error) {
	rows, err := q.Query(ctx, `SELECT `+runColumns+` ORDER BY r.created_at DESC, r.id DESC LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Run])
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}
