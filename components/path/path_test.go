package path_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/components/path"
)

func TestPathsAreEscapedAndServeAsPatterns(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/products/:id", path.Product(":id"))
	require.Equal(t, "/orders/:id/pay", path.OrderPay(":id"))
	require.Equal(t, "/go/evt%2F1%3Fx", path.Go("evt/1?x"))
	require.Equal(t, "/checkout/k/status", path.CheckoutStatus("k"))
}

func TestWithQueryLeavesEmptyValuesOut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/console/inbox", path.WithQuery(path.ConsoleInbox(), "state", ""))
	require.Equal(t, "/console/inbox?state=STALE", path.WithQuery(path.ConsoleInbox(), "state", "STALE", "after", ""))
}

func TestAssetWithoutResolverIsThePlainName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/assets/app.css", path.Asset("app.css"))
}
