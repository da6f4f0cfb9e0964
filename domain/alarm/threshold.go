package alarm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Unit says what a limit bounds.
type Unit string

// The units.
const (
	Age   Unit = "age"   // seconds since the oldest of the things behind the alarm began to wait
	Count Unit = "count" // how many things there are
)

// Threshold is one alarm's limit: a value above it fires.
type Threshold struct {
	Name  string  // of a queue (console.Queues), or one of the alarms that have no queue
	Unit  Unit    //
	Limit float64 // seconds or a number, as Unit says
}

// Alarms without a queue of the console.
const (
	OutboxLag  = "outbox_lag" // the oldest outbox event that is due and not dispatched
	InboxLag   = "inbox_lag"  // the oldest received event that nobody has looked at
	Violations = "violations" // of the invariants; 0 is the only good number
)

// unlisted is the limit of what the table doesn't name: an alarm of another version's.
const unlisted = time.Hour

// Thresholds lists the limits as they are without configuration, one for every queue of the console; the README says them, too. An
// age is counted from when the thing came into its queue.
func Thresholds() []Threshold {
	age := func(name string, limit time.Duration) Threshold { return Threshold{name, Age, limit.Seconds()} }
	return []Threshold{
		{Violations, Count, 0},
		age("unknown_payments", 15*time.Minute),   // a dozen looks: the outside should have said by now
		age("stuck_operations", 10*time.Minute),   // after the five that make it stuck
		age("failed_effects", 15*time.Minute),     // a customer lacks what is paid for, and nothing happens by itself
		age("quarantined_events", 15*time.Minute), // may be about money; as above
		age("waiting_events", 5*time.Minute),      // quarantined after about four
		age("parked_events", 15*time.Minute),      // paid orders without their effects
		age("orders_in_review", time.Hour),        // the money is known and safe, the customer waits
		age("orphan_payments", time.Hour),         // money that isn't ours; its refund has had its tries
		age("possible_duplicates", 24*time.Hour),  // harmless: a question for the day
		age("failed_jobs", time.Hour),             // the row is due again without it; a bug, not an outage
		age("approvals", 4*time.Hour),             // half a shift for the second person; nothing is lost meanwhile
		age(OutboxLag, time.Minute),               // nobody relays
		age(InboxLag, time.Minute),                // nobody works
	}
}

// Limits holds thresholds by name.
type Limits map[string]Threshold

// DefaultLimits are those of Thresholds.
func DefaultLimits() Limits {
	l := Limits{}
	for _, t := range Thresholds() {
		l[t.Name] = t
	}
	return l
}

// ParseLimits overrides DefaultLimits: a duration ("15m") for an age, a whole number for a count. The error names the alarm.
func ParseLimits(given map[string]string) (Limits, error) {
	l := DefaultLimits()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		t, known := l[name]
		if !known {
			return nil, fmt.Errorf("there is no alarm %q; there are %v", name, slices.Sorted(maps.Keys(DefaultLimits())))
		}
		limit, err := t.Unit.parse(given[name])
		if err != nil {
			return nil, fmt.Errorf("the limit of %s: %w", name, err)
		}
		t.Limit = limit
		l[name] = t
	}
	return l, nil
}

func (u Unit) parse(text string) (float64, error) {
	if u == Count {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, errors.New("must be a whole number, not " + strconv.Quote(text))
		}
		return float64(n), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration like 15m, not " + strconv.Quote(text))
	}
	return d.Seconds(), nil
}

// Of is the limit of an alarm; a queue that the table doesn't name may wait for an hour. A nil Limits means DefaultLimits.
func (l Limits) Of(name string) Threshold {
	if l == nil {
		l = DefaultLimits()
	}
	if t, ok := l[name]; ok {
		return t
	}
	return Threshold{name, Age, unlisted.Seconds()}
}

// Over says whether n things, the oldest of that age, cross the limit.
func (t Threshold) Over(n int, oldest time.Duration) bool {
	return n > 0 && t.value(n, oldest) > t.Limit
}

func (t Threshold) value(n int, oldest time.Duration) float64 {
	if t.Unit == Count {
		return float64(n)
	}
	return oldest.Seconds()
}
