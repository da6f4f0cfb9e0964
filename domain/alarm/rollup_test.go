package alarm_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/alarm"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store/storetest"
)

func (d *duty) happened(kind string, times int) {
	d.Helper()
	d.exec(`INSERT INTO journal (kind, trace_id) SELECT $1, 't' FROM generate_series(1, $2)`, kind, times)
}

func (d *duty) rollup() {
	d.Helper()
	_, err := alarm.Rollup(d.Context(), d.db, time.Nanosecond)
	require.NoError(d, err)
}

// counts reads on until the journal is counted as far as it is wanted: transactions of other tests may be in the way.
func (d *duty) counts(want map[string]int64) {
	d.Helper()
	require.Eventually(d, func() bool {
		d.rollup()
		return maps.Equal(want, d.absorbed())
	}, 10*time.Second, 10*time.Millisecond)
}

func (d *duty) absorbed() map[string]int64 {
	d.Helper()
	layers, err := alarm.AbsorbedToday(d.Context(), d.db)
	require.NoError(d, err)
	return layers
}

func TestTheJournalIsCountedOnce(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.happened("operation.replayed", 3)
	d.happened("inbox.stale", 1)
	d.happened("inbox.no_change", 1)
	d.happened("operation.completed", 7)
	d.happened("payment.created", 9)
	d.counts(map[string]int64{"request": 3, "event": 2})
	d.happened("operation.replayed", 2)
	d.counts(map[string]int64{"request": 5, "event": 2})
	for _, r := range alarm.Ranges() {
		c, err := alarm.Read(t.Context(), d.db, r)
		require.NoError(t, err)
		require.InDelta(t, 7, c.Total(alarm.Operations, "completed"), 0, r.Name)
		require.InDelta(t, 5, c.Total(alarm.Operations, "replayed"), 0, r.Name)
		require.LessOrEqual(t, c.Points, 120)
		require.Empty(t, c.Labels(alarm.Payments))
	}
}

func TestPaymentResultsAreCountedByProvider(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	o, p := paymenttest.NewOrder(t, d.db, paymenttest.Wish{}), uuid.New()
	d.exec(`INSERT INTO journal (kind, trace_id, payment_id) SELECT 'payment.succeeded', 't', $1 FROM generate_series(1, 2)`, o.PaymentID)
	d.exec(`INSERT INTO journal (kind, trace_id, payment_id) VALUES ('payment.unknown', 't', $1), ('payment.created', 't', $1), ('payment.failed', 't', $2)`, o.PaymentID, p)
	d.happened("operation.replayed", 1)
	for range 2 {
		d.counts(map[string]int64{"request": 1})
	}
	c, err := alarm.Read(t.Context(), d.db, alarm.Ranges()[0])
	require.NoError(t, err)
	require.Equal(t, []string{paymenttest.Name + "/succeeded", paymenttest.Name + "/unknown"}, c.Labels(alarm.Providers))
	require.InDelta(t, 2, c.Total(alarm.Providers, paymenttest.Name+"/succeeded"), 0)
	require.InDelta(t, 1, c.Total(alarm.Payments, "failed"), 0, "one that isn't known any more is nobody's")
}

// Sequence order isn't commit order: a row that commits late is counted, too.
func TestALateCommitIsNotMissed(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	tx, err := d.db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO journal (kind, trace_id) VALUES ('operation.replayed', 'late')`)
	require.NoError(t, err)
	d.happened("operation.replayed", 1)
	for range 3 {
		d.rollup()
	}
	require.Empty(t, d.absorbed(), "not before everything older has ended")
	require.NoError(t, tx.Commit(t.Context()))
	d.counts(map[string]int64{"request": 2})
}

func TestClientsThatReuseKeysAreKnown(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	id := uuid.New()
	d.exec(`INSERT INTO operations (id, user_id, type, key, request_hash, status, next_attempt_at, trace_id) VALUES ($1, $2, 'CREATE_ORDER', 'k', 'h', 'PROCESSING', now(), 't')`, id, d.person)
	d.exec(`INSERT INTO journal (kind, trace_id, operation_id) SELECT 'operation.key_reused', 't', $1 FROM generate_series(1, 4)`, id)
	d.counts(map[string]int64{"key": 4})
	clients, err := alarm.Reusers(t.Context(), d.db, 5)
	require.NoError(t, err)
	require.Len(t, clients, 1)
	require.Equal(t, "ada@example.com", clients[0].Email)
	require.EqualValues(t, 4, clients[0].Count)
	require.Equal(t, id, clients[0].OperationID)
}

func TestLatencyIsAddedUpAndEstimated(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	for range 2 {
		require.NoError(t, alarm.AddLatency(t.Context(), db, map[string]int64{"10": 90, "100": 9, "1000": 1}))
	}
	r, ok := alarm.RangeOf("")
	require.True(t, ok)
	c, err := alarm.Read(t.Context(), db, r)
	require.NoError(t, err)
	last := func(p float64) float64 { line := c.Percentile(p); return max(line[len(line)-1], line[len(line)-2]) }
	require.InDelta(t, 5.6, last(.5), .1)
	require.InDelta(t, 60, last(.95), .1)
	require.InDelta(t, 100, last(.99), .1)
	_, ok = alarm.RangeOf("2h")
	require.False(t, ok)
}

func TestQueuesAreSampled(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.parked(time.Minute)
	d.look()
	d.parked(time.Minute)
	d.look()
	lines, err := alarm.Recent(t.Context(), d.db)
	require.NoError(t, err)
	require.InDelta(t, 2, lines["parked_events"][59], 0)
	require.Zero(t, lines["orders_in_review"][59])
	require.NoError(t, alarm.Sweep(t.Context(), d.db))
	d.exec(`UPDATE rollups SET at = at - interval '40 days'`)
	require.NoError(t, alarm.Sweep(t.Context(), d.db))
	require.Equal(t, "0", d.text(`SELECT count(*)::text FROM rollups`))
	runs, err := alarm.Runs(t.Context(), d.db, 5)
	require.NoError(t, err)
	require.Empty(t, runs)
}
