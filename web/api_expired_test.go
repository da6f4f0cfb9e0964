package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
)

// Every command refuses a key whose operation retention has removed while what it made is there.
func TestExpiredKeysOfTheOtherCommands(t *testing.T) {
	t.Parallel()
	var worker canceler
	s := newShop(t, worker.option)
	worker.s = s
	token, operator := s.shopper(), s.somebody(account.Operator)
	order := "/api/orders/" + s.order(token, "k", pixel).placed(t)
	s.exec(`UPDATE payments SET status = 'FAILED'`)
	type call struct{ path, token, body, made string }
	calls := []call{
		{order + "/payments", token, "", "payment "},
		{"/api/leads", token, `{"name":"Ada","email":"ada@example.com","message":"Do you ship?"}`, "enquiry "},
	}
	require.Equal(t, http.StatusAccepted, s.command(calls[0].path, token, "x", "").Status)
	require.Equal(t, http.StatusCreated, s.command(calls[1].path, token, "x", calls[1].body).Status)
	s.exec(`UPDATE payments SET status = 'FAILED'`)
	require.Equal(t, http.StatusOK, s.command(order+"/cancel", token, "x", "").Status)
	refund := call{s.captured(), operator, refundOf("1.00"), "refund "}
	require.Equal(t, http.StatusAccepted, s.command(refund.path, operator, "x", refund.body).Status)
	s.exec(`DELETE FROM operations`)
	counts := func() int {
		return s.count(`SELECT (SELECT count(*) FROM payments) + (SELECT count(*) FROM leads) + (SELECT count(*) FROM refunds) + (SELECT count(*) FROM operations)`)
	}
	before := counts()
	for _, c := range append(calls, call{order + "/cancel", token, "", "cancellation "}, refund) {
		for range 2 {
			p := s.command(c.path, c.token, "x", c.body).refused(t, http.StatusGone, "IDEMPOTENCY_KEY_EXPIRED", c.path)
			require.Contains(t, p.Detail, c.made)
		}
	}
	require.Equal(t, before, counts())
}
