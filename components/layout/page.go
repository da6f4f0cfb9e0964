// Package layout holds the two shells every page stands in: the shop's and the console's.
package layout

import (
	"strconv"
	"time"
)

// Themes a person can choose; ThemeSystem follows the device.
const (
	ThemeSystem = "system"
	ThemeLight  = "light"
	ThemeDark   = "dark"
)

// Page is what every page of the shop needs to know about its visitor.
type Page struct {
	CSRF   string // token of every POST form
	Theme  string // "system", "light" or "dark"; empty means system
	Return string // address that language and theme forms come back to
	User   User   // zero for a guest
	Basket int    // items in the basket
	Notice Notice
}

// User is who is signed in.
type User struct {
	Email string
	Role  string // "shopper", "viewer", "operator"…; only roles of the console see its link
}

// Console says whether the person may enter the console.
func (u User) Console() bool {
	switch u.Role {
	case "viewer", "support", "operator", "approver", "admin":
		return true
	default:
		return false
	}
}

// Notice is what the last action did, already translated; it is announced and shown once.
type Notice struct {
	Text  string
	Link  string // address; empty means no link
	Label string
}

// ConsolePage is what every page of the console needs.
type ConsolePage struct {
	Page
	Env     string    // "DEMO", "PROD"; shown at the top of every page
	Section string    // name of the open page: "overview", "operations", "payments", "inbox", "outbox"
	Query   string    // what was searched for, kept in the field
	At      time.Time // when the data was read
	Counts  Counts
	River   bool // whether the jobs UI is mounted for this person
}

// Counts are the pills of the rail; 0 shows none. Over says a limit is crossed and makes the pill red.
type Counts struct {
	Operations, Payments, Inbox, Outbox Count
}

// Count is one pill.
type Count struct {
	N    int
	Over bool
}

// String is short: "7", "999+".
func (c Count) String() string {
	if c.N > 999 {
		return "999+"
	}
	return strconv.Itoa(c.N)
}

func theme(t string) string {
	if t == ThemeLight || t == ThemeDark {
		return t
	}
	return ThemeSystem
}

func themes() []string { return []string{ThemeSystem, ThemeLight, ThemeDark} }
