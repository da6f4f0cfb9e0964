package console

import (
	"context"
	"fmt"
	"time"

	"onefold/components/i18n"
	"onefold/components/ui"
)

// Diagram is how attempts became one result: many dots, one line, its effects.
type Diagram struct {
	Attempts []Attempt
	Total    int    // of the attempts, if more than those; 0 means no more
	Nodes    []Node // operation, order, payment, as far as they exist
	Effects  []Effect
}

// Attempt is one technical try of the intent.
type Attempt struct {
	At    time.Time
	Guard string // what absorbed it: a constraint, a state; empty for the one that did the work
}

// Node is a row the line runs through.
type Node struct {
	Kind  string // operation, order or payment
	Label string // short: a number, a type
	State string
}

// Effect is one consequence; Kind names the word "effect.<Kind>": licenses, bonus, mail, shipment, refund.
type Effect struct {
	Kind  string
	Count int
	State string // DONE, WAITING, UNKNOWN or FAILED
}

// The drawing's geometry, in its own units.
const (
	left      = 30
	width     = 920
	rowHeight = 42
	attemptX  = 214
	joinX     = 350
	nodesX    = 430
	nodesEnd  = 690
	splitX    = 740
	effectX   = 810
	shown     = 6 // attempts drawn; the rest is counted
)

// point is a dot with its two lines of text.
type point struct {
	y        int
	title    string
	note     string
	absorbed bool
	more     bool // stands for those not drawn
	tone     ui.Tone
	icon     string
}

// stop is a node on the line.
type stop struct {
	x     int
	title string
	label string
	state string
	tone  ui.Tone
	icon  string
}

// drawing is the diagram with every coordinate decided.
type drawing struct {
	height   int
	middle   int
	attempts []point
	stops    []stop
	effects  []point
}

func (d Diagram) draw(ctx context.Context) drawing {
	attempts, effects := d.attemptPoints(ctx), d.effectPoints(ctx)
	height := max(max(len(attempts), len(effects))*rowHeight+24, 148)
	spread(attempts, height)
	spread(effects, height)
	return drawing{height: height, middle: height / 2, attempts: attempts, stops: d.stops(ctx), effects: effects}
}

// spread puts points one under another around the middle.
func spread(list []point, height int) {
	top := height/2 - (len(list)-1)*rowHeight/2
	for i := range list {
		list[i].y = top + i*rowHeight
	}
}

func (d Diagram) attemptPoints(ctx context.Context) []point {
	var list []point
	for i, a := range d.Attempts {
		if total := max(len(d.Attempts), d.Total); i == shown-1 && total > shown {
			return append(list, point{title: i18n.T(ctx, "count.more", total-i), absorbed: true, more: true})
		}
		p := point{title: i18n.Clock(ctx, a.At), note: a.Guard, absorbed: a.Guard != ""}
		if a.Guard == "" {
			p.note = i18n.T(ctx, "intent.diagram.first")
		}
		list = append(list, p)
	}
	return list
}

func (d Diagram) effectPoints(ctx context.Context) []point {
	var list []point
	for _, e := range d.Effects {
		title := i18n.T(ctx, "effect."+e.Kind)
		if e.Count > 1 {
			title += fmt.Sprintf(" × %d", e.Count)
		}
		entity := "effect"
		if e.State != "DONE" && e.State != "WAITING" {
			entity = "shipment"
		}
		list = append(list, point{title: title, note: i18n.Status(ctx, entity, e.State), tone: ui.ToneOf(e.State), icon: ui.IconOf(e.State)})
	}
	return list
}

func (d Diagram) stops(ctx context.Context) []stop {
	var list []stop
	for i, n := range d.Nodes {
		x := nodesX
		if len(d.Nodes) > 1 {
			x += i * (nodesEnd - nodesX) / (len(d.Nodes) - 1)
		}
		list = append(list, stop{
			x: x, title: i18n.T(ctx, "intent.node."+n.Kind), label: n.Label,
			state: i18n.Status(ctx, n.Kind, n.State), tone: ui.ToneOf(n.State), icon: ui.IconOf(n.State),
		})
	}
	return list
}

// into is the curve of an attempt to the line.
func (d drawing) into(p point) string {
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", attemptX+7, p.y, joinX-60, p.y, joinX-70, d.middle, joinX, d.middle)
}

// outOf is the curve from the line to an effect.
func (d drawing) outOf(p point) string {
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", splitX, d.middle, splitX+40, d.middle, splitX+26, p.y, effectX-10, p.y)
}

// end is where the straight line stops: at the fork to the effects, or at the last node.
func (d drawing) end() int {
	if len(d.effects) > 0 {
		return splitX
	}
	if len(d.stops) > 0 {
		return d.stops[len(d.stops)-1].x
	}
	return joinX
}
