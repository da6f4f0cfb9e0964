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

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
)

// Lane says where an entry of the timeline happened.
type Lane string

// The lanes.
const (
	LaneHTTP      Lane = "http"      // a request was answered without doing anything
	LaneOperation Lane = "operation" // an operation
	LaneOrder     Lane = "order"
	LanePayment   Lane = "payment"
	LaneProvider  Lane = "provider" // a conversation with a provider
	LaneInbox     Lane = "inbox"
	LaneOutbox    Lane = "outbox"
	LaneJob       Lane = "job" // a worker came too late
	LaneEffect    Lane = "effect"
	LaneMail      Lane = "mail"
	LaneOperator  Lane = "operator"
)

// Entry is one line of the timeline: a journal row, or a moment that an outbox row remembers (then ID is 0).
type Entry struct {
	ID          int64
	At          time.Time
	Lane        Lane
	Kind        string // picks the sentence: "payment.succeeded"
	From, To    string // the state change; "" for none
	Guard       string // what absorbed a repeat: a constraint or a rule; "" for what did something
	TraceID     string
	OperationID uuid.NullUUID
	OrderID     uuid.NullUUID
	PaymentID   uuid.NullUUID
	EventID     uuid.NullUUID
	OutboxID    uuid.NullUUID
	JobID       *int64
	Facts       []Fact // the rest of the detail, by name
	// OmittedBefore says how many entries were left out between the one before and this one.
	OmittedBefore int
}

// Fact is a named value of an entry, as text, masked.
type Fact struct{ Name, Value string }

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

// laneOf places a kind. An operation's refusal to do its work again is an answer to a request; a postponed one is a
// conversation that taught nothing.
func laneOf(kind string) Lane {
	switch kind {
	case "operation.replayed", "operation.key_reused", "operation.in_progress":
		return LaneHTTP
	case "operation.postponed":
		return LaneProvider
	case "operation.late_owner", "operation.already_settled":
		return LaneJob
	}
	noun, _, _ := strings.Cut(kind, ".")
	switch noun {
	case "order":
		return LaneOrder
	case "payment", "refund":
		return LanePayment
	case "inbox":
		return LaneInbox
	case "outbox":
		return LaneOutbox
	case "license", "bonus", "shipment":
		return LaneEffect
	case "mail", "notification":
		return LaneMail
	case "operator", "audit", "user":
		return LaneOperator
	case "provider", "reconcile":
		return LaneProvider
	case "job":
		return LaneJob
	case "http":
		return LaneHTTP
	}
	return LaneOperation
}

// scanEntry reads a journal row and, into total, how many there are.
func scanEntry(total *int) pgx.RowToFunc[Entry] {
	return func(row pgx.CollectableRow) (e Entry, err error) {
		var raw []byte
		err = row.Scan(&e.ID, &e.At, &e.Kind, &e.TraceID, &e.OperationID, &e.OrderID, &e.PaymentID, &e.EventID, &e.OutboxID, &e.JobID, &raw, total)
		if err != nil {
			return e, reading("entry", err)
		}
		e.Lane = laneOf(e.Kind)
		return e, e.detail(raw)
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
		case name == "message_id":
			e.Facts = append(e.Facts, Fact{name, text}) // has an @, but is nobody's address
		case text != "":
			e.Facts = append(e.Facts, Fact{name, maskText(text)})
		}
	}
	e.Guard = guardOf(e.Kind, noted)
	slices.SortFunc(e.Facts, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return nil
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

// weave puts the outbox's own moments and, for entries of a mail's operation, the mail's lane into the timeline.
func (in *Intent) weave() {
	mails := map[uuid.UUID]bool{}
	for _, o := range in.Operations {
		mails[o.ID] = o.Type == fulfilment.SendNotification
	}
	for i, e := range in.Timeline {
		if e.Lane == LaneProvider && mails[e.OperationID.UUID] {
			in.Timeline[i].Lane = LaneMail
		}
	}
	for _, x := range in.Outbox {
		in.moment("outbox.appended", x, &x.CreatedAt)
		in.moment("outbox.dispatched", x, x.DispatchedAt)
		in.moment("outbox.parked", x, x.ParkedAt)
	}
	slices.SortStableFunc(in.Timeline, func(a, b Entry) int { return a.At.Compare(b.At) })
}

func (in *Intent) moment(kind string, x OutboxEvent, at *time.Time) {
	if at == nil {
		return
	}
	in.Timeline = append(in.Timeline, Entry{
		At: *at, Lane: LaneOutbox, Kind: kind, TraceID: x.TraceID, OrderID: uuid.NullUUID{UUID: x.OrderID, Valid: true},
		OutboxID: uuid.NullUUID{UUID: x.ID, Valid: true}, Facts: []Fact{{"type", x.Type}},
	})
}

// Step is something planned.
type Step struct {
	Kind    string // reconcile (ask the outside again), lease (a try ends), dispatch (the relay takes it)
	Subject string // an operation's or event's type
	ID      uuid.UUID
	At      time.Time
}

// steps lists what comes next by itself, soonest first.
func (in *Intent) steps() []Step {
	var steps []Step
	for _, o := range in.Operations {
		switch {
		case o.Status != operation.Processing || o.NextAttemptAt == nil:
		case o.LeaseExpiresAt != nil && o.LeaseExpiresAt.After(in.Now):
			steps = append(steps, Step{"lease", string(o.Type), o.ID, *o.LeaseExpiresAt})
		case o.Attempt > 0:
			steps = append(steps, Step{"reconcile", string(o.Type), o.ID, *o.NextAttemptAt})
		default:
			steps = append(steps, Step{"dispatch", string(o.Type), o.ID, *o.NextAttemptAt})
		}
	}
	for _, x := range in.Outbox {
		if x.State == outboxWaiting {
			steps = append(steps, Step{"dispatch", x.Type, x.ID, x.NextAttemptAt})
		}
	}
	for _, e := range in.Events {
		if e.NextAttemptAt != nil {
			steps = append(steps, Step{"dispatch", e.Type, e.ID, *e.NextAttemptAt})
		}
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return a.At.Compare(b.At) })
	return steps
}
