package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
)

// Entry is one line of the timeline: a journal row, or a moment that another row remembers (then ID is 0).
type Entry struct {
	ID          int64
	Anchor      string // names the line in its page's address: "e-12"
	At          time.Time
	Lane        Lane
	Kind        string        // picks the sentence: "payment.succeeded"
	From, To    string        // the state change; "" for none
	Source      string        // how the outside was heard: answer, lookup, watch, event, cancel; "" if it wasn't
	Guard       string        // what absorbed a repeat: a constraint or a rule; "" for what did something
	Attempt     int           // which try it was; 0 where there are no tries
	Most        int           // how many there may be; 0 for as many as it takes
	Took        time.Duration // from what made it necessary until now; 0 when not known
	ProviderAt  *time.Time    // the provider's own time of it
	TraceID     string
	OperationID uuid.NullUUID
	OrderID     uuid.NullUUID
	PaymentID   uuid.NullUUID
	EventID     uuid.NullUUID
	OutboxID    uuid.NullUUID
	JobID       *int64
	Facts       []Fact                 // the rest of the detail, by name
	Differs     []operation.Difference // of a reused key: where its request is another one
	// OmittedBefore says how many entries were left out between the one before and this one.
	OmittedBefore int
}

// Fact is a named value of an entry, as text, masked.
type Fact struct{ Name, Value string }

// Fact returns the value of a name; "" if there is none.
func (e Entry) Fact(name string) string {
	for _, f := range e.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// guards names what absorbed a repeat where the journal row doesn't: a constraint of the schema, or the rule that states only
// move forward.
var guards = map[string]string{ //nolint:gochecknoglobals // a table
	"operation.replayed": "operations_identity", "operation.key_reused": "operations_identity", "operation.in_progress": "operations_identity",
	"operation.late_owner": "lease", "operation.already_settled": "lease",
	"inbox.repeated": "one_row_per_event", "inbox.no_change": "forward_only", "inbox.stale": "forward_only",
}

// guardOf returns the guard of an absorbed entry; "" for every other kind.
func guardOf(kind, noted string) string {
	guard, absorbed := guards[kind]
	if absorbed && noted != "" {
		return noted
	}
	return guard
}

// scanEntry reads a journal row and, into total, how many there are.
func scanEntry(total *int) pgx.RowToFunc[Entry] {
	return func(row pgx.CollectableRow) (e Entry, err error) {
		var raw []byte
		err = row.Scan(&e.ID, &e.At, &e.Kind, &e.TraceID, &e.OperationID, &e.OrderID, &e.PaymentID, &e.EventID, &e.OutboxID, &e.JobID, &raw, total)
		if err != nil {
			return e, reading("entry", err)
		}
		e.Anchor = fmt.Sprintf("e-%d", e.ID)
		err = e.detail(raw)
		e.Lane = laneOf(e.Kind, e.Source)
		return e, err
	}
}

// detail takes the JSON object apart. Values that are empty say nothing and are left out.
func (e *Entry) detail(raw []byte) error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return fmt.Errorf("read journal detail: %w", err)
	}
	noted := ""
	for name, value := range values {
		text := factText(value)
		switch {
		case name == "from":
			e.From = text
		case name == "to":
			e.To = text
		case name == "guard":
			noted = text
		case name == "differs":
			e.Differs = differences(value)
		case name == "message_id":
			e.Facts = append(e.Facts, Fact{name, text}) // has an @, but is nobody's address
		case text != "":
			e.Facts = append(e.Facts, Fact{name, maskText(text)})
		}
	}
	e.Guard, e.Source = guardOf(e.Kind, noted), factText(values["source"])
	if n, ok := values["attempt"].(float64); ok && noun(e.Kind) == "operation" {
		e.Attempt = int(n)
	}
	slices.SortFunc(e.Facts, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// noun is what a kind is about.
func noun(kind string) string {
	noun, _, _ := strings.Cut(kind, ".")
	return noun
}

// differences reads a journal row's own words back; what isn't readable is left out.
func differences(value any) (list []operation.Difference) {
	raw, err := json.Marshal(value)
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for i := range list {
		list[i].First, list[i].Later, list[i].Field = maskText(list[i].First), maskText(list[i].Later), maskText(list[i].Field)
	}
	return list
}

func factText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	text, _ := json.Marshal(value) //nolint:errchkjson // it came from JSON
	return string(text)
}
