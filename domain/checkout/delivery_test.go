package checkout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/order"
	"onefold/domain/payment/paymenttest"
	"onefold/domain/provider"
	"onefold/domain/store/storetest"
)

func address() provider.Address {
	return provider.Address{Name: "Ann Smith", Line1: "Main Street 1", City: "Berlin", Postcode: "10115", Country: "de"}
}

// Goods that have to be carried need to know where to; nothing is bound to the key until they do.
func TestPhysicalProductsNeedADelivery(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.DB(t))
	c := b.command("K", checkout.Item{ProductID: "slate-mug", Quantity: 2}, checkout.Item{ProductID: "lumen-notes", Quantity: 1})
	for _, bad := range []struct {
		delivery *order.Delivery
		fields   []string
	}{
		{nil, []string{"delivery"}},
		{&order.Delivery{Method: "pigeon", Address: address()}, []string{"delivery.method"}},
		{&order.Delivery{Method: order.Standard, Address: provider.Address{Line1: "1", Country: "Germany"}}, []string{
			"delivery.address.name", "delivery.address.city", "delivery.address.postcode", "delivery.address.country",
		}},
	} {
		c.Delivery = bad.delivery
		for range 2 {
			_, err := b.desk.Place(t.Context(), c)
			e, ok := fault.Of(err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "VALIDATION_FAILED", e.Code)
			var fields []string
			for _, f := range e.Fields {
				fields = append(fields, f.Field)
			}
			require.Equal(t, bad.fields, fields)
		}
		require.Equal(t, counts{}, b.counts(t))
	}
	c.Delivery = &order.Delivery{Method: " standard ", Address: address()}
	first := b.place(t, c)
	require.True(t, b.place(t, c).Replayed)
	other := c
	other.Delivery = &order.Delivery{Method: order.Standard, Address: address()}
	other.Delivery.Address.Line1 = "Main Street 2"
	_, err := b.desk.Place(t.Context(), other)
	require.Equal(t, "IDEMPOTENCY_KEY_REUSED", code(t, err))

	o, err := checkout.Find(t.Context(), b.db, b.user, orderID(t, first))
	require.NoError(t, err)
	require.Equal(t, "DE", o.Delivery.Address.Country)
	require.Equal(t, "Main Street 1", o.Delivery.Address.Line1)
	require.Empty(t, o.Shipments)
	require.EqualValues(t, 2*129000+249000, o.Total.Minor, "the standard delivery is free")
	require.Equal(t, 1, paymenttest.Count(t, b.db, `SELECT count(*) FROM products WHERE id = 'slate-mug' AND reserved = 2`))
}
