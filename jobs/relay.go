package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"onefold/domain/checkout"
	"onefold/domain/crash"
	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/outbox"
	"onefold/domain/store"
)

const (
	pollEvery = 50 * time.Millisecond
	lookEvery = 10 * time.Second // for orders that waited too long
	batchSize = 500
)

// relay turns due rows into jobs until ctx ends: in batches, woken in-process or by the poll. Any number of relays may run.
func (j *Jobs) relay(ctx context.Context) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var looked time.Time
	failing := false
	for {
		full, err := j.round(ctx)
		if err == nil && time.Since(looked) > lookEvery {
			looked = time.Now()
			_, err = checkout.PlanExpiry(ctx, j.pool, j.cfg.Expire, batchSize)
		}
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
// operations due. A kind that fails doesn't hold up the others.
func (j *Jobs) round(ctx context.Context) (full bool, failed error) {
	for _, step := range []func(context.Context, pgx.Tx) (int, error){j.dispatchEvents, j.dispatchOperations, j.dispatchInbox, j.dispatchBatches} {
		n := 0
		err := store.InTx(ctx, j.pool, func(tx pgx.Tx) (err error) {
			if n, err = step(ctx, tx); n > 0 {
				crash.Point(crash.BeforePublish, "")
			}
			return err
		})
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if n > 0 {
			crash.Point(crash.AfterPublish, "")
		}
		full = full || n == batchSize
	}
	return full && failed == nil, failed
}

// dispatchEvents writes the consequences of outbox events. An event that can't be dispatched is set back on its own (in a
// savepoint), so that it doesn't hold up its neighbours.
func (j *Jobs) dispatchEvents(ctx context.Context, tx pgx.Tx) (int, error) {
	events, err := outbox.TakeDue(ctx, tx, batchSize)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	byType := make(map[outbox.Type][]outbox.Event)
	for _, e := range events {
		byType[e.Type] = append(byType[e.Type], e)
	}
	for t, group := range byType {
		if err := dispatch(ctx, tx, t, group); err == nil {
			continue
		}
		for _, e := range group {
			if err := j.dispatchAlone(ctx, tx, e); err != nil {
				return 0, err
			}
		}
	}
	return len(events), nil
}

// dispatchAlone sets an event back that can't be dispatched. A database that fails for the moment says nothing about the event:
// that ends the round and counts for no event.
func (j *Jobs) dispatchAlone(ctx context.Context, tx pgx.Tx, e outbox.Event) error {
	err := dispatch(ctx, tx, e.Type, []outbox.Event{e})
	if err == nil || store.IsTransient(err) {
		return err
	}
	return outbox.Failed(ctx, tx, e, err, operation.Backoff(e.Attempts))
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
			params = append(params, river.InsertManyParams{Args: job.args(Operation{d.ID}), InsertOpts: options(job.queue, d.Trace)})
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
		params[i] = river.InsertManyParams{Args: ApplyEventJob{IncomingEventID: d.ID}, InsertOpts: options(queueWebhooks, d.Trace)}
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

func options(queue, trace string) *river.InsertOpts {
	raw, _ := json.Marshal(metadata{TraceID: trace}) //nolint:errchkjson // a string can always be encoded
	return &river.InsertOpts{Queue: queue, Metadata: raw}
}

// backdate lets jobs be due an hour ago. River dates them by this process's clock and fetches by the database's, so a clock
// that is ahead would delay every job by that much (RELIABILITY A0.3).
func (j *Jobs) backdate(ctx context.Context, jobs []*rivertype.JobInsertParams, insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	earlier := time.Now().Add(j.cfg.Skew - time.Hour)
	for _, job := range jobs {
		if job.State == rivertype.JobStateAvailable {
			job.ScheduledAt = &earlier
		}
	}
	return insert(ctx)
}
