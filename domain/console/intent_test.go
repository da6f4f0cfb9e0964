package console_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
)

func TestIntentOfAnOrderThatWentAllTheWay(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	out := w.bought(t, user)
	orderID := out.Result.OrderID
	for range 2 {
		require.True(t, w.place(t, user, "key-1").Replayed)
	}
	other := command(user, "key-1")
	other.Items[0].Quantity = 9
	_, err := w.desk.Place(traced(t), other)
	require.Equal(t, fault.KeyReused, fault.KindOf(err))
	said := w.said(t, orderID, provider.Succeeded)
	w.deliver(t, "evt_key-1", said)
	w.deliver(t, "evt_second", said)
	w.work(t)
	w.unbroken(t)

	in := w.find(t, orderID)
	require.Equal(t, order.Fulfilled, in.Order.Status)
	require.Equal(t, "a•••@example.com", in.Order.Email)
	require.Equal(t, out.ID, in.Root.ID)
	require.Len(t, in.Operations, len(w.ids(t, `SELECT id FROM operations`)))
	require.Len(t, in.Payments, 1)
	require.Equal(t, payment.Succeeded, in.Payments[0].Status)
	require.Len(t, in.Events, 2)
	require.Len(t, in.Outbox, 2)
	require.Len(t, in.Licenses, 2)
	require.Regexp(t, `^•••-\w{5}$`, in.Licenses[0].Key)
	require.Len(t, in.Bonus, 1)
	require.Len(t, in.Notifications, 1)
	require.Equal(t, "a•••@example.com", in.Notifications[0].Recipient)
	require.Equal(t, []int64{4711}, in.Jobs)
	require.GreaterOrEqual(t, len(in.Traces), 5)
	require.Empty(t, in.Next)
	require.Zero(t, in.Omitted)

	require.Equal(t, console.Verdict{
		State: console.Good, Attempts: 3, Orders: 1, Charges: 1, Effects: 3,
		Absorbed: []console.Absorbed{{Guard: "forward_only", Count: 1}, {Guard: "one_row_per_event", Count: 1}, {Guard: "operations_identity", Count: 3}},
	}, in.Verdict)
	require.Equal(t, 5, in.Verdict.Duplicates())
	require.Len(t, in.Attempts, 3)
	require.Empty(t, in.Attempts[0].Guard)
	require.Equal(t, "operations_identity", in.Attempts[2].Guard)
	require.Equal(t, []console.Effect{{"licenses", 2, "DONE"}, {"bonus", 1, "DONE"}, {"mail", 1, "DONE"}}, in.Effects)

	for _, id := range append(w.ids(t, `SELECT id FROM operations`), out.ID) {
		require.Equal(t, orderID, w.find(t, id).Order.ID, "every operation of the order leads to it")
	}
	w.exec(t, `DELETE FROM operations WHERE id = $1`, out.ID)
	in = w.find(t, out.ID)
	require.Equal(t, orderID, in.Order.ID, "also after retention")
	require.Nil(t, in.Root)
	require.Equal(t, 3, in.Verdict.Attempts)
}

func TestTimelineIsWholeSortedAndPlaced(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	out := w.bought(t, user)
	w.place(t, user, "key-1")
	in := w.find(t, out.Result.OrderID)

	lanes, kinds := map[console.Lane]bool{}, map[string]console.Entry{}
	for i, e := range in.Timeline {
		require.NotEmpty(t, e.TraceID)
		require.False(t, i > 0 && e.At.Before(in.Timeline[i-1].At))
		lanes[e.Lane], kinds[e.Kind] = true, e
	}
	for _, lane := range []console.Lane{
		console.LaneHTTP, console.LaneOperation, console.LaneDB, console.LaneOutbox, console.LaneTo, console.LaneFrom,
		console.LaneInbox, console.LaneMail,
	} {
		require.True(t, lanes[lane], lane)
	}
	var written int
	require.NoError(t, w.db.QueryRow(t.Context(), `SELECT count(*) FROM journal`).Scan(&written))
	require.Len(t, in.Timeline, written+5, "every journal row, the request, and two moments of each outbox row")
	require.Equal(t, "PENDING", kinds["payment.succeeded"].From)
	require.Equal(t, "SUCCEEDED", kinds["payment.succeeded"].To)
	require.Contains(t, kinds["payment.succeeded"].Facts, console.Fact{Name: "source", Value: "event"})
	require.Contains(t, kinds["payment.created"].Facts, console.Fact{Name: "attempt", Value: "1"})
	require.Equal(t, int64(4711), *kinds["license.issued"].JobID)
	require.True(t, kinds["inbox.received"].EventID.Valid, "a row that names no order")
}

func TestUnknownPaymentIsUnknownWithANextLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, provider.Errorf(provider.Unknown, "no answer for boris@example.com")
	}
	out := w.place(t, uuid.New(), "key-1")
	in := w.find(t, out.Result.OrderID)
	require.Equal(t, console.Running, in.Verdict.State)
	require.Equal(t, "awaiting_payment", in.Verdict.Reasons[0].Code)
	require.Len(t, in.Next, 2)
	require.Equal(t, "dispatch", in.Next[0].Kind)

	w.work(t)
	w.unbroken(t)
	in = w.find(t, out.Result.OrderID)
	require.Equal(t, console.Unknown, in.Verdict.State)
	require.Equal(t, []console.Reason{{Code: "payment_unknown"}}, in.Verdict.Reasons)
	require.Zero(t, in.Verdict.Charges)
	require.Equal(t, "reconcile", in.Next[0].Kind)
	require.Contains(t, in.Operations[1].LastError, "b•••@example.com")
	for _, e := range in.Timeline {
		if e.Kind == "operation.postponed" {
			require.Contains(t, []console.Lane{console.LaneFrom, console.LaneReconcile}, e.Lane)
		}
	}
	w.exec(t, `UPDATE operations SET lease_expires_at = now() + interval '30 seconds' WHERE status = 'PROCESSING'`)
	require.Equal(t, "lease", w.find(t, out.Result.OrderID).Next[0].Kind)
}

func TestWhatOnlyAPersonCanSettleIsBad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.bought(t, uuid.New())
	id := out.Result.OrderID
	require.Equal(t, console.Good, w.find(t, id).Verdict.State)

	said := w.said(t, id, provider.Succeeded)
	said.Amount.Minor++
	w.deliver(t, "evt_key-1", said) // another payload under a known ID
	w.deliver(t, "evt_other", said) // another amount
	w.work(t)
	in := w.find(t, id)
	require.Equal(t, console.Bad, in.Verdict.State)
	require.Subset(t, in.Verdict.Reasons, []console.Reason{
		{Code: "event_quarantined", Subject: "other_payload_under_known_id"}, {Code: "event_quarantined", Subject: "amount_mismatch"},
	})
	require.Len(t, in.Events, 3, "the contradiction names no order of its own, but belongs here")

	w.exec(t, `UPDATE orders SET needs_review = true, review_reason = 'second_payment'`)
	require.Contains(t, w.find(t, id).Verdict.Reasons, console.Reason{Code: "needs_review", Subject: "second_payment"})
}

func TestReasonsOfBadOrders(t *testing.T) {
	t.Parallel()
	for code, sql := range map[string]string{
		"several_charges": `INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key, provider_payment_id)
			SELECT gen_random_uuid(), order_id, 2, gen_random_uuid(), status, amount_minor, currency, provider, 'k', 'pay_2' FROM payments`,
		"paid_without_charge": `UPDATE payments SET status = 'FAILED'`,
		"charge_without_paid": `UPDATE orders SET status = 'CANCELED', paid_at = NULL`,
		"licenses_mismatch":   `DELETE FROM licenses WHERE unit = 1`,
		"effect_failed": `UPDATE operations SET status = 'FAILED', failure_code = 'MAIL_REFUSED', resource_type = NULL
			WHERE type = 'SEND_NOTIFICATION'`,
		"event_parked": `UPDATE outbox_events SET dispatched_at = NULL, parked_at = now()`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			out := w.bought(t, uuid.New())
			w.exec(t, sql)
			v := w.find(t, out.Result.OrderID).Verdict
			require.Equal(t, console.Bad, v.State)
			require.Equal(t, code, v.Reasons[0].Code)
		})
	}
}

func TestOperationWithoutAnOrder(t *testing.T) {
	t.Parallel()
	w, user := newWorld(t), uuid.New()
	c := command(user, "none-left")
	c.Items = []checkout.Item{{ProductID: "aurora-synth", Quantity: 1}}
	for range 2 {
		out, err := w.desk.Place(traced(t), c)
		require.NoError(t, err)
		require.Equal(t, "OUT_OF_STOCK", out.Failure.Code)
	}
	w.unbroken(t)
	id := operation.Identity{User: user, Type: checkout.CreateOrder, Key: "none-left"}.ID()
	in := w.find(t, id)
	require.Nil(t, in.Order)
	require.Equal(t, operation.Failed, in.Root.Status)
	require.Equal(t, console.Ended, in.Verdict.State)
	require.Equal(t, []console.Reason{{Code: "refused", Subject: "OUT_OF_STOCK"}}, in.Verdict.Reasons)
	require.Equal(t, 2, in.Verdict.Attempts)
	require.Zero(t, in.Verdict.Orders)
	require.Len(t, in.Timeline, 3, "the request, its refusal, and the replay")

	_, err := console.Find(t.Context(), w.db, uuid.New())
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestLongTimelineKeepsItsEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.place(t, uuid.New(), "key-1")
	w.exec(t, `INSERT INTO journal (kind, trace_id, operation_id, order_id, detail)
		SELECT 'operation.replayed', repeat('a', 32), $1, $2, jsonb_build_object('n', n) FROM generate_series(1, 1000) n`, out.ID, out.Result.OrderID)
	in := w.find(t, out.Result.OrderID)
	require.Equal(t, 502, in.Omitted)
	require.Equal(t, 1001, in.Verdict.Attempts, "counts don't depend on what is shown")
	var gaps []string
	for i, e := range in.Timeline {
		if e.OmittedBefore > 0 {
			gaps = append(gaps, fmt.Sprint(e.OmittedBefore, in.Timeline[i-1].Facts, e.Facts))
		}
	}
	require.Equal(t, []string{"502 [{n 248}] [{n 751}]"}, gaps)
	require.Equal(t, "http.request", in.Timeline[0].Kind)
}
