package fulfilment_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

const mail = fulfilment.SendNotification

func (b *bench) sends(t *testing.T) int {
	t.Helper()
	return paymenttest.Count(t, b.db, `SELECT coalesce(sum(sends), 0) FROM notifications WHERE order_id = $1`, b.order.ID)
}

func TestTheMailWaitsForTheLicensesAndCarriesThem(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t), paymenttest.Wish{Email: "ann@example.com"})
	for range 2 {
		b.run(t, mail)
		status, _ := b.operation(t, mail)
		require.Equal(t, "PROCESSING", status)
		require.Zero(t, b.mailer.Sends())
		require.Zero(t, b.sends(t))
	}
	_, err := b.db.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() + interval '1 hour' WHERE id = $1`, b.id(mail))
	require.NoError(t, err)
	b.run(t, fulfilment.IssueLicenses)
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE id = $1 AND next_attempt_at <= clock_timestamp()`, b.id(mail)), "woken")
	b.run(t, mail, mail)
	sent := b.mailer.Accepted()
	require.Len(t, sent, 1)
	require.Equal(t, "ann@example.com", sent[0].To)
	require.Equal(t, "mail.order-paid.order."+b.order.ID.String()+"@shop.example", sent[0].ID)
	for _, key := range b.licenses(t) {
		require.Contains(t, sent[0].Text, key)
	}
	require.Contains(t, sent[0].Text, "https://shop.example/orders/"+b.order.ID.String())
	require.Contains(t, sent[0].Text, "149.70")
	require.Equal(t, 1, b.sends(t))
}

// The server took the mail, or not, and its answer was lost: one repeat with the same Message-ID, then nobody guesses on.
func TestALostAnswerIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost     int
		accepted int
		status   string
		failure  string
	}{
		"once": {1, 2, "COMPLETED", ""}, "always": {9, 2, "FAILED", "MAIL_UNCONFIRMED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.Tx(t), paymenttest.Wish{Email: "ann@example.com"})
			b.mailer.OnSend = func(_ context.Context, n int, accept func()) error {
				accept()
				if n <= c.lost {
					return provider.Errorf(provider.Unknown, "connection closed before 250")
				}
				return nil
			}
			b.run(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus)
			for range 5 {
				b.run(t, mail)
			}
			status, failure := b.operation(t, mail)
			require.Equal(t, c.status, status)
			require.Equal(t, c.failure, failure)
			sent := b.mailer.Accepted()
			require.Len(t, sent, c.accepted)
			require.Equal(t, sent[0], sent[1])
			require.Equal(t, 2, b.sends(t))
			require.Equal(t, "FULFILLED", b.status(t), "what was bought is there; a person looks after the mail")
		})
	}
}

// A server that can't be reached costs no try, however often; a mail is never lost to an outage.
func TestAnOutageCostsNoTry(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t), paymenttest.Wish{Email: "ann@example.com"})
	b.mailer.OnSend = func(_ context.Context, n int, accept func()) error {
		if n <= 6 {
			return provider.Errorf(provider.NotSent, "refused")
		}
		accept()
		return nil
	}
	b.run(t, fulfilment.IssueLicenses)
	for n := range 6 {
		b.run(t, mail)
		require.Zero(t, b.sends(t), "try %d", n)
	}
	b.run(t, mail)
	require.Len(t, b.mailer.Accepted(), 1)
	status, _ := b.operation(t, mail)
	require.Equal(t, "COMPLETED", status)
}

func TestARefusedRecipientIsVisible(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t), paymenttest.Wish{Email: "ann@example.com"})
	b.mailer.OnSend = func(context.Context, int, func()) error {
		return &provider.Error{Kind: provider.Rejected, Code: "550"}
	}
	b.run(t, fulfilment.IssueLicenses, fulfilment.AccrueBonus, mail, mail)
	status, failure := b.operation(t, mail)
	require.Equal(t, []string{"FAILED", "MAIL_REFUSED"}, []string{status, failure})
	require.Equal(t, 1, b.mailer.Sends())
	require.Equal(t, "FULFILLED", b.status(t))
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM notifications WHERE order_id = $1 AND given_up_at IS NOT NULL AND sent_at IS NULL`, b.order.ID))
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM journal WHERE order_id = $1 AND kind = 'mail.refused'`, b.order.ID))
}

func TestWithoutAnAddressNothingIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t), paymenttest.Wish{})
	b.run(t, fulfilment.IssueLicenses, mail)
	status, _ := b.operation(t, mail)
	require.Equal(t, "COMPLETED", status)
	require.Zero(t, b.mailer.Sends())
	require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM notifications`))
}

func TestTheReceiptSpeaksTheBuyersLanguage(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.Tx(t), paymenttest.Wish{Email: "ann@example.com"})
	_, err := b.db.Exec(t.Context(), `UPDATE orders SET locale = 'ru' WHERE id = $1`, b.order.ID)
	require.NoError(t, err)
	b.run(t, fulfilment.IssueLicenses, mail)
	require.Contains(t, b.mailer.Accepted()[0].Subject, "Оплата получена")
	require.Contains(t, b.mailer.Accepted()[0].Text, "149,70")
}
