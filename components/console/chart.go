package console

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Chart is counters over time, drawn by the server. Name names the words "chart.<Name>" and "chart.<Name>.unit".
type Chart struct {
	Name  string
	From  time.Time // of the first point
	Step  time.Duration
	Lines []Line
	Stack bool // bars upon each other; else lines
	Parts []Part
	Empty bool // nothing was counted in the whole range
}

// Line is one series of a chart; Label names the word "label.<chart>.<Label>".
type Line struct {
	Label  string
	Look   string // class: "good", "warn", "bad", "unknown", "first", "second", "third"
	Points []float64
	Total  string // shown in the legend; empty shows none
}

// Part is what of a chart's totals comes from one source.
type Part struct {
	Name   string
	Totals []string // of each line
}

// The drawing's own units: it is stretched to the room there is, so text stands beside it, not in it.
const (
	plotWidth  = 600.0
	plotHeight = 120.0
)

func (c Chart) points() int {
	if len(c.Lines) == 0 {
		return 0
	}
	return len(c.Lines[0].Points)
}

func (c Chart) at(i int) time.Time { return c.From.Add(time.Duration(i) * c.Step) }

// highest is a round number that nothing exceeds.
func (c Chart) highest() float64 {
	most := 0.0
	for i := range c.points() {
		sum := 0.0
		for _, l := range c.Lines {
			if c.Stack {
				sum += l.Points[i]
			} else {
				sum = max(sum, l.Points[i])
			}
		}
		most = max(most, sum)
	}
	return roundUp(most)
}

// roundUp is the next 1, 2, 4 or 5 times a power of ten.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 4, 5, 10} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}

// bars is the path of the n-th series, on top of those before it.
func (c Chart) bars(n int) string {
	var d strings.Builder
	high, width := c.highest(), plotWidth/float64(c.points())
	for i := range c.points() {
		below := 0.0
		for _, l := range c.Lines[:n] {
			below += l.Points[i]
		}
		if v := c.Lines[n].Points[i]; v > 0 {
			top, tall := plotHeight*(1-(below+v)/high), plotHeight*v/high
			fmt.Fprintf(&d, "M%.1f %.1fh%.1fv%.1fh-%.1fz", float64(i)*width+width*.12, top, width*.76, tall, width*.76)
		}
	}
	return d.String()
}

// curve is the path of a series as a line; where nothing was counted it is interrupted.
func (l Line) curve(high float64) string {
	var d strings.Builder
	step, pen := "M", plotWidth/float64(max(len(l.Points), 1))
	for i, v := range l.Points {
		if v <= 0 {
			step = "M"
			continue
		}
		x, y := (float64(i)+.5)*pen, plotHeight*(1-v/high)
		fmt.Fprintf(&d, "%s%.1f %.1f", step, x, y)
		if step == "M" { // a point that stands alone is seen, too
			fmt.Fprintf(&d, "h.1")
		}
		step = "L"
	}
	return d.String()
}

// spark is the path of a small line, highest point on top.
func spark(points []float64) string {
	if len(points) < 2 {
		return ""
	}
	most := 1.0
	for _, v := range points {
		most = max(most, v)
	}
	var d strings.Builder
	step := "M"
	for i, v := range points {
		fmt.Fprintf(&d, "%s%.1f %.1f", step, float64(i)*100/float64(len(points)-1), 22-20*v/most)
		step = "L"
	}
	return d.String()
}

// short is a figure for people: 0.4, 12, 1.2k.
func short(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%.0fk", v/1000)
	case v >= 1000:
		return fmt.Sprintf("%.1fk", v/1000)
	case v >= 10 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}
