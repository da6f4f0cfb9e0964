package refund_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/refund"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

func TestEveryMove(t *testing.T) {
	t.Parallel()
	allowed := map[[2]refund.State]bool{
		{refund.Created, refund.Submitting}: true, {refund.Submitting, refund.Unknown}: true, {refund.Submitting, refund.Succeeded}: true,
		{refund.Submitting, refund.Failed}: true, {refund.Unknown, refund.Succeeded}: true, {refund.Unknown, refund.Failed}: true,
	}
	for _, from := range refund.States() {
		for _, to := range refund.States() {
			require.Equal(t, allowed[[2]refund.State{from, to}], from.CanMove(to), "%s to %s", from, to)
		}
	}
	var definition string
	paymenttest.Read(t, storetest.Tx(t), `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'refunds_status_check'`, nil, &definition)
	var states []refund.State
	for _, word := range regexp.MustCompile(`'([A-Z_]+)'`).FindAllStringSubmatch(definition, -1) {
		states = append(states, refund.State(word[1]))
	}
	require.ElementsMatch(t, states, refund.States())
}

// What an event names is found without reading the table.
func TestLookupsUseAnIndex(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	_, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off`)
	require.NoError(t, err)
	for _, sql := range []string{
		`SELECT id FROM refunds WHERE provider = 'x' AND (provider_refund_id = 'y' OR id = '00000000-0000-0000-0000-000000000001')`,
		`SELECT id FROM refunds WHERE operation_id = '00000000-0000-0000-0000-000000000001' FOR UPDATE`,
		`SELECT sum(amount_minor) FROM refunds WHERE payment_id = '00000000-0000-0000-0000-000000000001' AND status <> 'FAILED'`,
		`SELECT id FROM refunds WHERE order_id = '00000000-0000-0000-0000-000000000001' ORDER BY id`,
		`SELECT id FROM payments WHERE provider = 'x' AND provider_payment_id = 'y'`,
	} {
		rows, err := tx.Query(t.Context(), `EXPLAIN `+sql)
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan", sql)
	}
}

func TestAKeyIsOneRefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	first, err := b.ask(t, id, "k", "4.00")
	require.NoError(t, err)
	require.Regexp(t, `^\{"refundId":"[0-9a-f-]{36}","amount":\{"amount":"4.00","currency":"RUB"\},"status":"CREATED"\}$`, first.Result.Body)
	for range 2 {
		again, err := b.ask(t, id, "k", "4.00")
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, first.Result, again.Result)
		b.work(t, refund.CreateRefund)
	}
	for _, other := range []string{"4.01", ""} {
		_, err = b.ask(t, id, "k", other)
		require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))
	}
	require.Equal(t, "400", b.facts(t, id).Refunded)
	_, err = b.ask(t, id, "k2", "4.00")
	require.NoError(t, err, "as much again under another key is another intent")
	b.work(t, refund.CreateRefund)
	require.Equal(t, []string{"4.00", "4.00"}, b.booked(t))
	b.clean(t)
}

// C37 a: the same press twice at the same moment.
func TestC37_OnePressIsOneRefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.paid(t)
	outs, errs := make([]operation.Outcome, 20), make([]error, 20)
	together(20, func(i int) { outs[i], errs[i] = b.ask(t, id, "press", "4.00") })
	for i := range outs {
		require.NoError(t, errs[i])
		require.Equal(t, outs[0].Result, outs[i].Result)
	}
	b.work(t, refund.CreateRefund)
	require.Equal(t, []string{"4.00"}, b.booked(t))
}

// Many refunds of the whole amount at one moment: one fits.
func TestTheWholeAmountGoesBackOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, amount := range []string{"", "10.00"} {
		id := b.fulfilled(t)
		codes := make([]string, 8)
		together(len(codes), func(i int) {
			_, err := refund.Create(t.Context(), b.desk.Operations, b.actor, id, "k"+string(rune('a'+i)), rub(t, amount), "again", nil)
			codes[i] = code(t, err)
		})
		refused := 0
		for _, c := range codes {
			if c != "" {
				require.Equal(t, "REFUND_EXCEEDS_PAYMENT", c)
				refused++
			}
		}
		require.Equal(t, len(codes)-1, refused)
		b.work(t, refund.CreateRefund)
		b.hear(t, b.hook(t))
		require.Equal(t, refunded(), b.facts(t, id))
		_, err := b.ask(t, id, "once more", "")
		require.Equal(t, "REFUND_EXCEEDS_PAYMENT", code(t, err))
		b.relay(t)
		b.work(t, fulfilment.ReverseEffects)
	}
	require.Len(t, b.booked(t), 2)
	b.clean(t)
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paid, open := b.paid(t), b.placed(t)
	for name, c := range map[string]struct {
		order  uuid.UUID
		amount *money.Amount
		reason string
		want   string
	}{
		"no order":          {uuid.New(), nil, "x", "NOT_FOUND"},
		"not paid":          {open, nil, "x", "ORDER_STATE"},
		"no reason":         {paid, nil, " \n ", "VALIDATION_FAILED"},
		"long reason":       {paid, nil, strings.Repeat("я", 501), "VALIDATION_FAILED"},
		"NUL in the reason": {paid, nil, "a\x00b", "VALIDATION_FAILED"},
		"nothing":           {paid, &money.Amount{Minor: 0, Currency: "RUB"}, "x", "VALIDATION_FAILED"},
		"less than nothing": {paid, &money.Amount{Minor: -1, Currency: "RUB"}, "x", "VALIDATION_FAILED"},
		"other currency":    {paid, &money.Amount{Minor: 100, Currency: "USD"}, "x", "VALIDATION_FAILED"},
		"too much":          {paid, &money.Amount{Minor: 1001, Currency: "RUB"}, "x", "REFUND_EXCEEDS_PAYMENT"},
		"far too much":      {paid, &money.Amount{Minor: 1<<62 + 1, Currency: "RUB"}, "x", "REFUND_EXCEEDS_PAYMENT"},
	} {
		for range 2 {
			_, err := refund.Create(t.Context(), b.desk.Operations, b.actor, c.order, "k", c.amount, c.reason, nil)
			require.Equal(t, c.want, code(t, err), name)
		}
	}
	out, err := refund.Create(t.Context(), b.desk.Operations, b.actor, paid, "k", nil, strings.Repeat("я", 500), nil)
	require.NoError(t, err, "nothing was bound to the key")
	require.False(t, out.Replayed)
}

// Money that its order couldn't take goes back by itself, once, and the order stays where it is and under review.
func TestOrphansGoBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(*testing.T, *bench) (id uuid.UUID, attempt int)
		want facts
	}{
		"paid after close": {closed, facts{
			Order: "CANCELED", Review: "paid_after_close", Payments: "REFUNDED", Refunded: "1000", Refunds: "SUCCEEDED", Operations: "COMPLETED",
		}},
		"success after canceled": {canceled, facts{
			Order: "AWAITING_PAYMENT", Review: "success_after_canceled", Payments: "CANCELED", Refunded: "1000", Refunds: "SUCCEEDED", Operations: "COMPLETED",
		}},
		"success of attempt 1 after attempt 2 paid": {overtaken, facts{
			Order: "PAID", Review: "success_after_canceled", Payments: "CANCELED SUCCEEDED", Refunded: "1000 0", Refunds: "SUCCEEDED", Operations: "COMPLETED",
		}},
		"second payment": {second, facts{
			Order: "PAID", Review: "second_payment", Payments: "SUCCEEDED REFUNDED", Refunded: "0 1000", Refunds: "SUCCEEDED", Operations: "COMPLETED",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id, attempt := c.make(t, b)
			b.control(t, "/control/payments/"+b.providerID(t, id, attempt)+"/succeed", "")
			success := b.hook(t)
			status, _ := b.hear(t, success)
			require.Equal(t, inbox.Applied, status)
			b.clean(t)
			b.fault(t, "refunds.create", "drop_after")
			for range 3 {
				b.work(t, payment.RefundOrphan)
				paymenttest.MakeDue(t, b.db)
				b.hear(t, again(t, success))
			}
			require.Equal(t, c.want, b.facts(t, id))
			require.Equal(t, []string{"10.00"}, b.booked(t))
			require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM operations WHERE type = 'REFUND_ORPHAN'
				AND key LIKE 'refund:orphan:payment:%' AND status = 'COMPLETED'`))
			require.Zero(t, paymenttest.Count(t, b.db, `SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_REFUNDED'`))
			status, _ = b.hear(t, b.hook(t))
			require.Equal(t, inbox.NoChange, status)
			b.clean(t)
		})
	}
}

func closed(t *testing.T, b *bench) (uuid.UUID, int) {
	t.Helper()
	id := b.placed(t)
	require.NoError(t, store.InTx(t.Context(), b.db, func(tx pgx.Tx) error {
		o, err := order.Lock(t.Context(), tx, id)
		if err != nil {
			return err
		}
		return order.Close(t.Context(), tx, o, order.Canceled, uuid.New())
	}))
	return id, 1
}

func canceled(t *testing.T, b *bench) (uuid.UUID, int) {
	t.Helper()
	id := b.placed(t)
	reference := ""
	paymenttest.Read(t, b.db, `SELECT id::text FROM payments WHERE order_id = $1`, []any{id}, &reference)
	status, _ := b.hear(t, []byte(`{"id":"evt_`+reference+`","type":"payment.canceled","createdAt":"2026-01-01T00:00:00Z","object":{"id":"`+b.providerID(t, id, 1)+
		`","status":"canceled","amount":{"amount":"10.00","currency":"RUB"},"reference":"`+reference+`","createdAt":"2026-01-01T00:00:00Z"}}`))
	require.Equal(t, inbox.Applied, status)
	return id, 1
}

func overtaken(t *testing.T, b *bench) (uuid.UUID, int) {
	t.Helper()
	id, _ := canceled(t, b)
	_, err := b.desk.Retry(t.Context(), b.shopper, id, "retry")
	require.NoError(t, err)
	b.submit(t)
	b.pay(t, id, 2)
	return id, 1
}

// second is what the database allows and the desk never does: another attempt for a paid order.
func second(t *testing.T, b *bench) (uuid.UUID, int) {
	t.Helper()
	id := b.paid(t)
	batch := &pgx.Batch{}
	payment.QueueCreate(t.Context(), batch, payment.New{ID: uuid.New(), OrderID: id, Attempt: 2, Amount: *rub(t, "10.00"), Provider: "sim"})
	require.NoError(t, b.db.SendBatch(t.Context(), batch).Close())
	b.submit(t)
	return id, 2
}

// An operator may be faster than the automatic refund, which then sends only what is left.
func TestAnOperatorSendsPartOfAnOrphanBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for part, refunds := range map[string]int{"4.00": 2, "": 1} {
		id, attempt := canceled(t, b)
		b.pay(t, id, attempt)
		b.refund(t, id, part)
		b.work(t, payment.RefundOrphan)
		for range refunds {
			b.hear(t, b.hook(t))
		}
		require.Equal(t, "1000", b.facts(t, id).Refunded)
	}
	require.ElementsMatch(t, []string{"4.00", "6.00", "10.00"}, b.booked(t))
	b.clean(t)
}
