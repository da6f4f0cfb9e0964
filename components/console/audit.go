package console

import (
	"time"

	"onefold/components/path"
	"onefold/components/ui"
)

// AuditModel is a page of what people pressed, newest first.
type AuditModel struct {
	Filter  AuditFilter
	Actions []string // to choose from
	Lines   []AuditLine
	Pager   ui.Pager
	Done    DoneModel
	Zone    string // in which the days of the filter begin
}

// AuditFilter is what the page shows, as in its address.
type AuditFilter struct{ Person, Action, Object, Outcome, From, To, Limit string }

// AuditLine is one press.
type AuditLine struct {
	ID                     string
	At                     time.Time
	Person, Role           string
	Action                 string
	Kind, Object           string // of what was acted on
	OrderID, Order         string
	Reason                 string
	Outcome, Code, TraceID string
	Detail                 []Detail
	Rows                   []AuditRow
}

// AuditRow is a row that the press touched.
type AuditRow struct {
	Table, ID string
	Changes   []Change
	Made      bool // by the press
}

// Change is a column's value before and after.
type Change struct{ Name, Before, After string }

func (f AuditFilter) any() bool {
	return f.Person+f.Action+f.Object+f.Outcome+f.From+f.To != ""
}

// Address of the audit with the filter and further parameters.
func (f AuditFilter) Address(more ...string) string {
	return path.WithQuery(path.ConsoleAudit(), append([]string{
		"person", f.Person, "action", f.Action, "object", f.Object, "outcome", f.Outcome, "from", f.From, "to", f.To, "limit", f.Limit,
	}, more...)...)
}
