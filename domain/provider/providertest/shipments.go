package providertest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"onefold/domain/provider"
)

func parcel(t *testing.T, h Harness) provider.CreateShipment {
	t.Helper()
	if h.Delivery == nil {
		t.Skip("this company delivers nothing")
	}
	return provider.CreateShipment{
		Key: uuid.NewString(), Reference: uuid.NewString(), Parcels: 1,
		Address: provider.Address{Name: "Ada", Line1: "Lenina 1", City: "Omsk", Postcode: "644000", Country: "RU"},
	}
}

func shipment(t *testing.T, h Harness) {
	t.Helper()
	in := parcel(t, h)
	_, err := h.Delivery.FindShipment(t.Context(), in.Reference)
	requireKind(t, provider.NotFound, err)
	first, err := h.Delivery.CreateShipment(t.Context(), in)
	require.NoError(t, err)
	require.NotEmpty(t, first.ID)
	require.NotEmpty(t, first.Tracking)
	require.Equal(t, in.Reference, first.Reference)
	again, err := h.Delivery.CreateShipment(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	in.Address.City = "Tomsk"
	_, err = h.Delivery.CreateShipment(t.Context(), in)
	requireKind(t, provider.KeyReused, err)
	h.requireEffects(t, 0, 0, 1)
}

func shipmentLost(t *testing.T, h Harness) {
	t.Helper()
	in := parcel(t, h)
	h.Inject(t, CreateShipment, Drop)
	_, err := h.Delivery.CreateShipment(t.Context(), in)
	requireKind(t, provider.Unknown, err)
	found, err := h.Delivery.FindShipment(t.Context(), in.Reference)
	require.NoError(t, err)
	again, err := h.Delivery.CreateShipment(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, found, again)
	h.requireEffects(t, 0, 0, 1)
}

func shipmentRejected(t *testing.T, h Harness) {
	t.Helper()
	in := parcel(t, h)
	h.Inject(t, CreateShipment, Reject)
	_, err := h.Delivery.CreateShipment(t.Context(), in)
	requireKind(t, provider.Rejected, err)
	in.Key = uuid.NewString()
	_, err = h.Delivery.CreateShipment(t.Context(), in)
	require.NoError(t, err)
	h.requireEffects(t, 0, 0, 1)
}
