//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var hits atomic.Int64

// Point acts if ONEFOLD_CRASH is "place" or "place/what", with ":n" for the n-th hit (default 1) and then, instead of dying by
// SIGKILL, ":stop" to be stopped until SIGCONT or ":term" to be told to end (the work goes on meanwhile).
func Point(place, what string) {
	fields := strings.Split(os.Getenv("ONEFOLD_CRASH"), ":")
	if fields[0] != place && fields[0] != place+"/"+what {
		return
	}
	n, signal := int64(1), syscall.SIGKILL
	for _, field := range fields[1:] {
		switch field {
		case "stop":
			signal = syscall.SIGSTOP
		case "term":
			signal = syscall.SIGTERM
		default:
			n, _ = strconv.ParseInt(field, 10, 64)
		}
	}
	if hits.Add(1) != n {
		return
	}
	_ = syscall.Kill(os.Getpid(), signal)
	switch signal {
	case syscall.SIGKILL:
		select {} // the signal is on its way
	default:
		time.Sleep(300 * time.Millisecond) // it has arrived, and what it starts has begun
	}
}

// Skew is how far this process's clock is ahead (ONEFOLD_CLOCK, e.g. +10m or -10m).
func Skew() time.Duration {
	skew, _ := time.ParseDuration(os.Getenv("ONEFOLD_CLOCK"))
	return skew
}
