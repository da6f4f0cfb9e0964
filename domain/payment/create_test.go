package payment_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

var errReset = provider.Errorf(provider.Unknown, "connection reset")

func TestAnAnswerIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	for range 3 {
		b.execute(t)
	}
	require.Equal(t, facts{Payment: payment.Pending, Order: "AWAITING_PAYMENT", Operation: "COMPLETED"}, b.facts(t))
	require.Len(t, b.provider.Exchanges(), 1)
	var key, url, id string
	paymenttest.Read(t, b.db, `SELECT provider_key, confirmation_url, provider_payment_id FROM payments WHERE id = $1`, []any{b.order.PaymentID}, &key, &url, &id)
	require.Equal(t, "payment:create:order:"+b.order.ID.String()+":1", key)
	require.Equal(t, paymenttest.Exchange{On: "create", Key: key}, b.provider.Exchanges()[0])
	require.Equal(t, "https://pay.example/"+b.order.Reference(), url)
	b.journaledAll(t)
}

// The answer is lost, whatever became of the call: the attempt is unknown, and ends by knowledge only.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	for name, booked := range map[string]bool{"booked": true, "not booked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.Tx(t))
			b.provider.OnCreate = func(_ context.Context, n int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
				if booked || n > 1 {
					book()
				}
				if n == 1 {
					return provider.Payment{}, errReset
				}
				return book(), nil
			}
			b.execute(t)
			require.Equal(t, facts{Payment: payment.Unknown, Order: "AWAITING_PAYMENT", Operation: "PROCESSING"}, b.facts(t))
			b.execute(t)
			require.Equal(t, payment.Pending, b.facts(t).Payment)
			require.Len(t, b.provider.Booked(), 1)
			calls := b.provider.Exchanges()
			require.Equal(t, "find", calls[1].On, "looked up before it was repeated")
			if booked {
				require.Len(t, calls, 2)
			} else {
				require.Equal(t, calls[0], calls[2], "repeated under the same key")
			}
			b.journaledAll(t)
		})
	}
}

// A provider that answers the same error for ever, and a lookup that never finds: age proves nothing.
func TestStickyErrorsStayUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, errReset
	}
	// The lookup doesn't work either: age proves nothing then (see TestC14d_… in domain/checkout for what does).
	b.provider.OnFind = func(context.Context, int, provider.Payment, error) (provider.Payment, error) {
		return provider.Payment{}, errReset
	}
	for range 5 {
		b.execute(t)
		_, err := b.db.Exec(t.Context(), `UPDATE operations SET created_at = created_at - interval '25 hours', sent_at = sent_at - interval '25 hours' WHERE status = 'PROCESSING'`)
		require.NoError(t, err)
	}
	require.Equal(t, facts{Payment: payment.Unknown, Order: "AWAITING_PAYMENT", Operation: "PROCESSING"}, b.facts(t))
	status, _ := b.hear(t, b.said(provider.Succeeded))
	require.EqualValues(t, "APPLIED", status)
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	b.journaledAll(t)
}

// A booked payment behind a sticky error is found by the lookup.
func TestStickyErrorAfterBooking(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		book()
		return provider.Payment{}, errReset
	}
	b.execute(t)
	b.provider.Say(b.order.Reference(), provider.Succeeded)
	b.execute(t)
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	require.Len(t, b.provider.Booked(), 1)
}

// A call that provably never left leaves the attempt as it was; it isn't unknown.
func TestNotSentStaysSubmitting(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(_ context.Context, n int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		if n < 4 {
			return provider.Payment{}, provider.Errorf([]provider.Kind{provider.NotSent, provider.RateLimited, provider.Auth}[n-1], "no")
		}
		return book(), nil
	}
	for range 3 {
		b.execute(t)
		require.Equal(t, payment.Submitting, b.facts(t).Payment)
		require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE sent_at IS NOT NULL`))
	}
	b.execute(t)
	require.Equal(t, payment.Pending, b.facts(t).Payment)
	require.Len(t, b.provider.Exchanges(), 4, "no lookup: nothing had been sent")
}

// A refused connection on a repeat proves nothing about the first call.
func TestNotSentOnARepeatStaysUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(_ context.Context, n int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		if n == 1 {
			book()
			return provider.Payment{}, errReset
		}
		return provider.Payment{}, provider.Errorf(provider.NotSent, "refused")
	}
	b.provider.OnFind = func(_ context.Context, n int, found provider.Payment, err error) (provider.Payment, error) {
		if n == 1 {
			return provider.Payment{}, provider.Errorf(provider.NotFound, "not indexed yet")
		}
		return found, err
	}
	b.execute(t)
	b.execute(t)
	require.Equal(t, payment.Unknown, b.facts(t).Payment)
	b.execute(t)
	require.Equal(t, payment.Pending, b.facts(t).Payment)
}

func TestARejectionIsFinal(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, &provider.Error{Kind: provider.Rejected, Code: "card_declined"}
	}
	for range 2 {
		b.execute(t)
		require.Equal(t, facts{Payment: payment.Failed, Order: "AWAITING_PAYMENT", Operation: "FAILED"}, b.facts(t))
	}
	var payFailure, opFailure string
	paymenttest.Read(t, b.db, `SELECT p.failure_code, o.failure_code FROM payments p JOIN operations o ON o.id = p.operation_id WHERE p.id = $1`,
		[]any{b.order.PaymentID}, &payFailure, &opFailure)
	require.Equal(t, []string{"card_declined", "PAYMENT_REJECTED"}, []string{payFailure, opFailure})
	b.journaledAll(t)
}

// An answer about other money changes nothing but a flag, and leaves the attempt unknown: a new one must not start.
func TestAnAnswerAboutOtherMoney(t *testing.T) {
	t.Parallel()
	for reason, twist := range map[string]func(*provider.Payment){
		"amount_mismatch":    func(p *provider.Payment) { p.Amount.Minor++ },
		"currency_mismatch":  func(p *provider.Payment) { p.Amount.Currency = "USD" },
		"reference_mismatch": func(p *provider.Payment) { p.Reference = p.ID },
		"unknown_status":     func(p *provider.Payment) { p.Status = "odd" },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.Tx(t))
			b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
				p := book()
				twist(&p)
				return p, nil
			}
			b.execute(t)
			require.Equal(t, facts{Payment: payment.Unknown, Order: "AWAITING_PAYMENT", Operation: "FAILED", Review: reason}, b.facts(t))
			b.journaledAll(t)
		})
	}
}

// The event is faster than the answer: the call's late answer finds everything done.
func TestAnEventWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		answer := book()
		status, _ := b.hear(t, b.said(provider.Succeeded))
		require.EqualValues(t, "APPLIED", status)
		return answer, nil
	}
	b.execute(t)
	require.Equal(t, facts{Payment: payment.Succeeded, Order: "PAID", Operation: "COMPLETED", Paid: 1}, b.facts(t))
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'operation.already_settled'`))
	b.journaledAll(t)
}

func TestForeignErrorsAreUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t))
	b.provider.OnCreate = func(context.Context, int, provider.CreatePayment, paymenttest.Book) (provider.Payment, error) {
		return provider.Payment{}, errors.New("a defect of the adapter")
	}
	b.execute(t)
	require.Equal(t, payment.Unknown, b.facts(t).Payment)
}

// TestC15_AgeAsksForAPersonAndNothingElse: after a day the order is under review, the payment as unknown as before; the answer takes
// it out again.
func TestC15_AgeAsksForAPersonAndNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	lost := func(_ context.Context, _ int, _ provider.CreatePayment, book paymenttest.Book) (provider.Payment, error) {
		book()
		return provider.Payment{}, provider.Errorf(provider.Unknown, "lost")
	}
	down := true
	b.provider.OnCreate = lost
	b.provider.OnFind = func(_ context.Context, _ int, found provider.Payment, err error) (provider.Payment, error) {
		if down {
			return provider.Payment{}, provider.Errorf(provider.Unknown, "down")
		}
		return found, err
	}
	look := func() (state, order, reason string) {
		paymenttest.MakeDue(t, b.db)
		b.execute(t)
		paymenttest.Read(t, b.db, `SELECT p.status, o.status, coalesce(o.review_reason, '') FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.id = $1`,
			[]any{b.order.ID}, &state, &order, &reason)
		return state, order, reason
	}
	for range 3 {
		state, order, reason := look()
		require.Equal(t, []string{"UNKNOWN", "AWAITING_PAYMENT", ""}, []string{state, order, reason})
	}
	_, err := b.db.Exec(t.Context(), `UPDATE payments SET created_at = now() - interval '25 hours'`)
	require.NoError(t, err)
	for range 2 {
		state, order, reason := look()
		require.Equal(t, []string{"UNKNOWN", "AWAITING_PAYMENT", "unknown_for_long"}, []string{state, order, reason})
	}
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'order.flagged'`))
	down = false
	state, order, reason := look()
	require.Equal(t, []string{"PENDING", "AWAITING_PAYMENT", ""}, []string{state, order, reason})
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE kind = 'order.answered'`))
	require.Len(t, b.provider.Booked(), 1)
}
