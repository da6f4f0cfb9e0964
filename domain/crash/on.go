//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var hits atomic.Int64

// Point kills this process if ONEFOLD_CRASH is "place", "place/what" or either with ":n" for the n-th hit (default 1).
func Point(place, what string) {
	wanted, count, _ := strings.Cut(os.Getenv("ONEFOLD_CRASH"), ":")
	if wanted != place && wanted != place+"/"+what {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if hits.Add(1) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
