package jobs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/outbox"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/trace"
)

func (b *bench) event(t *testing.T, kind outbox.Type, order uuid.UUID) {
	t.Helper()
	batch := &pgx.Batch{}
	outbox.Queue(trace.Start(t.Context(), ""), batch, kind, string(kind)+order.String(), order)
	require.NoError(t, b.db.SendBatch(t.Context(), batch).Close())
}

// Every event has its consequence: a constant that nobody entered into the table would be parked.
func TestEveryEventHasAConsequence(t *testing.T) {
	t.Parallel()
	for _, kind := range []outbox.Type{outbox.OrderPlaced, outbox.OrderPaid} {
		require.Contains(t, consequences, kind)
	}
}

func TestARoundTwiceIsOneJobEach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.hear(t, "evt_1", o, provider.Succeeded)
	b.event(t, outbox.OrderPaid, o.ID)
	for range 3 {
		b.round(t, j)
	}
	rows, err := b.db.Query(t.Context(), `SELECT kind || ' ' || queue || ' ' || state FROM river_job WHERE scheduled_at <= now() ORDER BY kind`)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"accrue_bonus fulfilment available", "apply_event webhooks available", "create_payment payments available", "issue_licenses fulfilment available",
	}, got, "the mail waits for the licences")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`))
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM river_job WHERE metadata->>'trace_id' ~ '^[0-9a-f]{32}$'`))
}

// A job that is lost makes its row due again: the row is the truth.
func TestRowsOutliveTheirJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.hear(t, "evt_1", o, provider.Pending)
	for range 2 {
		b.round(t, j)
		require.Equal(t, 2, b.count(t, `SELECT count(*) FROM river_job`))
		_, err := b.db.Exec(t.Context(), `DELETE FROM river_job`)
		require.NoError(t, err)
		b.round(t, j)
		require.Zero(t, b.count(t, `SELECT count(*) FROM river_job`), "not before its time")
		paymenttest.MakeDue(t, b.db)
		_, err = b.db.Exec(t.Context(), `UPDATE incoming_events SET next_attempt_at = now()`)
		require.NoError(t, err)
	}
}

func TestTwoRelaysAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 120 {
		b.event(t, outbox.OrderPaid, uuid.New())
	}
	relays := []*Jobs{b.process(t, 0), b.process(t, 0), b.process(t, 0)}
	errs := make([]error, len(relays))
	for range 3 {
		var done sync.WaitGroup
		start := make(chan struct{})
		for i, j := range relays {
			done.Go(func() {
				<-start
				_, errs[i] = j.round(t.Context())
			})
		}
		close(start)
		done.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 120, b.count(t, `SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`))
	require.Equal(t, 360, b.count(t, `SELECT count(*) FROM operations`))
	require.Equal(t, 240, b.count(t, `SELECT count(*) FROM river_job`), "licences and bonus; the mails wait")
	require.Equal(t, 240, b.count(t, `SELECT count(DISTINCT args->>'operation_id') FROM river_job`))
}

// More rows than a batch takes: the relay says so and goes on at once.
func TestMoreThanABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.db.Exec(t.Context(), `INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id)
		SELECT gen_random_uuid(), 'n' || n, 'ORDER_PLACED', gen_random_uuid(), '00000000000000000000000000000abc' FROM generate_series(1, 501) n`)
	require.NoError(t, err)
	j := b.process(t, 0)
	full, err := j.round(t.Context())
	require.NoError(t, err)
	require.True(t, full)
	full, err = j.round(t.Context())
	require.NoError(t, err)
	require.False(t, full)
	require.Equal(t, 501, b.count(t, `SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`))
}

// A row that can't be dispatched is set back alone, then parked; its neighbours go out at once.
func TestAPoisonRowIsParkedAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	b.event(t, "NOBODY_KNOWS", uuid.New())
	b.event(t, outbox.OrderPaid, uuid.New())
	b.event(t, outbox.OrderPlaced, uuid.New())
	for n := range 9 {
		b.round(t, j)
		require.Equal(t, 2, b.count(t, `SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`))
		require.Equal(t, min(n+1, 8), b.count(t, `SELECT attempts FROM outbox_events WHERE event_type = 'NOBODY_KNOWS'`))
		_, err := b.db.Exec(t.Context(), `UPDATE outbox_events SET next_attempt_at = now()`)
		require.NoError(t, err)
	}
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM outbox_events WHERE parked_at IS NOT NULL AND last_error LIKE '%NOBODY_KNOWS%'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM journal WHERE kind = 'outbox.parked'`))
}

// One bad event among good ones of its own type costs the good ones nothing, and a database that fails for the moment costs
// nobody a try.
func TestABadEventAmongGoodOnesOfItsType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	bad, good := uuid.New(), uuid.New()
	b.event(t, outbox.OrderPaid, bad)
	b.event(t, outbox.OrderPaid, good)
	refuse := func(state string) {
		for _, sql := range []string{
			fmt.Sprintf(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN IF NEW.order_id = '%s' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END IF; RETURN NEW; END $$`, bad, state),
			`CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION refuse()`,
		} {
			_, err := b.db.Exec(t.Context(), sql)
			require.NoError(t, err)
		}
	}
	refuse("57014")
	for range 2 {
		_, err := j.round(t.Context())
		require.Error(t, err)
	}
	require.Zero(t, b.count(t, `SELECT sum(attempts) FROM outbox_events`))
	refuse("P0001")
	b.round(t, j)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM operations WHERE order_id = $1`, good))
	require.Zero(t, b.count(t, `SELECT count(*) FROM operations WHERE order_id = $1`, bad))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM outbox_events WHERE order_id = $1 AND attempts = 1 AND dispatched_at IS NULL`, bad))
}

// What fails in the outbox doesn't hold up payments and webhooks.
func TestAFailingOutboxHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	j := b.process(t, 0)
	o := paymenttest.NewOrder(t, b.db, paymenttest.Wish{})
	b.hear(t, "evt_1", o, provider.Pending)
	b.event(t, outbox.OrderPaid, o.ID)
	_, err := b.db.Exec(t.Context(), `ALTER TABLE outbox_events RENAME TO elsewhere`)
	require.NoError(t, err)
	_, err = j.round(t.Context())
	require.Error(t, err)
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM river_job WHERE kind IN ('create_payment', 'apply_event')`))
}
