package catalog_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// together runs fn n times at once from a barrier and returns the errors in order.
func together(t *testing.T, n int, fn func(i int) error) []error {
	t.Helper()
	var done sync.WaitGroup
	start, errs := make(chan struct{}), make([]error, n)
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	done.Wait()
	return errs
}

func allRight(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
