package console

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// run is one of River's jobs that worked on the intent.
type run struct {
	ID          int64
	Kind        string
	State       string
	Attempt     int
	Most        int
	AttemptedAt *time.Time
	FinalizedAt *time.Time
	ScheduledAt time.Time
	Failures    []failure
}

// failure is a try that ended with an error.
type failure struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
}

// runsOf reads River's own table, if it is there. Its cleaner removes finished jobs after a day: what the journal says stays.
func runsOf(ctx context.Context, q store.Querier, ids []int64) ([]run, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var there bool
	if err := q.QueryRow(ctx, `SELECT to_regclass('river_job') IS NOT NULL`).Scan(&there); err != nil || !there {
		return nil, reading("catalogue", err)
	}
	rows, err := q.Query(ctx, `SELECT id, kind, state::text, attempt, max_attempts, attempted_at, finalized_at, scheduled_at, coalesce(to_jsonb(errors), '[]')
		FROM river_job WHERE id = ANY($1) ORDER BY id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[run])
	return runs, reading("jobs", err)
}

// entries are the lines that a job adds: one per failed try, and its end. A job that only looked and learned nothing is told by the
// look itself.
func (r run) entries(traceID string, onlyLooked bool) (list []Entry) {
	add := func(what string, at time.Time, attempt int, took time.Duration, facts ...Fact) {
		list = append(list, Entry{
			At: at, Anchor: fmt.Sprintf("job-%d-%s-%d", r.ID, what, attempt), Lane: LaneJob, Kind: "job." + what, TraceID: traceID, JobID: &r.ID,
			Attempt: attempt, Most: r.Most, Took: took, Facts: append([]Fact{{"job", r.Kind}}, facts...),
		})
	}
	for _, f := range r.Failures {
		add("failed", f.At, f.Attempt, 0, Fact{"error", maskText(f.Error)})
	}
	if r.FinalizedAt == nil || onlyLooked {
		return list
	}
	took := time.Duration(0)
	if r.AttemptedAt != nil {
		took = max(r.FinalizedAt.Sub(*r.AttemptedAt), 0)
	}
	switch r.State {
	case "completed", "cancelled", "discarded":
		add(r.State, *r.FinalizedAt, r.Attempt, took)
	}
	return list
}
