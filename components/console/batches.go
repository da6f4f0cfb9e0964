package console

import (
	"context"
	"strconv"
	"time"

	"onefold/components/i18n"
)

// BatchRow is a confirmed batch.
type BatchRow struct {
	ID                           string
	Action, By, Filter           string
	Input                        string // to whom, until when: in words
	Status                       string
	Total, Done, Skipped, Bad    int
	CreatedAt, Started, Finished time.Time
}

// BatchModel is one batch: what it would do, does or did.
type BatchModel struct {
	BatchRow
	CSRF        string
	Role        string
	Allowed     bool // the person may confirm and steer it
	Waiting     int
	Typed       bool // their number has to be typed
	ReasonText  string
	ReasonError string
	CountText   string
	CountError  string
	InputError  string
	Reason      string // with which it was confirmed
	RetryOf     string
	Sums        []Sum    // what waits, by state
	Amounts     []string // of what waits, one per currency
	Why         []Sum    // what is skipped or failed, by reason
	Items       []BatchItem
	Changed     int // things whose state has changed since the set was frozen
}

// Sum is a number of things with a state or reason.
type Sum struct {
	Name string
	N    int
}

// BatchItem is a thing of it.
type BatchItem struct {
	ID, OrderID, Label, State, Amount string
	Status, Code                      string
}

func (m BatchModel) every() int {
	if m.Status == "RUNNING" {
		return 1
	}
	return 0
}

func (m BatchModel) finished() int { return m.Done + m.Skipped + m.Bad }

func itoa(n int) string { return strconv.Itoa(n) }

// stateWord is a state that only cases have in words; the others are shown as codes.
func stateWord(ctx context.Context, state string) string {
	if key := "batch.state." + state; i18n.Has(key) {
		return i18n.T(ctx, key)
	}
	return state
}

// why says in words why a thing was skipped or failed: a guard, or an error's code.
func why(ctx context.Context, code string) string {
	if key := "guard." + code; i18n.Has(key) {
		return i18n.T(ctx, key)
	}
	return code
}
