package console

import (
	"time"

	"onefold/components/layout"
	"onefold/components/ui"
)

// AlarmsModel is how every alarm stands, and what happened.
type AlarmsModel struct {
	Alarms   []Alarm
	History  []Happened
	About    string // the one alarm that the history is about; empty for all
	Names    []string
	LookedAt time.Time
	Stale    bool
	May      bool   // acknowledge and silence
	Needed   string // the role that may
	Press    string // made by the server: names the presses of this page
	Errors   []ui.FieldError
}

// Alarm is one of them.
type Alarm struct {
	layout.Firing
	Fires         bool
	SilencedUntil time.Time // zero for not
}

// Happened is a line of the history.
type Happened struct {
	ID           string
	Alarm, What  string
	At           time.Time
	Value        layout.Firing
	User, Reason string
	Until        time.Time
	Told, Trying []string
}

func (a Alarm) tone() ui.Tone {
	switch {
	case !a.Fires:
		return ui.Good
	case a.Silenced:
		return ui.Neutral
	default:
		return ui.Bad
	}
}

func (a Alarm) icon() string {
	switch {
	case !a.Fires:
		return "check"
	case a.Silenced:
		return "bell"
	default:
		return "alert"
	}
}

func (a Alarm) word() string {
	switch {
	case !a.Fires:
		return "alarms.state.ok"
	case a.Silenced:
		return "alarms.state.silenced"
	default:
		return "alarms.state.firing"
	}
}

func silences() []string { return []string{"15m", "1h", "4h", "12h", "24h"} }
