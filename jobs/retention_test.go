package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/payment/paymenttest"
	"onefold/domain/retention"
)

// firstLine tells that something was logged.
type firstLine chan struct{}

func (f firstLine) Write(line []byte) (int, error) {
	select {
	case f <- struct{}{}:
	default:
	}
	return len(line), nil
}

// Now and then, until it is told to stop, also after a run that failed.
func TestWorkersClean(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	j.cfg.Retention = retention.Config{Outbox: time.Hour}
	failed := make(firstLine, 1)
	j.cfg.Logger = slog.New(slog.NewTextHandler(failed, nil))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	_, err := b.db.Exec(ctx, `ALTER TABLE sessions RENAME TO away`)
	require.NoError(t, err)
	go func() {
		defer close(ended)
		j.clean(ctx, 20*time.Millisecond)
	}()
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	_, err = b.db.Exec(ctx, `WITH o AS (UPDATE orders SET status = 'CANCELED' WHERE id = $1), p AS (UPDATE operations SET status = 'COMPLETED',
			completed_at = now(), next_attempt_at = NULL, resource_type = 'order', resource_id = $1)
		INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, created_at, dispatched_at)
		VALUES (gen_random_uuid(), 'old', 'ORDER_PLACED', $1, '', now() - interval '2 hours', now() - interval '2 hours')`, o.ID)
	require.NoError(t, err)
	<-failed
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM outbox_events`))
	_, err = b.db.Exec(ctx, `ALTER TABLE away RENAME TO sessions`)
	require.NoError(t, err)
	b.until(t, "the old event goes", `SELECT count(*) = 0 FROM outbox_events`)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM orders WHERE outbox_removed = '{ORDER_PLACED}'`))
	stop()
	<-ended
}
