package shop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/components/i18n"
	"onefold/components/shop"
)

func TestReasonsAreClassesWithWords(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]shop.Reason{
		"card_declined": shop.ReasonBank, "insufficient_funds": shop.ReasonFunds, "expired_card": shop.ReasonCard, "incorrect_cvc": shop.ReasonCard,
		"canceled_by_payer": shop.ReasonPayer, "": shop.ReasonPayer, "never_heard_of": shop.ReasonUnknown,
	} {
		got := shop.ReasonOf("CANCELED", code)
		require.Equal(t, want, got, code)
		require.True(t, i18n.Has("order.reason."+string(got)))
	}
	require.Equal(t, shop.ReasonSystem, shop.ReasonOf("FAILED", "rejected"))
	require.True(t, i18n.Has("order.reason."+string(shop.ReasonSystem)))
}
