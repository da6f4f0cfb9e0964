package jobs

import "time"

// skewed gives River a clock that is wrong by this much, for tests: its Go code goes by that clock, its SQL by the database's.
type skewed time.Duration

// Now is the wrong time.
func (s skewed) Now() time.Time { return time.Now().Add(time.Duration(s)) }

// NowOrNil lets the database keep its own time.
func (skewed) NowOrNil() *time.Time { return nil }
