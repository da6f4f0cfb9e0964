package console

import (
	"context"
	"time"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// DrillsModel is what can be rehearsed here, and what has been.
type DrillsModel struct {
	Names   []string // each names the word "drill.<name>"
	Refused string   // why there are none here: names the word "drills.refused.<Refused>"; empty for none
	May     bool
	Needed  string
	Press   string // made by the server: names the run that the form starts
	Runs    []DrillRun
}

// DrillRun is one rehearsal.
type DrillRun struct {
	ID, Name string
	By       string
	At       time.Time
	Ended    bool
	OK       bool
	Sent     string
	Absorbed string
	Error    string
	Steps    []DrillStep
	Tries    int // technical attempts
	Results  []DrillResult
	Want     int // of each result
	Orders   []string
	Took     time.Duration
}

// DrillStep is something that a drill did, and how often in a row.
type DrillStep struct {
	After time.Duration
	What  string
	Times int
}

// DrillResult counts what exists; Kind names the word "drill.result.<Kind>".
type DrillResult struct {
	Kind string
	N    int
}

func (r DrillRun) tone() ui.Tone {
	switch {
	case !r.Ended:
		return ui.Neutral
	case r.OK:
		return ui.Good
	default:
		return ui.Bad
	}
}

func (r DrillRun) icon() string {
	switch {
	case !r.Ended:
		return "clock"
	case r.OK:
		return "check"
	default:
		return "alert"
	}
}

func (r DrillRun) word() string {
	switch {
	case !r.Ended:
		return "drill.running"
	case r.OK:
		return "drill.ok"
	default:
		return "drill.failed"
	}
}

// draw makes the picture "N attempts → 1 result" from what was counted.
func (r DrillRun) draw(ctx context.Context) drawing {
	var d drawing
	for i := range r.Tries {
		if i == shown-1 && r.Tries > shown {
			d.attempts = append(d.attempts, point{title: i18n.T(ctx, "count.more", r.Tries-i), absorbed: true, more: true})
			break
		}
		p := point{title: i18n.T(ctx, "drill.try", i+1), note: i18n.T(ctx, "drill.absorbed"), absorbed: i >= r.Want}
		if !p.absorbed {
			p.note = i18n.T(ctx, "intent.diagram.first")
		}
		d.attempts = append(d.attempts, p)
	}
	for i, one := range r.Results {
		tone := ui.Good
		if one.N != r.Want {
			tone = ui.Bad
		}
		icon := map[ui.Tone]string{ui.Good: "check", ui.Bad: "alert"}[tone]
		title := i18n.T(ctx, "drill.result."+one.Kind)
		if i < drillStops {
			d.stops = append(d.stops, stop{x: nodesX + i*(nodesEnd-nodesX), title: title, label: short(float64(one.N)), tone: tone, icon: icon})
			continue
		}
		d.effects = append(d.effects, point{title: title, note: "× " + short(float64(one.N)), tone: tone, icon: icon})
	}
	d.height = max(max(len(d.attempts), len(d.effects))*rowHeight+24, 148)
	d.middle = d.height / 2
	spread(d.attempts, d.height)
	spread(d.effects, d.height)
	return d
}

// drillStops of the results stand on the line, the others are effects.
const drillStops = 2
