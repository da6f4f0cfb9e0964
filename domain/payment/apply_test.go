package payment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"onefold/domain/inbox"
	"onefold/domain/money"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

// put moves the order's attempt to a state by SQL.
func (b *bench) put(t *testing.T, s payment.State) {
	t.Helper()
	_, err := b.db.Exec(t.Context(), `UPDATE payments SET status = $2, provider_payment_id = CASE WHEN $2 IN ('CREATED','SUBMITTING','UNKNOWN') THEN NULL ELSE $3 END
		WHERE id = $1`, b.order.PaymentID, s, "pay_"+b.order.Reference())
	require.NoError(t, err)
	if s.Captured() {
		_, err = b.db.Exec(t.Context(), `UPDATE orders SET status = 'PAID', paid_at = now() WHERE id = $1`, b.order.ID)
		require.NoError(t, err)
	}
}

// Whatever an event says in whatever state: forward, nothing, or a flag; never back.
func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	for _, at := range payment.States() {
		for said, to := range map[provider.Status]payment.State{
			provider.Pending: payment.Pending, provider.Succeeded: payment.Succeeded, provider.Canceled: payment.Canceled, provider.Failed: payment.Failed,
		} {
			t.Run(fmt.Sprintf("%s hears %s", at, said), func(t *testing.T) {
				t.Parallel()
				b := setup(t, storetest.Tx(t))
				b.put(t, at)
				before := b.facts(t)
				status, reason := b.hear(t, b.said(said))
				after := b.facts(t)
				switch {
				case at == payment.Created:
					require.Equal(t, inbox.Received, status, "early: it waits until the attempt is submitted")
					require.Equal(t, before, after)
					return
				case at.CanMove(to):
					require.Equal(t, inbox.Applied, status)
					require.Equal(t, to, after.Payment)
				case at == to:
					require.Equal(t, inbox.NoChange, status)
					require.Equal(t, at, after.Payment)
				case to == payment.Succeeded && !at.Captured():
					require.Equal(t, inbox.Applied, status)
					require.Equal(t, at, after.Payment)
					require.Equal(t, "success_after_"+strings.ToLower(string(at)), after.Review)
				default:
					require.Equal(t, inbox.Stale, status)
					require.Equal(t, "payment_is_"+string(at), reason)
					require.Equal(t, at, after.Payment)
				}
				require.Equal(t, "COMPLETED", after.Operation, "nothing is left to ask")
				if to == payment.Succeeded && at.CanMove(to) {
					require.Equal(t, "PAID", after.Order)
					require.Equal(t, 1, after.Paid)
				} else {
					require.Equal(t, before.Order, after.Order)
					require.Zero(t, after.Paid)
				}
				again, _ := b.hear(t, b.said(said))
				require.Contains(t, []inbox.Status{inbox.NoChange, inbox.Stale, inbox.Applied}, again)
				require.Equal(t, after, b.facts(t), "the same fact under a second event ID")
			})
		}
	}
}

func TestFactsAboutMoneyAreCompared(t *testing.T) {
	t.Parallel()
	for reason, twist := range map[string]func(*provider.Payment){
		"amount_mismatch":         func(p *provider.Payment) { p.Amount.Minor-- },
		"currency_mismatch":       func(p *provider.Payment) { p.Amount = money.Amount{Minor: p.Amount.Minor, Currency: "USD"} },
		"reference_mismatch":      func(p *provider.Payment) { p.Reference = uuid.NewString() },
		"second_provider_payment": func(p *provider.Payment) { p.ID = "pay_other" },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.Tx(t))
			b.execute(t)
			said := b.said(provider.Succeeded)
			twist(&said)
			for range 2 {
				status, why := b.hear(t, said)
				require.Equal(t, inbox.Quarantined, status)
				require.Equal(t, reason, why)
				require.Equal(t, facts{Payment: payment.Pending, Order: "AWAITING_PAYMENT", Operation: "COMPLETED", Review: reason}, b.facts(t))
			}
			status, _ := b.hear(t, b.said(provider.Succeeded))
			require.Equal(t, inbox.Applied, status, "a contradiction doesn't stop the truth")
			require.Equal(t, 1, b.facts(t).Paid)
		})
	}
}

// The first success ever on a closed order is money without an order.
func TestMoneyForAClosedOrder(t *testing.T) {
	t.Parallel()
	for _, closed := range []string{"CANCELED", "EXPIRED"} {
		b := setup(t, storetest.Tx(t))
		b.put(t, payment.Pending)
		_, err := b.db.Exec(t.Context(), `UPDATE orders SET status = $2 WHERE id = $1`, b.order.ID, closed)
		require.NoError(t, err)
		for range 3 {
			b.hear(t, b.said(provider.Succeeded))
			require.Equal(t, facts{Payment: payment.Succeeded, Order: closed, Operation: "COMPLETED", Review: "paid_after_close"}, b.facts(t))
			var back int
			paymenttest.Read(t, b.db, `SELECT count(*) FROM payments p JOIN operations op ON op.order_id = p.order_id AND op.type = 'REFUND_ORPHAN'
				WHERE p.id = $1 AND p.orphaned_at IS NOT NULL`, []any{b.order.PaymentID}, &back)
			require.Equal(t, 1, back, "its way back is planned, once")
		}
	}
}

// Whatever a handler forgets, the database allows one open attempt per order.
func TestTheDatabaseAllowsOneOpenAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	_, err := b.db.Exec(t.Context(), `INSERT INTO payments (id, order_id, attempt, operation_id, status, amount_minor, currency, provider, provider_key)
		SELECT gen_random_uuid(), order_id, 2, gen_random_uuid(), 'CREATED', amount_minor, currency, provider, 'another' FROM payments WHERE id = $1`, b.order.PaymentID)
	require.ErrorContains(t, err, "one_open_payment")
}

// The webhook is faster than our commit: it waits, and is applied without another delivery.
func TestAnEventBeforeItsOrder(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db)
	b.applier.MaxWaits = 3
	placing, err := db.Begin(t.Context())
	require.NoError(t, err)
	b.order = paymenttest.NewOrder(t, placing, paymenttest.Wish{})
	e, body := paymenttest.Webhook("evt_early", b.said(provider.Succeeded))
	r, err := inbox.Receive(t.Context(), db, paymenttest.Name, e, body)
	require.NoError(t, err)
	apply := func() (status, reason string, attempts int, due bool) {
		require.NoError(t, b.applier.Apply(t.Context(), r.ID))
		paymenttest.Read(t, db, `SELECT status, coalesce(reason, ''), attempts, next_attempt_at > clock_timestamp() IS TRUE FROM incoming_events WHERE id = $1`,
			[]any{r.ID}, &status, &reason, &attempts, &due)
		return status, reason, attempts, due
	}
	status, reason, attempts, due := apply()
	require.Equal(t, []any{"RECEIVED", "waiting_for_object", 1, true}, []any{status, reason, attempts, due})
	require.NoError(t, placing.Commit(t.Context()))
	status, _, _, _ = apply()
	require.Equal(t, "RECEIVED", status, "the order is there, its payment not submitted yet")
	b.execute(t)
	status, _, _, _ = apply()
	require.Equal(t, "APPLIED", status)
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
}

func TestWhatNeverShowsUpIsQuarantined(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.applier.MaxWaits = 3
	stranger := b.said(provider.Succeeded)
	stranger.ID, stranger.Reference = "pay_stranger", uuid.NewString()
	e, body := paymenttest.Webhook("evt_stranger", stranger)
	r, err := inbox.Receive(t.Context(), b.db, paymenttest.Name, e, body)
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, b.applier.Apply(t.Context(), r.ID))
		var status, reason string
		paymenttest.Read(t, b.db, `SELECT status, reason FROM incoming_events WHERE id = $1`, []any{r.ID}, &status, &reason)
		if i < 2 {
			require.Equal(t, "RECEIVED", status)
			continue
		}
		require.Equal(t, []string{"QUARANTINED", "unknown_object"}, []string{status, reason})
	}
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'inbox.quarantined' AND incoming_event_id = $1`, r.ID))
}

func TestEventsThatAreNotAboutAPayment(t *testing.T) {
	t.Parallel()
	db := storetest.Tx(t)
	b := setup(t, db)
	for _, c := range []struct {
		provider, id, payload string
		want                  inbox.Status
		reason                string
	}{
		{paymenttest.Name, "e1", `{"ID":"e1","Type":"shipment.delivered"}`, inbox.Ignored, "no_payment"},
		{paymenttest.Name, "e2", "not JSON \x00\xff", inbox.Quarantined, "not_understood"},
		{"elsewhere", "e1", `{}`, inbox.Quarantined, "provider_not_configured"},
	} {
		r, err := inbox.Receive(t.Context(), db, c.provider, provider.Event{ID: c.id, Type: "x", ObjectID: "y"}, []byte(c.payload))
		require.NoError(t, err)
		require.NoError(t, b.applier.Apply(t.Context(), r.ID))
		var status inbox.Status
		var reason string
		var payload []byte
		paymenttest.Read(t, db, `SELECT status, reason, payload FROM incoming_events WHERE id = $1`, []any{r.ID}, &status, &reason, &payload)
		require.Equal(t, c.want, status)
		require.Equal(t, c.reason, reason)
		require.Equal(t, c.payload, string(payload))
	}
	require.NoError(t, b.applier.Apply(t.Context(), uuid.New()), "an event that is gone")
}

// Twenty different events about one success, applied at the same moment, each twice, while the executor looks too.
func TestManyEventsOneFact(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db)
	b.execute(t)
	ids := make([]uuid.UUID, 20)
	for i := range ids {
		e, body := paymenttest.Webhook(fmt.Sprintf("evt_%d", i), b.said(provider.Succeeded))
		r, err := inbox.Receive(t.Context(), db, paymenttest.Name, e, body)
		require.NoError(t, err)
		ids[i] = r.ID
	}
	errs := make([]error, 41)
	together(41, func(i int) {
		if i == 40 {
			errs[i] = b.executor.Execute(t.Context(), b.order.Payment)
			return
		}
		errs[i] = b.applier.Apply(t.Context(), ids[i/2])
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM incoming_events WHERE status = 'APPLIED'`))
	require.Equal(t, 19, paymenttest.Count(t, db, `SELECT count(*) FROM incoming_events WHERE status = 'NO_CHANGE'`))
	require.Equal(t, 20, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind IN ('inbox.applied', 'inbox.no_change')`))
	require.Equal(t, 1, paymenttest.Count(t, db, `SELECT count(*) FROM journal WHERE kind = 'order.paid'`))
	b.journaledAll(t)
}

// Retention may have removed the operation long before a late event comes.
func TestAnEventAfterItsOperationWasCleanedAway(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.execute(t)
	_, err := b.db.Exec(t.Context(), `DELETE FROM operations`)
	require.NoError(t, err)
	status, _ := b.hear(t, b.said(provider.Succeeded))
	require.Equal(t, inbox.Applied, status)
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM orders WHERE status = 'PAID'`))
}

// A payment is found by the provider's ID or by our reference without reading the table, and the executor finds its own too.
func TestLookupsUseAnIndex(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	_, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off`)
	require.NoError(t, err)
	for _, sql := range []string{
		`SELECT id FROM payments WHERE provider = 'x' AND (provider_payment_id = 'y' OR id = '00000000-0000-0000-0000-000000000001')`,
		`SELECT id FROM payments WHERE operation_id = '00000000-0000-0000-0000-000000000001' FOR UPDATE`,
		`SELECT id FROM operations WHERE status = 'PROCESSING' AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT 5 FOR UPDATE SKIP LOCKED`,
		`SELECT id FROM incoming_events WHERE status = 'RECEIVED' AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT 5 FOR UPDATE SKIP LOCKED`,
		`SELECT id FROM outbox_events WHERE dispatched_at IS NULL AND parked_at IS NULL AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT 5 FOR UPDATE SKIP LOCKED`,
		`SELECT id FROM operations WHERE order_id = '00000000-0000-0000-0000-000000000001' AND type = 'X' AND status <> 'COMPLETED'`,
		`SELECT 1 FROM licenses WHERE order_id = '00000000-0000-0000-0000-000000000001'`,
	} {
		rows, err := tx.Query(t.Context(), `EXPLAIN `+sql)
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan", sql)
	}
}

// Events and answers in any order, repeated at will, end where the provider ended, and pay the order once.
func TestAnyOrderOfNewsEndsTheSame(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	ends := map[provider.Status]facts{
		provider.Succeeded: {Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1},
		provider.Canceled:  {Payment: payment.Canceled, Order: "AWAITING_PAYMENT", Operation: "COMPLETED"},
		provider.Failed:    {Payment: payment.Failed, Order: "AWAITING_PAYMENT", Operation: "COMPLETED"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := setup(t, tx)
		end := rapid.SampledFrom([]provider.Status{provider.Succeeded, provider.Canceled, provider.Failed}).Draw(rt, "end")
		lost := rapid.Bool().Draw(rt, "first answer lost")
		b.provider.OnCreate = lostIf(lost)
		b.execute(t)
		news := rapid.Permutation(rapid.SliceOfN(rapid.SampledFrom([]string{"pending", "end", "look"}), 0, 6).Draw(rt, "news")).Draw(rt, "order")
		for _, n := range append(news, "end") {
			switch n {
			case "pending":
				b.hear(t, b.said(provider.Pending))
			case "end":
				b.provider.Say(b.order.Reference(), end)
				b.hear(t, b.said(end))
			case "look":
				b.execute(t)
			}
			require.LessOrEqual(rt, b.facts(t).Paid, 1)
		}
		require.Equal(rt, ends[end], b.facts(t))
		b.journaledAll(t)
	})
}

// News that contradict each other (paid and canceled) may end either way, but money is never dropped and never counted twice.
func TestContradictingNewsNeverLoseMoney(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := setup(t, tx)
		b.provider.OnCreate = lostIf(rapid.Bool().Draw(rt, "first answer lost"))
		b.execute(t)
		said := rapid.SliceOfN(rapid.SampledFrom([]provider.Status{provider.Pending, provider.Succeeded, provider.Canceled, provider.Failed}), 1, 6).Draw(rt, "events")
		money := false
		for _, s := range said {
			b.hear(t, b.said(s))
			money = money || s == provider.Succeeded
			f := b.facts(t)
			paid := f.Payment == payment.Succeeded && f.Order == "PAID" && f.Paid == 1
			require.Equal(rt, money, paid || f.Review != "", "%v", f)
			require.False(rt, paid && f.Review != "")
		}
		b.journaledAll(t)
	})
}

func lostIf(lost bool) func(ctx context.Context, n int, in provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
	return func(_ context.Context, n int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		made := book()
		if lost && n == 1 {
			return provider.Payment{}, errReset
		}
		return made, nil
	}
}

// The answer's transaction and the event's lock in one order: they wait for each other and never deadlock.
func TestAnswerAndEventDontDeadlock(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	b := setup(t, db)
	for i := range 30 {
		b.order = paymenttest.NewOrder(t, db, paymenttest.Wish{})
		e, body := paymenttest.Webhook(fmt.Sprintf("evt_%d", i), b.said(provider.Succeeded))
		r, err := inbox.Receive(t.Context(), db, paymenttest.Name, e, body)
		require.NoError(t, err)
		errs := make([]error, 3)
		together(3, func(n int) {
			if n == 0 {
				errs[n] = b.executor.Execute(t.Context(), b.order.Payment)
				return
			}
			errs[n] = b.applier.Apply(t.Context(), r.ID)
		})
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.NoError(t, errs[2])
		require.NoError(t, b.applier.Apply(t.Context(), r.ID), "if it was early, it comes again")
		require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	}
	var deadlocks int
	require.Eventually(t, func() bool { // statistics arrive late; they count what InTx has hidden
		return db.QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database() AND xact_commit > 0`).Scan(&deadlocks) == nil
	}, 5*time.Second, 50*time.Millisecond)
	require.Zero(t, deadlocks)
}
