package console_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/console"
	"onefold/domain/provider"
)

// entriesOf are the timeline's lines of one kind.
func entriesOf(in console.Intent, kind string) (list []console.Entry) {
	for _, e := range in.Timeline {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func TestWhatPeopleDidIsInTheTimeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bought(t, uuid.New()).Result.OrderID
	paymentID := w.ids(t, `SELECT id FROM payments`)[0]
	staff, err := account.Create(t.Context(), w.db, "olga@shop.example", "long enough", account.Operator)
	require.NoError(t, err)
	w.exec(t, `INSERT INTO audit_actions (id, user_id, role, action, object_type, object_id, order_id, reason, outcome, code, operation_id, trace_id) VALUES
		(gen_random_uuid(), $1, 'operator', 'refund', 'order', $2::uuid::text, $2, 'called anna@example.com', 'DONE', NULL, gen_random_uuid(), repeat('b', 32)),
		(gen_random_uuid(), $1, 'operator', 'reconcile', 'payment', $3::uuid::text, NULL, NULL, 'REFUSED', 'FORBIDDEN', NULL, repeat('b', 32)),
		(gen_random_uuid(), $1, 'operator', 'refund', 'order', gen_random_uuid()::text, NULL, 'another order', 'DONE', NULL, gen_random_uuid(), repeat('c', 32))`,
		staff.ID, id, paymentID)
	w.exec(t, `INSERT INTO reconcile_runs (id, started_by, scope, total, trace_id) VALUES (gen_random_uuid(), $1, 'one', 1, repeat('d', 32))`, staff.ID)
	w.exec(t, `INSERT INTO reconcile_items (run_id, object_type, object_id, order_id, before, after, result, done_at)
		SELECT id, 'payment', $1, $2, 'UNKNOWN', 'SUCCEEDED', 'CHANGED', now() FROM reconcile_runs`, paymentID, id)
	w.exec(t, `INSERT INTO case_notes (id, object_id, user_id, text) VALUES (gen_random_uuid(), $1, $2, 'anna@example.com is fine')`, id, staff.ID)

	in := w.find(t, id)
	require.Len(t, in.Presses, 2, "also one that was refused and names only the payment")
	pressed := entriesOf(in, "press.refund")
	require.Len(t, pressed, 1)
	require.Equal(t, console.LaneOperator, pressed[0].Lane)
	require.Equal(t, "olga@shop.example", pressed[0].Fact("by"))
	require.Equal(t, "called a•••@example.com", pressed[0].Fact("reason"))
	require.Equal(t, "FORBIDDEN", entriesOf(in, "press.reconcile")[0].Fact("code"))

	looked := entriesOf(in, "reconcile.changed")
	require.Len(t, looked, 1)
	require.Equal(t, []string{"UNKNOWN", "SUCCEEDED"}, []string{looked[0].From, looked[0].To})
	require.Equal(t, console.LaneReconcile, looked[0].Lane)
	require.Len(t, entriesOf(in, "reconcile.asked"), 1)

	require.Len(t, in.Notes, 1)
	require.Equal(t, "a•••@example.com is fine", in.Notes[0].Text)
	require.Equal(t, "olga@shop.example", in.Notes[0].By)
}

func TestTwinsAreSeenFromBothSides(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	first, second := w.place(t, user, "a").Result.OrderID, w.place(t, user, "b").Result.OrderID
	w.exec(t, `INSERT INTO possible_duplicates (order_id, earlier_id) VALUES ($1, $2)`, second, first)
	a, b := w.find(t, first), w.find(t, second)
	require.Len(t, a.Twins, 1)
	require.Len(t, b.Twins, 1)
	require.Equal(t, second, a.Twins[0].OrderID)
	require.False(t, a.Twins[0].Earlier)
	require.Equal(t, "b", a.Twins[0].Key)
	require.Equal(t, first, b.Twins[0].OrderID)
	require.True(t, b.Twins[0].Earlier)
	w.exec(t, `UPDATE possible_duplicates SET verdict = 'on_purpose', settled_at = now()`)
	require.Equal(t, "on_purpose", w.find(t, first).Twins[0].Verdict)
}

func TestJobsTellTheirTriesAndFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bought(t, uuid.New()).Result.OrderID
	require.Empty(t, entriesOf(w.find(t, id), "job.completed"), "River's row is gone: the journal stays")
	w.exec(t, `INSERT INTO river_job (id, args, kind, max_attempts, queue, state, attempt, attempted_at, finalized_at, errors) VALUES (4711, '{}', 'execute', 25, 'q',
		'completed', 3, now() - interval '80 ms', now(), ARRAY['{"at":"2026-11-29T10:00:00Z","attempt":1,"error":"no answer for anna@example.com"}'::jsonb])`)
	in := w.find(t, id)
	done, failed := entriesOf(in, "job.completed"), entriesOf(in, "job.failed")
	require.Len(t, done, 1)
	require.Equal(t, []int{3, 25}, []int{done[0].Attempt, done[0].Most})
	require.InDelta(t, 80*time.Millisecond, done[0].Took, float64(time.Millisecond))
	require.Len(t, failed, 1)
	require.Equal(t, "no answer for a•••@example.com", failed[0].Fact("error"))
	require.Equal(t, console.LaneJob, failed[0].Lane)
}

func TestAReusedKeyShowsItsDifferences(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	out := w.place(t, user, "K")
	other := command(user, "K")
	other.Items[0].Quantity, other.PromoCode = 9, "WELCOME10"
	_, err := w.desk.Place(traced(t), other)
	require.Error(t, err)
	in := w.find(t, out.Result.OrderID)
	require.Len(t, in.Reuses, 1)
	require.Len(t, in.Reuses[0].Fields, 2)
	require.Equal(t, "items.lumen-notes", in.Reuses[0].Fields[0].Field)
	require.Equal(t, []string{"2", "9"}, []string{in.Reuses[0].Fields[0].First, in.Reuses[0].Fields[0].Later})
	require.Empty(t, in.Reuses[0].Fields[1].First, "what the first request didn't have")

	// While the first still ran its side was unknown; now it can be filled in, and what is equal goes.
	w.exec(t, `UPDATE journal SET detail = jsonb_build_object('first_unseen', true, 'differs', '[{"field":"items.lumen-notes","first":"","later":"9"},
		{"field":"currency","first":"","later":"RUB"}]'::jsonb) WHERE kind = 'operation.key_reused'`)
	in = w.find(t, out.Result.OrderID)
	require.Len(t, in.Reuses[0].Fields, 1)
	require.Equal(t, "2", in.Reuses[0].Fields[0].First)
}

func TestTheProvidersSideIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	voices := map[string]provider.Payments{"test": w.provider}
	voices[w.provider.Name()] = w.provider
	out := w.place(t, uuid.New(), "key-1")
	heard := func() console.Intent {
		in := w.find(t, out.Result.OrderID)
		in.Hear(voices)
		require.Len(t, in.Heard, 1)
		return in
	}
	require.Equal(t, "no", heard().Heard[0].Got, "nothing was sent yet")
	w.work(t)
	in := heard()
	require.Equal(t, "yes", in.Heard[0].Got)
	require.Equal(t, []string{"PENDING", "answer"}, []string{in.Heard[0].State, in.Heard[0].Via})
	require.Empty(t, in.Heard[0].Differs)

	w.deliver(t, "evt_paid", w.said(t, out.Result.OrderID, provider.Succeeded))
	in = heard() // received, not applied yet
	require.Equal(t, []string{"SUCCEEDED", "event"}, []string{in.Heard[0].State, in.Heard[0].Via})
	require.Equal(t, []string{"state"}, in.Heard[0].Differs)
	require.True(t, in.Money.Unrecorded)
	require.Equal(t, console.Bad, in.Verdict.State)
	require.Contains(t, in.Verdict.Reasons, console.Reason{Code: "charge_unrecorded", Subject: "AWAITING_PAYMENT"})

	w.work(t)
	in = heard()
	require.Empty(t, in.Heard[0].Differs)
	require.False(t, in.Money.Unrecorded)
	require.Equal(t, console.Good, in.Verdict.State)
	require.Equal(t, in.Order.Total, in.Money.Captured)
	require.Equal(t, in.Order.Total, in.Money.Left)
}

func TestTheProvidersClockIsShownAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bought(t, uuid.New()).Result.OrderID
	w.exec(t, `UPDATE incoming_events SET payload = convert_to(replace(convert_from(payload, 'UTF8'), '0001-01-01T00:00:00Z', '2026-11-29T10:00:00.5Z'), 'UTF8')`)
	in := w.find(t, id)
	require.Nil(t, in.Events[0].ProviderAt)
	in.Hear(map[string]provider.Payments{w.provider.Name(): w.provider})
	require.Equal(t, "2026-11-29T10:00:00.5Z", in.Events[0].ProviderAt.UTC().Format(time.RFC3339Nano))
	require.NotNil(t, entriesOf(in, "inbox.received")[0].ProviderAt)
	require.Nil(t, entriesOf(in, "inbox.applied")[0].ProviderAt)
}

func TestViolationsAreExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.bought(t, uuid.New()).Result.OrderID
	require.Empty(t, w.find(t, id).Violations)
	w.exec(t, `UPDATE payments SET amount_minor = amount_minor + 5`)
	in := w.find(t, id)
	require.Equal(t, console.Bad, in.Verdict.State)
	require.Equal(t, 3, in.Violations[0].ID)
	require.Contains(t, in.Violations[0].Examples[0].Detail, "1 succeeded payments of 498005 RUB")
	require.Equal(t, []console.Reason{{Code: "invariant", Subject: "paid-once"}}, in.Verdict.Reasons)
}

func TestStoryIsToldFromFacts(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	codes := func(in console.Intent) (list []string) {
		for _, l := range in.Story() {
			list = append(list, l.Code)
		}
		return list
	}
	out := w.place(t, user, "key-1")
	in := w.find(t, out.Result.OrderID)
	in.Foresee(time.Hour)
	require.Equal(t, []string{"placed", "not_charged", "next.pay_until"}, codes(in))
	w.work(t)
	w.deliver(t, "evt_1", w.said(t, out.Result.OrderID, provider.Succeeded))
	w.work(t)
	require.True(t, w.place(t, user, "key-1").Replayed)
	require.Equal(t, []string{"placed", "repeats", "charged_once", "not_twice", "licenses", "mailed", "next.nothing"}, codes(w.find(t, out.Result.OrderID)))

	w.exec(t, `UPDATE payments SET status = 'UNKNOWN', provider_payment_id = NULL; UPDATE orders SET status = 'AWAITING_PAYMENT', paid_at = NULL, fulfilled_at = NULL`)
	require.Contains(t, codes(w.find(t, out.Result.OrderID)), "unknown")
}

func TestForeseenEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.place(t, uuid.New(), "key-1").Result.OrderID
	in := w.find(t, id)
	before := len(in.Next)
	in.Foresee(24 * time.Hour)
	require.Len(t, in.Next, before+2)
	last := in.Next[len(in.Next)-1]
	require.Equal(t, "expire", last.Kind)
	require.Equal(t, in.Order.CreatedAt.Add(24*time.Hour), last.At)
	require.Equal(t, "key", in.Next[len(in.Next)-2].Kind, "the world keeps results for an hour")
}
