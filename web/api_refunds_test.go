package web_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/account"
)

// captured is a paid order of 499.00 RUB.
func (s *shop) captured() (path string) {
	s.t.Helper()
	id := s.order(s.shopper(), uuid.NewString(), basket(item("pixel-orchard", 10))).placed(s.t)
	s.exec(`UPDATE payments SET status = 'SUCCEEDED', provider_payment_id = id::text, succeeded_at = now() WHERE status = 'CREATED'`)
	s.exec(`UPDATE orders SET status = 'PAID', paid_at = now() WHERE status = 'AWAITING_PAYMENT'`)
	return "/api/orders/" + id + "/refunds"
}

func refundOf(amount string) string {
	return `{"amount":{"amount":"` + amount + `","currency":"RUB"},"reason":"Bought twice"}`
}

func TestARefundOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	operator, path := s.somebody(account.Operator), s.captured()
	first := s.command(path, operator, "k", refundOf("100.00"))
	require.Equal(t, http.StatusAccepted, first.Status, first.Body)
	for _, same := range []string{refundOf("100.00"), refundOf("100"), `{"reason":"  Bought  twice ","amount":{"currency":"RUB","amount":"100.0"},"x":1}`} {
		s.command(path, operator, "k", same).replays(t, first)
	}
	for _, other := range []string{refundOf("100.01"), `{"reason":"Bought twice"}`, `{"amount":{"amount":"100.00","currency":"RUB"},"reason":"Another"}`} {
		s.command(path, operator, "k", other).refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED", other)
	}
	// The same again with another key, or by a colleague, is meant.
	require.Equal(t, http.StatusAccepted, s.command(path, operator, "k2", refundOf("100.00")).Status)
	require.Equal(t, http.StatusAccepted, s.command(path, s.somebody(account.Admin), "k", refundOf("100.00")).Status)
	// What is on its way counts as gone.
	s.command(path, operator, "k3", refundOf("199.01")).refused(t, http.StatusUnprocessableEntity, "REFUND_EXCEEDS_PAYMENT")
	rest := s.command(path, operator, "k3", `{"reason":"All of it"}`)
	require.Equal(t, http.StatusAccepted, rest.Status, "nothing was bound to the key")
	require.Contains(t, rest.Body, `{"amount":"199.00","currency":"RUB"}`)
	s.command(path, operator, "k4", refundOf("0.01")).refused(t, http.StatusUnprocessableEntity, "REFUND_EXCEEDS_PAYMENT")
	s.command(path, operator, "k", refundOf("100.00")).replays(t, first)
	require.Equal(t, 49900, s.count(`SELECT sum(amount_minor) FROM refunds`))
}

func TestRefundsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	operator, path := s.somebody(account.Operator), s.captured()
	for _, role := range []account.Role{account.Shopper, account.Viewer, account.Support} {
		s.command(path, s.somebody(role), "k", refundOf("1.00")).refused(t, http.StatusForbidden, "FORBIDDEN", role)
	}
	for _, body := range []string{
		refundOf("0.00"), refundOf("-1.00"), refundOf("1.001"), refundOf("1e2"), refundOf("1,00"), refundOf(" 1.00"), refundOf(""),
		`{"amount":{"amount":"1.00","currency":"USD"},"reason":"x"}`, `{"amount":{"amount":"1.00"},"reason":"x"}`, `{}`, `{"reason":" "}`, `{"reason":"a\u0000b"}`,
	} {
		s.command(path, operator, "k", body).refused(t, http.StatusUnprocessableEntity, "VALIDATION_FAILED", body)
	}
	for _, body := range []string{"", `{"amount":1.00,"reason":"x"}`, `{"amount":{"amount":1.00,"currency":"RUB"},"reason":"x"}`, `{"reason":"x","reason":"y"}`} {
		s.command(path, operator, "k", body).refused(t, http.StatusBadRequest, "MALFORMED_BODY", body)
	}
	for _, id := range []string{uuid.NewString(), "x"} {
		s.command("/api/orders/"+id+"/refunds", operator, "k", refundOf("1.00")).refused(t, http.StatusNotFound, "NOT_FOUND")
	}
	s.command(path, operator, "", refundOf("1.00")).refused(t, http.StatusBadRequest, "IDEMPOTENCY_KEY_MISSING")
	unpaid := s.order(s.shopper(), "k", pixel).placed(t)
	s.command("/api/orders/"+unpaid+"/refunds", operator, "k", refundOf("1.00")).refused(t, http.StatusConflict, "ORDER_STATE")
	require.Zero(t, s.count(`SELECT count(*) FROM refunds`))
	require.Zero(t, s.count(`SELECT count(*) FROM operations WHERE type = 'REFUND_ORDER'`))
}

// Two presses, or two operators, never send back more than there is.
func TestRefundsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	operator, path := s.somebody(account.Operator), s.captured()
	s.listen()
	taken := 0
	for _, a := range together(t, 20, func(i int) (answer, error) {
		key := "same"
		if i%2 == 1 {
			key = uuid.NewString()
		}
		return s.try(http.MethodPost, path, refundOf("200.00"), "Authorization", "Bearer "+operator, "Idempotency-Key", key)
	}) {
		switch a.Status {
		case http.StatusAccepted:
			if a.Header.Get("Idempotent-Replayed") == "" {
				taken++
			}
		case http.StatusConflict:
			a.refused(t, http.StatusConflict, "OPERATION_IN_PROGRESS")
		default:
			a.refused(t, http.StatusUnprocessableEntity, "REFUND_EXCEEDS_PAYMENT")
		}
	}
	require.Equal(t, 2, taken)
	require.Equal(t, 40000, s.count(`SELECT sum(amount_minor) FROM refunds`))
}

func TestAnOrderShowsItsRefunds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	owner, operator := s.shopper(), s.somebody(account.Operator)
	placed := s.order(owner, "k", pixel)
	require.Contains(t, placed.Body, `"refunds":[]`)
	id := placed.placed(t)
	s.exec(`UPDATE payments SET status = 'SUCCEEDED', provider_payment_id = id::text, succeeded_at = now()`)
	s.exec(`UPDATE orders SET status = 'PAID', paid_at = now()`)
	made := s.command("/api/orders/"+id+"/refunds", operator, "k", refundOf("1.00"))
	require.Equal(t, http.StatusAccepted, made.Status, made.Body)
	require.Empty(t, made.Header.Get("Location"))
	require.Positive(t, s.wakes.Load())
	var o struct {
		Refunds []struct{ RefundID, Status string }
	}
	s.get("/api/orders/"+id, owner).into(t, &o)
	require.Len(t, o.Refunds, 1)
	require.Equal(t, "CREATED", o.Refunds[0].Status)
	require.Contains(t, made.Body, o.Refunds[0].RefundID)
}
