package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/store"
)

const (
	pollEvery = 50 * time.Millisecond
	batchSize = 500
)

// relay turns due rows into jobs until ctx ends: in batches, woken in-process or by the poll. Any number of relays may run.
func (j *Jobs) relay(ctx context.Context) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	failing := false
	for {
		full, err := j.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing: // once, not twenty times a second
			j.cfg.Logger.LogAttrs(ctx, slog.LevelError, "relay failed; retrying", slog.String("error", err.Error()))
		case err == nil && failing:
			j.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "relay works again")
		}
		failing = err != nil
		if full {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-j.wake:
			if failing {
				<-poll.C
			}
		}
	}
}

// round handles one batch of each kind of row; full reports that more may be waiting. Outbox first: its events make
// operations due.
func (j *Jobs) round(ctx context.Context) (full bool, err error) {
	for _, step := range []func(context.Context, pgx.Tx) (int, error){j.dispatchEvents, j.dispatchOperations, j.dispatchInbox} {
		n := 0
		err := store.InTx(ctx, j.pool, func(tx pgx.Tx) (err error) {
			n, err = step(ctx, tx)
			return err
		})
		if err != nil {
			return false, err
		}
		full = full || n == batchSize
	}
	return full, nil
}

// dispatchEvents writes the consequences of outbox events. An event that can't be dispatched is set back on its own (in a
// savepoint), so that it doesn't hold up its neighbours.
func (j *Jobs) dispatchEvents(ctx context.Context, tx pgx.Tx) (int, error) {
	events, err := outbox.TakeDue(ctx, tx, batchSize)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	byType := map[outbox.Type][]outbox.Event{}
	for _, e := range events {
		byType[e.Type] = append(byType[e.Type], e)
	}
	for t, group := range byType {
		if err := dispatch(ctx, tx, t, group); err == nil {
			continue
		}
		for _, e := range group {
			if err := dispatch(ctx, tx, t, []outbox.Event{e}); err == nil {
				continue
			} else if err := outbox.Failed(ctx, tx, e, err, operation.Backoff(e.Attempts)); err != nil {
				return 0, err
			}
		}
	}
	return len(events), nil
}

func dispatch(ctx context.Context, tx pgx.Tx, t outbox.Type, events []outbox.Event) error {
	return store.InTx(ctx, tx, func(tx pgx.Tx) error {
		follow, known := consequences[t]
		if !known {
			return fmt.Errorf("no consequence is known for event type %q", t)
		}
		if err := follow(ctx, tx, events); err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(events))
		for i, e := range events {
			ids[i] = e.ID
		}
		return outbox.Dispatched(ctx, tx, ids)
	})
}

func (j *Jobs) dispatchOperations(ctx context.Context, tx pgx.Tx) (int, error) {
	due, err := operation.TakeDue(ctx, tx, j.cfg.Lease, batchSize)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	params := make([]river.InsertManyParams, 0, len(due))
	for _, d := range due {
		if job, ok := operationJobs[d.Type]; ok {
			params = append(params, river.InsertManyParams{Args: job.args(Operation{d.ID}), InsertOpts: options(job.queue, d.Trace, d.At)})
		}
	}
	return len(due), j.insert(ctx, tx, params)
}

func (j *Jobs) dispatchInbox(ctx context.Context, tx pgx.Tx) (int, error) {
	due, err := inbox.TakeDue(ctx, tx, j.cfg.Lease, batchSize)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	params := make([]river.InsertManyParams, len(due))
	for i, d := range due {
		params[i] = river.InsertManyParams{Args: ApplyEventJob{IncomingEventID: d.ID}, InsertOpts: options(queueWebhooks, d.Trace, d.At)}
	}
	return len(due), j.insert(ctx, tx, params)
}

func (j *Jobs) insert(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := j.client.InsertManyFastTx(ctx, tx, params); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return nil
}

// options dates a job an hour back by the database's clock. River compares with this process's clock when it inserts and
// with the database's when it fetches; a job that is due now must be due for both, however far apart they are.
func options(queue, trace string, now time.Time) *river.InsertOpts {
	raw, _ := json.Marshal(metadata{TraceID: trace}) //nolint:errcheck,errchkjson // a string can always be encoded
	return &river.InsertOpts{Queue: queue, Metadata: raw, ScheduledAt: now.Add(-time.Hour)}
}
