package outbox_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/outbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
	"onefold/domain/trace"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func put(t *testing.T, db store.Querier, dedupe string) uuid.UUID {
	t.Helper()
	order := uuid.New()
	b := &pgx.Batch{}
	outbox.Queue(trace.Start(t.Context(), ""), b, outbox.OrderPaid, dedupe, order)
	require.NoError(t, db.SendBatch(t.Context(), b).Close())
	return order
}

func take(t *testing.T, db store.DB, limit int) (events []outbox.Event) {
	t.Helper()
	require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) (err error) {
		events, err = outbox.TakeDue(t.Context(), tx, limit)
		return err
	}))
	return events
}

func dispatch(t *testing.T, db store.DB, events []outbox.Event) {
	t.Helper()
	require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) error {
		ids := make([]uuid.UUID, len(events))
		for i, e := range events {
			ids[i] = e.ID
		}
		return outbox.Dispatched(t.Context(), tx, ids)
	}))
}

// The same fact, learned on two paths, is one event, and the first one's order and trace stand.
func TestOneFactIsOneEvent(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	first := put(t, db, "order.paid:1")
	put(t, db, "order.paid:1")
	events := take(t, db, 10)
	require.Len(t, events, 1)
	require.Equal(t, first, events[0].OrderID)
	require.Equal(t, outbox.OrderPaid, events[0].Type)
	dispatch(t, db, events)
	put(t, db, "order.paid:1")
	require.Empty(t, take(t, db, 10), "also after it went out")
}

// An event whose transaction began earlier but commits later isn't skipped, although newer ones went out meanwhile.
func TestAnOlderEventThatCommitsLater(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	slow, err := db.Begin(t.Context())
	require.NoError(t, err)
	older := put(t, slow, "older")
	put(t, db, "newer")
	events := take(t, db, 10)
	require.Len(t, events, 1)
	dispatch(t, db, events)
	require.NoError(t, slow.Commit(t.Context()))
	events = take(t, db, 10)
	require.Len(t, events, 1)
	require.Equal(t, older, events[0].OrderID)
}

func TestTwoRelaysShareTheWork(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for _, key := range []string{"a", "b", "c"} {
		put(t, db, key)
	}
	one, err := db.Begin(t.Context())
	require.NoError(t, err)
	mine, err := outbox.TakeDue(t.Context(), one, 2)
	require.NoError(t, err)
	require.Len(t, mine, 2)
	theirs := take(t, db, 10)
	require.Len(t, theirs, 1)
	require.NoError(t, one.Rollback(t.Context()))
	require.Len(t, take(t, db, 10), 3, "what a relay that died had taken is due")
}

func TestEightFailuresParkAnEvent(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	put(t, db, "bad")
	for n := range 8 {
		events := take(t, db, 10)
		require.Len(t, events, 1)
		require.Equal(t, n, events[0].Attempts)
		require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) error {
			return outbox.Failed(t.Context(), tx, events[0], errors.New("bad row"), 0)
		}))
	}
	require.Empty(t, take(t, db, 10))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL AND dispatched_at IS NULL AND attempts = 8 AND last_error = 'bad row'`))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal j JOIN outbox_events e ON e.id = j.outbox_event_id WHERE j.kind = 'outbox.parked' AND j.trace_id = e.trace_id`))
}

func TestNothingHappensForARolledBackFact(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	put(t, tx, "never")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Empty(t, take(t, db, 10))
}
