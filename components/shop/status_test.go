package shop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/components/shop"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order, payment string
		page           bool
		since          time.Duration
		want           shop.State
	}{
		{"AWAITING_PAYMENT", "CREATED", false, 0, shop.Preparing},
		{"AWAITING_PAYMENT", "SUBMITTING", false, 0, shop.Preparing},
		{"AWAITING_PAYMENT", "PENDING", true, 0, shop.AwaitingPayment},
		{"AWAITING_PAYMENT", "UNKNOWN", true, time.Minute, shop.Unknown},
		{"AWAITING_PAYMENT", "UNKNOWN", true, time.Hour, shop.UnknownLong},
		{"AWAITING_PAYMENT", "FAILED", true, 0, shop.Declined},
		{"AWAITING_PAYMENT", "CANCELED", true, 0, shop.Declined},
		{"AWAITING_PAYMENT", "SUCCEEDED", true, 0, shop.Paid},
		{"PAID", "SUCCEEDED", true, 0, shop.Paid},
		{"FULFILLED", "SUCCEEDED", true, 0, shop.Fulfilled},
		{"CANCELED", "CANCELED", true, 0, shop.Canceled},
		{"CANCELED", "SUCCEEDED", true, 0, shop.Refunding},
		{"EXPIRED", "UNKNOWN", true, 0, shop.Unknown},
		{"EXPIRED", "", false, 0, shop.Expired},
		{"CANCELED", "REFUNDED", true, 0, shop.Refunded},
		{"PARTIALLY_REFUNDED", "PARTIALLY_REFUNDED", true, 0, shop.PartiallyRefunded},
		{"REFUNDED", "REFUNDED", true, 0, shop.Refunded},
	} {
		require.Equal(t, c.want, shop.StateOf(c.order, c.payment, c.page, c.since), "%+v", c)
	}
}

func TestPollingSlowsDownAndEnds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, shop.PollEvery(shop.Unknown, 10*time.Second))
	require.Equal(t, 5, shop.PollEvery(shop.Unknown, time.Minute))
	require.Equal(t, 15, shop.PollEvery(shop.Unknown, 5*time.Minute))
	require.Zero(t, shop.PollEvery(shop.Unknown, 11*time.Minute))
	require.Zero(t, shop.PollEvery(shop.Fulfilled, 0))
}
