package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Alarm is how one stands.
type Alarm struct {
	Name           string
	Firing         bool
	Value          float64 // seconds or a number, as Unit says
	Unit           Unit
	Limit          float64
	Count          int
	Since          time.Time // of the state
	CheckedAt      time.Time
	AcknowledgedBy string     // address; "" for nobody
	SilencedUntil  *time.Time // in the future, or nil
}

const alarmSQL = `SELECT a.name, a.state = 'FIRING', a.value, a.unit, a.max_value, a.n, a.since, a.checked_at, coalesce(u.email, ''),
	CASE WHEN a.silenced_until > clock_timestamp() THEN a.silenced_until END
	FROM alarms a LEFT JOIN users u ON u.id = a.acknowledged_by`

// Firing lists the alarms that fire, the longest first.
func Firing(ctx context.Context, q store.Querier) ([]Alarm, error) {
	return alarms(ctx, q, alarmSQL+` WHERE a.state = 'FIRING' ORDER BY a.since, a.name`)
}

// All lists every alarm, those that fire first.
func All(ctx context.Context, q store.Querier) ([]Alarm, error) {
	return alarms(ctx, q, alarmSQL+` ORDER BY a.state = 'OK', CASE WHEN a.state = 'FIRING' THEN a.since END, a.name`)
}

func alarms(ctx context.Context, q store.Querier, sql string) ([]Alarm, error) {
	rows, err := q.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read alarms: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Alarm])
	if err != nil {
		return nil, fmt.Errorf("read alarms: %w", err)
	}
	return list, nil
}

// Happened is one line of the history.
type Happened struct {
	ID     uuid.UUID
	Alarm  string
	What   string // FIRED, RECOVERED, ACKNOWLEDGED or SILENCED
	At     time.Time
	Value  float64
	Limit  float64
	Unit   Unit
	Count  int
	User   string // who pressed; "" for a transition
	Reason string
	Until  *time.Time // of a silence
	Told   []string   // channels that were told
	Trying []string   // channels that weren't reached yet
}

// History lists what happened to the alarms, newest first; name "" means to all of them.
func History(ctx context.Context, q store.Querier, name string, most int) ([]Happened, error) {
	rows, err := q.Query(ctx, `SELECT h.id, h.alarm, h.what, h.at, h.value, h.max_value, h.unit, h.n, coalesce(u.email, ''), coalesce(h.reason, ''), h.until,
			ARRAY(SELECT channel FROM alarm_deliveries d WHERE d.history_id = h.id AND d.sent_at IS NOT NULL ORDER BY 1),
			ARRAY(SELECT channel FROM alarm_deliveries d WHERE d.history_id = h.id AND d.sent_at IS NULL ORDER BY 1)
		FROM alarm_history h LEFT JOIN users u ON u.id = h.user_id WHERE ($1 = '' OR h.alarm = $1) ORDER BY h.at DESC, h.id DESC LIMIT $2`, name, most)
	if err != nil {
		return nil, fmt.Errorf("read alarm history: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Happened])
	if err != nil {
		return nil, fmt.Errorf("read alarm history: %w", err)
	}
	return list, nil
}

// Run is something that ran by itself or for a person.
type Run struct {
	Kind   string // "reconcile" or "batch"
	ID     uuid.UUID
	Label  string // scope or action
	By     string // "" for the system
	Total  int
	Done   int
	At     time.Time
	EndsAt *time.Time // nil while it runs
}

// Runs lists the latest reconcile runs and batches, newest first.
func Runs(ctx context.Context, q store.Querier, most int) ([]Run, error) {
	rows, err := q.Query(ctx, `SELECT run.kind, run.id, run.label, coalesce(u.email, ''), run.total, run.done, run.at, run.ended FROM (
			(SELECT 'reconcile', id, scope, started_by, total, changed + unchanged + unreachable + skipped, created_at, finished_at
				FROM reconcile_runs ORDER BY created_at DESC LIMIT $1)
			UNION ALL (SELECT 'batch', id, action, user_id, total, (SELECT count(*)::int FROM batch_items i WHERE i.batch_id = b.id AND i.status <> 'WAITING'), created_at, finished_at
				FROM batches b WHERE status <> 'PREVIEW' ORDER BY created_at DESC LIMIT $1)
		) AS run(kind, id, label, by, total, done, at, ended) LEFT JOIN users u ON u.id = run.by ORDER BY run.at DESC LIMIT $1`, most)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Run])
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return list, nil
}
