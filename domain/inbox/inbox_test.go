package inbox_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/inbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func event(id string) provider.Event {
	return provider.Event{ID: id, Type: "payment.succeeded", ObjectID: "pay_1"}
}

func receive(t *testing.T, db store.DB, id, payload string) inbox.Receipt {
	t.Helper()
	r, err := inbox.Receive(t.Context(), db, "sim", event(id), []byte(payload))
	require.NoError(t, err)
	return r
}

func journaled(t *testing.T, db store.Querier, id uuid.UUID, kind string) int {
	t.Helper()
	return paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE incoming_event_id = $1 AND kind = $2`, id, kind)
}

func TestRepeatsAreCountedAndOtherPayloadIsKeptApart(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := uuid.NewString()
	first := receive(t, tx, id, `{"a":1}`)
	require.Equal(t, inbox.Receipt{ID: first.ID, Deliveries: 1}, first)
	for n := 2; n <= 3; n++ {
		require.Equal(t, inbox.Receipt{ID: first.ID, Deliveries: n}, receive(t, tx, id, `{"a":1}`))
	}
	other := receive(t, tx, id, `{"a":2}`)
	require.Equal(t, inbox.Receipt{ID: other.ID, Deliveries: 1, Conflict: true}, other)
	require.Equal(t, inbox.Receipt{ID: other.ID, Deliveries: 2, Conflict: true}, receive(t, tx, id, `{"a":2}`))
	third := receive(t, tx, id, `{"a":3}`)
	require.NotEqual(t, other.ID, third.ID)
	require.Equal(t, inbox.Receipt{ID: first.ID, Deliveries: 4}, receive(t, tx, id, `{"a":1}`), "the first stands")

	var status, reason, payload string
	var contradicts uuid.UUID
	paymenttest.Read(t, tx, `SELECT status, reason, contradicts, convert_from(payload, 'UTF8') FROM incoming_events WHERE id = $1`, []any{other.ID},
		&status, &reason, &contradicts, &payload)
	require.Equal(t, []string{"QUARANTINED", "other_payload_under_known_id", `{"a":2}`}, []string{status, reason, payload})
	require.Equal(t, first.ID, contradicts)
	require.Equal(t, 1, journaled(t, tx, first.ID, "inbox.received"))
	require.Equal(t, 3, journaled(t, tx, first.ID, "inbox.repeated"))
	require.Equal(t, 2, journaled(t, tx, other.ID, "inbox.quarantined"))
}

// The other payload may come after the first was dealt with: the row that was applied doesn't move.
func TestOtherPayloadAfterTheEnd(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := uuid.NewString()
	first := receive(t, tx, id, `1`)
	e, ok, err := inbox.Lock(t.Context(), tx, first.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, inbox.Conclude(t.Context(), tx, e, inbox.Verdict{Status: inbox.Applied}))
	require.True(t, receive(t, tx, id, `2`).Conflict)
	require.False(t, receive(t, tx, id, `1`).Conflict)
	require.Equal(t, 1, paymenttest.Count(t, tx, `SELECT count(*) FROM incoming_events WHERE event_id = $1 AND status = 'APPLIED' AND deliveries = 2`, id))
}

func TestOneIDOfTwoProvidersIsTwoEvents(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := uuid.NewString()
	first := receive(t, tx, id, `1`)
	second, err := inbox.Receive(t.Context(), tx, "stripe", event(id), []byte(`2`))
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	require.False(t, second.Conflict)
}

func TestAnyBytesAreKept(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	payload := "{\"x\":\"\\u0000\\ud800\"}\x00\xff\xfe" + string(make([]byte, 64<<10))
	r := receive(t, tx, uuid.NewString(), payload)
	e, ok, err := inbox.Lock(t.Context(), tx, r.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, payload, string(e.Payload))
	require.NoError(t, inbox.Conclude(t.Context(), tx, e, inbox.Verdict{Status: inbox.Ignored, Reason: "x"}))
}

func TestTwentyParallelDeliveriesAreOneEvent(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	var done sync.WaitGroup
	start, receipts, errs := make(chan struct{}), make([]inbox.Receipt, 40), make([]error, 40)
	for i := range receipts {
		done.Go(func() {
			<-start
			receipts[i], errs[i] = inbox.Receive(t.Context(), db, "sim", event("evt"), []byte{'a' + byte(i%2)})
		})
	}
	close(start)
	done.Wait()
	conflicts := 0
	for i, r := range receipts {
		require.NoError(t, errs[i])
		if r.Conflict {
			conflicts++
		}
	}
	require.Equal(t, 20, conflicts, "one payload stands, the other is apart")
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM incoming_events WHERE contradicts IS NULL AND status = 'RECEIVED' AND deliveries = 20`))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM incoming_events WHERE contradicts IS NOT NULL AND status = 'QUARANTINED' AND deliveries = 20`))
	require.Equal(t, 40, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind LIKE 'inbox.%'`))
}

func TestEveryVerdictEndsTheEventOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []inbox.Status{inbox.Applied, inbox.NoChange, inbox.Stale, inbox.Ignored, inbox.Quarantined} {
		tx := storetest.Tx(t)
		r := receive(t, tx, uuid.NewString(), `1`)
		e, ok, err := inbox.Lock(t.Context(), tx, r.ID)
		require.NoError(t, err)
		require.True(t, ok)
		v := inbox.Verdict{Status: status, Reason: "why", PaymentID: uuid.New(), OrderID: uuid.New()}
		require.NoError(t, inbox.Conclude(t.Context(), tx, e, v))
		_, ok, err = inbox.Lock(t.Context(), tx, r.ID)
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, 2, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE incoming_event_id = $1`, r.ID), "received, concluded")
		require.Equal(t, 1, paymenttest.Count(t, tx, `SELECT count(*) FROM journal WHERE incoming_event_id = $1 AND payment_id = $2 AND order_id = $3`, r.ID, v.PaymentID, v.OrderID))
	}
}

func TestWaitingMakesItDueAgain(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for _, id := range []string{"a", "b", "c"} {
		receive(t, db, id, `1`)
	}
	take := func(limit int) (due []inbox.Due) {
		require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) (err error) {
			due, err = inbox.TakeDue(t.Context(), tx, time.Minute, limit)
			return err
		}))
		return due
	}
	require.Len(t, take(2), 2)
	last := take(2)
	require.Len(t, last, 1)
	require.Empty(t, take(2))
	require.NoError(t, store.InTx(t.Context(), db, func(tx pgx.Tx) error {
		e, _, err := inbox.Lock(t.Context(), tx, last[0].ID)
		require.NoError(t, err)
		return inbox.Wait(t.Context(), tx, e, 0)
	}))
	require.Equal(t, last, take(2))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM incoming_events WHERE attempts = 1 AND reason = 'waiting_for_object'`))
}
