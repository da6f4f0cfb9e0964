package jobs

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"onefold/domain/payment/paymenttest"
)

// otherKind is all that an older version of the program knows.
type otherKind struct{}

func (otherKind) Kind() string { return "of_another_version" }

type otherWorker struct {
	river.WorkerDefaults[otherKind]
}

func (otherWorker) Work(context.Context, *river.Job[otherKind]) error { return nil }

// CASES C34 c: a process of another version, which lacks the kind, takes the job until it is discarded. The row, not the job, is
// due, so the work isn't thrown away with it.
func TestC34c_AProcessThatLacksTheKindThrowsNothingAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	relay := b.process(t, 0)
	paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.round(t, relay)
	workers := river.NewWorkers()
	river.AddWorker(workers, otherWorker{})
	other, err := river.NewClient(riverpgxv5.New(b.db), &river.Config{
		Queues: map[string]river.QueueConfig{queuePayments: {MaxWorkers: 1, FetchCooldown: river.FetchCooldownMin, FetchPollInterval: river.FetchPollIntervalMin}}, Workers: workers,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	require.NoError(t, other.Start(t.Context()))
	for try := range 3 {
		b.until(t, "it can't do the job", `SELECT attempt = $1 AND state IN ('retryable', 'discarded', 'available') FROM river_job`, try+1)
		_, err := b.db.Exec(t.Context(), `UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state = 'retryable'`)
		require.NoError(t, err)
	}
	b.until(t, "it is discarded", `SELECT state = 'discarded' AND errors[1]->>'error' LIKE '%create_payment%' FROM river_job`)
	require.NoError(t, other.Stop(t.Context()))
	require.Empty(t, b.provider.Booked())

	paymenttest.MakeDue(t, b.db) // the lease passes
	b.start(t, 2)
	b.until(t, "the payment is asked for", pending, 1)
	require.Len(t, b.provider.Booked(), 1)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM river_job WHERE state = 'discarded'`), "it stays in sight")
}
