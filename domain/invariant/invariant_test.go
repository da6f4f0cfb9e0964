package invariant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/invariant"
	"onefold/domain/store/storetest"
)

func TestHealthyShopBreaksNothing(t *testing.T) {
	t.Parallel()
	db := storetest.DB(t)
	fill(t, db, "200")
	findings, err := invariant.Check(t.Context(), db, invariant.Config{})
	require.NoError(t, err)
	for _, f := range findings {
		require.True(t, f.OK, "%d %s: %v", f.ID, f.Name, f.Examples)
	}
}
