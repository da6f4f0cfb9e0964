package retention_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/invariant"
	"onefold/domain/lead"
	"onefold/domain/provider"
	"onefold/domain/retention"
)

// busy is a shop in which everything has happened once and is over.
type busy struct {
	*shop
	bought, retried, canceled, partly, refunded uuid.UUID
}

func newBusy(t *testing.T) busy {
	t.Helper()
	s := busy{shop: newShop(t)}
	s.bought = s.shop.bought(t, "bought")
	s.retried = s.declined(t, "retried")
	_, err := s.desk.Retry(t.Context(), s.user, s.retried, "again")
	require.NoError(t, err)
	s.work(t)
	s.hear(t, s.retried, provider.Succeeded)
	s.work(t)
	s.canceled = s.declined(t, "canceled")
	_, err = s.desk.Cancel(t.Context(), s.user, s.canceled, "cancel")
	require.Equal(t, fault.InProgress, fault.KindOf(err))
	s.partly, s.refunded = s.shop.bought(t, "partly"), s.shop.bought(t, "refunded")
	require.NoError(t, s.sendBack(t, s.partly, "part", false))
	require.NoError(t, s.sendBack(t, s.refunded, "all", true))
	require.NoError(t, s.enquire(t))
	soldOut := s.command("sold out")
	soldOut.Items = []checkout.Item{{ProductID: "ink-and-iron", Quantity: 6}}
	out, err := s.desk.Place(t.Context(), soldOut)
	require.NoError(t, err)
	require.Equal(t, "OUT_OF_STOCK", out.Failure.Code)
	s.work(t)
	for id, want := range map[uuid.UUID]string{
		s.bought: "FULFILLED", s.retried: "FULFILLED", s.canceled: "CANCELED", s.partly: "PARTIALLY_REFUNDED", s.refunded: "REFUNDED",
	} {
		require.Equal(t, want, s.status(t, id))
	}
	require.Zero(t, s.count(t, `SELECT count(*) FROM operations WHERE status = 'PROCESSING'`))
	return s
}

func (s busy) enquire(t *testing.T) error {
	t.Helper()
	_, err := lead.Create(t.Context(), s.runner, s.user, "enquiry", lead.Enquiry{Name: "Ann", Email: "ann@example.com", Message: "Hello"})
	return err
}

// orders are what their buyers see of them.
func (s busy) orders(t *testing.T) (list []checkout.Order) {
	t.Helper()
	for _, id := range []uuid.UUID{s.bought, s.retried, s.canceled, s.partly, s.refunded} {
		o, err := checkout.Find(t.Context(), s.db, s.user, id)
		require.NoError(t, err)
		for i := range o.Fulfilment {
			o.Fulfilment[i].CompletedAt = nil // of the operation, later of the effect
		}
		list = append(list, o)
	}
	return list
}

func TestNothingGoesBeforeItsTime(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	s.age(t, "719 hours")
	before := s.all(t)
	for _, n := range goes(s.plan(t)) {
		require.Zero(t, n)
	}
	for _, n := range goes(s.run(t)) {
		require.Zero(t, n)
	}
	require.Equal(t, before, s.all(t))
}

func TestWhatIsOverGoesAndWhatItMadeStays(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	s.age(t, year)
	s.unbroken(t)
	before, seen := s.all(t), s.orders(t)
	plan := s.plan(t)
	require.Equal(t, before, s.all(t), "a plan changes nothing")
	s.exec(t, `CREATE TABLE kept AS SELECT kind, count(*) AS n FROM journal WHERE split_part(kind, '.', 1) IN ('order', 'payment', 'refund') GROUP BY 1`)

	went := s.run(t)
	require.Equal(t, goes(plan), goes(went), "what was planned went")
	for _, table := range []string{"operations", "incoming_events", "outbox_events"} {
		require.Zero(t, s.count(t, `SELECT count(*) FROM `+table), table)
		require.Positive(t, goes(went)[table])
	}
	require.Zero(t, s.count(t, `SELECT count(*) FROM journal WHERE split_part(kind, '.', 1) IN ('operation', 'inbox', 'outbox', 'effect')`))
	require.Positive(t, goes(went)["journal"])
	require.Zero(t, s.count(t, `SELECT count(*) FROM kept k WHERE n <> (SELECT count(*) FROM journal j WHERE j.kind = k.kind)`), "the history of money stays")
	s.exec(t, `DROP TABLE kept`)

	after := s.all(t)
	for name, n := range goes(s.run(t)) {
		require.Zero(t, n, "a second run finds nothing in %s", name)
	}
	require.Equal(t, after, s.all(t))
	findings, err := invariant.Check(t.Context(), s.db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
	}
	require.Equal(t, seen, s.orders(t), "buyers see what they saw")
}

func TestTheConsoleShowsAnIntentWithoutItsOperation(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	before, err := console.Find(t.Context(), s.db, s.bought)
	require.NoError(t, err)
	s.age(t, year)
	s.run(t)
	for _, id := range []uuid.UUID{s.bought, before.Root.ID} {
		in, err := console.Find(t.Context(), s.db, id)
		require.NoError(t, err)
		require.Nil(t, in.Root)
		require.Empty(t, in.Operations)
		require.Equal(t, console.Good, in.Verdict.State)
		require.Equal(t, before.Effects, in.Effects)
		require.NotEmpty(t, in.Timeline)
	}
	canceled, err := console.Find(t.Context(), s.db, s.canceled)
	require.NoError(t, err)
	require.Equal(t, console.Ended, canceled.Verdict.State)
	hits, err := console.Resolve(t.Context(), s.db, before.Root.ID.String())
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

// A late retry of every command that made something: refused, twice, also with other content, and nothing happens again.
func TestKeysOutliveTheirOperations(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	s.age(t, year)
	s.run(t)
	before := s.all(t)
	for name, again := range map[string]func() error{
		"place":        func() error { _, err := s.desk.Place(t.Context(), s.command("bought")); return err },
		"retry":        func() error { _, err := s.desk.Retry(t.Context(), s.user, s.retried, "again"); return err },
		"cancel":       func() error { _, err := s.desk.Cancel(t.Context(), s.user, s.canceled, "cancel"); return err },
		"refund":       func() error { return s.sendBack(t, s.partly, "part", false) },
		"refund other": func() error { return s.sendBack(t, s.partly, "part", true) },
		"refund all":   func() error { return s.sendBack(t, s.refunded, "all", true) },
		"enquire":      func() error { return s.enquire(t) },
	} {
		for range 2 {
			e, ok := fault.Of(again())
			require.True(t, ok, name)
			require.Equal(t, fault.Gone, e.Kind, name)
			require.Equal(t, "IDEMPOTENCY_KEY_EXPIRED", e.Code)
			require.NotEmpty(t, e.OperationID)
		}
	}
	require.Equal(t, before, s.all(t))

	// The key of a retry stays bound while the order could take another attempt: then it would be a second effect.
	open := s.declined(t, "open")
	_, err := s.desk.Retry(t.Context(), s.user, open, "once")
	require.NoError(t, err)
	s.work(t)
	s.hear(t, open, provider.Canceled)
	s.work(t)
	s.exec(t, `DELETE FROM operations WHERE key = 'once'`) // earlier than retention would
	_, err = s.desk.Retry(t.Context(), s.user, open, "once")
	require.Equal(t, fault.Gone, fault.KindOf(err))
	require.Equal(t, 2, s.count(t, `SELECT count(*) FROM payments WHERE order_id = $1`, open))

	// A refusal made nothing, so its key is free again.
	out, err := s.desk.Place(t.Context(), s.command("sold out"))
	require.NoError(t, err)
	require.False(t, out.Replayed)
}

// What was cleaned once may move again, and be cleaned again.
func TestAnOrderMovesOnAfterRetention(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	s.age(t, year)
	s.run(t)
	for _, id := range []uuid.UUID{s.bought, s.partly} {
		require.NoError(t, s.sendBack(t, id, "rest", true))
		s.work(t)
		require.Equal(t, "REFUNDED", s.status(t, id))
	}
	s.unbroken(t)
	s.age(t, year)
	require.Positive(t, goes(s.run(t))["outbox_events"])
	require.Zero(t, s.count(t, `SELECT count(*) FROM outbox_events`))
	s.unbroken(t)
	require.Equal(t, fault.Gone, fault.KindOf(s.sendBack(t, s.bought, "rest", true)))
}

// A key is kept as long as its answer has promised, whatever the policy says by now.
func TestAPromiseIsKept(t *testing.T) {
	t.Parallel()
	s := newBusy(t)
	s.age(t, "100 hours")
	cfg := retention.Config{Operations: time.Hour}
	tables, err := retention.Run(t.Context(), s.db, cfg)
	require.NoError(t, err)
	require.Positive(t, goes(tables)["operations"], "the system's own")
	require.Equal(t, 11, s.count(t, `SELECT count(*) FROM operations WHERE user_id = $1`, s.user))
	require.Equal(t, 11, s.count(t, `SELECT count(*) FROM operations`))
	s.unbroken(t)
	out, err := s.desk.Place(t.Context(), s.command("bought"))
	require.NoError(t, err)
	require.True(t, out.Replayed)
}
