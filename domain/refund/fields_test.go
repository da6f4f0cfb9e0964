package refund_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/refund"
	"onefold/domain/store/storetest"
)

func TestFieldsOfARefundHideItsReason(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	o := paymenttest.NewOrder(t, db, paymenttest.Wish{})
	_, err := db.Exec(t.Context(), `UPDATE payments SET status = 'SUCCEEDED', provider_payment_id = 'pay_1'`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `UPDATE orders SET status = 'PAID', paid_at = now()`)
	require.NoError(t, err)
	r := &operation.Runner{DB: db, Retention: time.Hour, Wait: time.Second}
	actor := uuid.New()
	out, err := refund.Create(t.Context(), r, actor, o.ID, "k", &money.Amount{Minor: 100, Currency: "RUB"}, "Anna called", nil)
	require.NoError(t, err)
	_, err = refund.Create(t.Context(), r, actor, o.ID, "k", nil, "Anna called", nil)
	require.Equal(t, fault.KeyReused, fault.KindOf(err))

	var fields map[string]string
	paymenttest.Read(t, db, `SELECT request_fields FROM operations WHERE id = $1`, []any{out.ID}, &fields)
	require.Equal(t, "1.00 RUB", fields["amount"])
	require.Regexp(t, `^sha256:[0-9a-f]{8}$`, fields["reason"])
	var differs []operation.Difference
	paymenttest.Read(t, db, `SELECT detail -> 'differs' FROM journal WHERE kind = 'operation.key_reused'`, nil, &differs)
	require.Equal(t, []operation.Difference{{Field: "amount", First: "1.00 RUB", Later: "all that is left"}}, differs)
}
