package payment_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/store/storetest"
)

func TestEveryMove(t *testing.T) {
	t.Parallel()
	final := []payment.State{payment.Pending, payment.Succeeded, payment.Canceled, payment.Failed}
	allowed := map[payment.State][]payment.State{
		payment.Created:           {payment.Submitting},
		payment.Submitting:        append([]payment.State{payment.Unknown}, final...),
		payment.Unknown:           final,
		payment.Pending:           final[1:],
		payment.Succeeded:         {payment.PartiallyRefunded, payment.Refunded},
		payment.PartiallyRefunded: {payment.Refunded},
	}
	for _, from := range payment.States() {
		for _, to := range payment.States() {
			want := false
			for _, s := range allowed[from] {
				want = want || s == to
			}
			require.Equal(t, want, from.CanMove(to), "%s to %s", from, to)
		}
	}
}

// A state is open, has captured money, or ended without any: never two of them.
func TestOpenAndCapturedDivideTheStates(t *testing.T) {
	t.Parallel()
	for _, s := range payment.States() {
		ended := s == payment.Canceled || s == payment.Failed
		n := 0
		for _, is := range []bool{s.Open(), s.Captured(), ended} {
			if is {
				n++
			}
		}
		require.Equal(t, 1, n, s)
	}
}

func TestStatesAreTheSchemas(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	read := func(sql string) (states []payment.State) {
		var definition string
		paymenttest.Read(t, tx, sql, nil, &definition)
		for _, word := range regexp.MustCompile(`'([A-Z_]+)'`).FindAllStringSubmatch(definition, -1) {
			states = append(states, payment.State(word[1]))
		}
		return states
	}
	require.ElementsMatch(t, read(`SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'payments_status_check'`), payment.States())
	var open []payment.State
	for _, s := range payment.States() {
		if s.Open() {
			open = append(open, s)
		}
	}
	require.ElementsMatch(t, read(`SELECT pg_get_expr(indpred, indrelid) FROM pg_index WHERE indexrelid = 'one_open_payment'::regclass`), open)
}
