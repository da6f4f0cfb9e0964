package checkout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

// Whatever a request says about a person is hashed where requests are compared.
func TestFieldsOfRequestsTellNobodyWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	c := b.command("K", checkout.Item{ProductID: "lumen-notes", Quantity: 2})
	c.Delivery = &order.Delivery{Method: "post", Address: provider.Address{
		Name: "Ann Secretname", Line1: "Hidden Lane 7", Line2: "Backyard", City: "Nowhereville", Postcode: "ZX99", Country: "DE",
	}}
	out := b.place(t, c)
	other := c
	other.Items = []checkout.Item{{ProductID: "lumen-notes", Quantity: 3}, {ProductID: "northwind-maps", Quantity: 1}}
	moved := *c.Delivery
	moved.Address.City = "Elsewhereton"
	other.Delivery = &moved
	_, err := b.desk.Place(t.Context(), other)
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))

	var fields map[string]string
	paymenttest.Read(t, b.db, `SELECT request_fields FROM operations WHERE id = $1`, []any{out.ID}, &fields)
	require.Equal(t, "2", fields["items.lumen-notes"])
	require.Equal(t, "RUB", fields["currency"])
	require.Equal(t, "DE", fields["delivery.address.country"])
	require.Len(t, fields, 9)

	var differs []string
	paymenttest.Read(t, b.db, `SELECT array(SELECT jsonb_path_query(detail, '$.differs[*].field') #>> '{}') FROM journal WHERE kind = 'operation.key_reused'`, nil, &differs)
	require.Equal(t, []string{"delivery.address.city", "items.lumen-notes", "items.northwind-maps"}, differs)

	cart := b.command("C")
	cart.Email, cart.Name = "ann.secret@example.com", "Ann Secretname"
	b.place(t, cart)
	for _, text := range []string{"Secretname", "Hidden", "Backyard", "Nowhereville", "Elsewhereton", "ZX99", "ann.secret"} {
		for _, sql := range []string{`SELECT count(*) FROM operations WHERE request_fields::text ~* $1`, `SELECT count(*) FROM journal WHERE detail::text ~* $1`} {
			require.Zero(t, paymenttest.Count(t, b.db, sql, text), "%s: %s", text, sql)
		}
	}
}

func TestRetryAndCancelNameTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	id := orderID(t, b.place(t, b.command("K")))
	_, err := b.db.Exec(t.Context(), `UPDATE payments SET status = 'FAILED'`)
	require.NoError(t, err)
	out, err := b.desk.Retry(t.Context(), b.user, id, "R")
	require.NoError(t, err)
	var fields map[string]string
	paymenttest.Read(t, b.db, `SELECT request_fields FROM operations WHERE id = $1`, []any{out.ID}, &fields)
	require.Equal(t, map[string]string{"order": id.String()}, fields)
}
