//go:build !crashpoints

package crash

import "time"

// Point does nothing in this build.
func Point(string, string) {}

// Skew is 0 in this build.
func Skew() time.Duration { return 0 }
