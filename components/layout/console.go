package layout

import (
	"context"
	"strconv"
	"strings"
	"time"

	"onefold/components/i18n"
	"onefold/components/path"
)

// ConsolePage is what every page of the console needs.
type ConsolePage struct {
	Page
	Env     string    // "DEMO", "PROD"; shown at the top of every page
	Section string    // name of the open page: the section of an item of its rail
	Query   string    // what was searched for, kept in the field
	At      time.Time // when the data was read
	Link    string    // the page's whole address, to be copied and printed

	Queues []RailItem  // work that waits, each with its number
	Groups []RailGroup // the rest of the rail
	Views  []RailItem  // saved addresses
	Firing []Firing

	Density  string    // "compact" or "comfortable"
	Keys     string    // "on" or "off": shortcuts
	Refresh  string    // seconds between two looks, or "off"
	UTC      bool      // times are shown in UTC because the person wants so
	Savable  string    // this page's address as a saved view keeps it; empty offers none
	Streamed bool      // whether the page listens to the stream
	Since    time.Time // of a list that is told of newer rows: when it began to be read, by the database's clock; zero for others
}

func (p ConsolePage) stream() string {
	if p.Since.IsZero() {
		return path.WithQuery(path.ConsoleStream(), "section", p.Section)
	}
	return path.WithQuery(path.ConsoleStream(), "section", p.Section, "list", p.Return, "since", p.Since.UTC().Format(time.RFC3339Nano))
}

// RailItem is a link of the rail.
type RailItem struct {
	Section string // names the page, and the word "console.<Section>" unless there is a label
	Label   string // already translated or somebody's own word; empty means the section's word
	Icon    string
	URL     string
	Key     string // letter after "g", empty for none
	N       int    // 0 shows no pill
	More    bool   // N is where counting stopped
	Over    bool   // a limit is crossed: the pill is red
	Shared  bool
}

// RailGroup is a part of the rail; Name names the word "console.<Name>".
type RailGroup struct {
	Name  string
	Items []RailItem
}

// Pill is short: "7", "999+".
func (i RailItem) Pill() string {
	switch {
	case i.N > 999:
		return "999+"
	case i.More:
		return strconv.Itoa(i.N) + "+"
	}
	return strconv.Itoa(i.N)
}

// Firing is an alarm that fires; Name names the word "alarm.<Name>".
type Firing struct {
	Name     string
	N        int
	Age      time.Duration // of the oldest, where the limit is one of age
	Limit    time.Duration
	ByCount  bool // the limit is a number
	Most     int
	Since    time.Time
	Owner    string // who acknowledged it; empty for nobody
	Silenced bool
	URL      string // its list
}

// loud leaves out what is silenced.
func loud(list []Firing) (out []Firing) {
	for _, f := range list {
		if !f.Silenced {
			out = append(out, f)
		}
	}
	return out
}

// names of what fires, for a script that says when they change.
func names(list []Firing) (all string) {
	for _, f := range list {
		all += f.Name + " "
	}
	return all
}

func refreshes() []string { return []string{"off", "5", "10", "30", "60"} }

// word is what an item is called.
func word(ctx context.Context, i RailItem) string {
	switch {
	case i.Label != "":
		return i.Label
	case strings.HasPrefix(i.Section, "queue."):
		return i18n.T(ctx, i.Section)
	}
	return i18n.T(ctx, "console."+i.Section)
}

// AlarmName is what an alarm is called: as its queue, if it has one.
func AlarmName(ctx context.Context, name string) string {
	if i18n.Has("queue." + name) {
		return i18n.T(ctx, "queue."+name)
	}
	return i18n.T(ctx, "alarm."+name)
}
