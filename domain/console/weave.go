package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/payment"
)

// weave puts into the timeline what other rows remember: requests, the outbox's moments, jobs, presses and looks. Then it works out
// what one entry alone doesn't tell: lanes of looks and mails, and how long things took.
func (in *Intent) weave(runs []run) {
	types := map[uuid.UUID]operation.Type{}
	for _, o := range in.Operations {
		types[o.ID] = o.Type
		if !o.System() {
			in.Timeline = append(in.Timeline, o.request())
		}
	}
	for i := range in.Timeline {
		in.Timeline[i].relocate(types)
	}
	for _, x := range in.Outbox {
		in.moment("outbox.appended", x, &x.CreatedAt)
		in.moment("outbox.dispatched", x, x.DispatchedAt)
		in.moment("outbox.parked", x, x.ParkedAt)
	}
	in.Timeline = slices.DeleteFunc(in.Timeline, in.pressed)
	for _, p := range in.Presses {
		in.Timeline = append(in.Timeline, p.entry())
	}
	for _, l := range in.Looks {
		in.Timeline = append(in.Timeline, l.entries()...)
	}
	for _, r := range runs {
		in.Timeline = append(in.Timeline, r.entries(in.ofJob(r.ID))...)
	}
	slices.SortStableFunc(in.Timeline, func(a, b Entry) int { return a.At.Compare(b.At) })
	in.time()
	in.compare()
}

// pressed: the audit tells of the same press, and more than the journal's line.
func (in *Intent) pressed(e Entry) bool {
	return noun(e.Kind) == "operator" && slices.ContainsFunc(in.Presses, func(p Press) bool { return p.OperationID == e.OperationID })
}

// request is the moment at which a person's operation was claimed.
func (o Operation) request() Entry {
	e := Entry{
		At: o.CreatedAt, Anchor: "http-" + o.ID.String(), Lane: LaneHTTP, Kind: "http.request", TraceID: o.TraceID,
		OperationID: uuid.NullUUID{UUID: o.ID, Valid: true}, OrderID: o.OrderID, Facts: []Fact{{"key", o.Key}, {"type", string(o.Type)}},
	}
	if o.CompletedAt != nil {
		e.Took = max(o.CompletedAt.Sub(o.CreatedAt), 0)
	}
	return e
}

// relocate moves a try that taught nothing: a mail's to the mails, one that only asked again to the looks.
func (e *Entry) relocate(types map[uuid.UUID]operation.Type) {
	t := types[e.OperationID.UUID]
	switch {
	case e.Lane != LaneFrom || e.Kind != "operation.postponed":
	case t == fulfilment.SendNotification:
		e.Lane = LaneMail
	case t == payment.WatchPayment || e.Attempt > 1:
		e.Lane = LaneReconcile
	}
}

// ofJob finds the trace of a job, and whether it left nothing but tries that taught nothing.
func (in *Intent) ofJob(id int64) (traceID string, onlyLooked bool) {
	onlyLooked = true
	for _, e := range in.Timeline {
		if e.JobID != nil && *e.JobID == id {
			traceID = e.TraceID
			onlyLooked = onlyLooked && e.Kind == "operation.postponed"
		}
	}
	return traceID, onlyLooked
}

func (in *Intent) moment(kind string, x OutboxEvent, at *time.Time) {
	if at == nil {
		return
	}
	in.Timeline = append(in.Timeline, Entry{
		At: *at, Anchor: fmt.Sprintf("%s-%s", kind[len("outbox."):], x.ID), Lane: LaneOutbox, Kind: kind, TraceID: x.TraceID,
		OrderID: uuid.NullUUID{UUID: x.OrderID, Valid: true}, OutboxID: uuid.NullUUID{UUID: x.ID, Valid: true}, Facts: []Fact{{"type", x.Type}},
		Took: max(at.Sub(x.CreatedAt), 0),
	})
}

func (p Press) entry() Entry {
	e := Entry{
		At: p.At, Anchor: "press-" + p.ID.String(), Lane: LaneOperator, Kind: "press." + p.Action, To: p.Outcome, TraceID: p.TraceID, OperationID: p.OperationID,
		Facts: []Fact{{"by", p.Email}, {"role", p.Role}, {p.ObjectType, p.ObjectID}},
	}
	if p.Email == "" {
		e.Facts[0].Value = p.UserID.String()
	}
	if p.Outcome == "REPLAYED" {
		e.Guard = "audit_done_once"
	}
	for _, f := range []Fact{{"code", p.Code}, {"reason", p.Reason}} {
		if f.Value != "" {
			e.Facts = append(e.Facts, f)
		}
	}
	return e
}

// entries are the asking and, once it is there, what came of it.
func (l Look) entries() []Entry {
	base := Entry{
		Anchor: fmt.Sprintf("look-%s-%s", l.RunID, l.ObjectID), At: l.At, Lane: LaneReconcile, Kind: "reconcile.asked", TraceID: l.TraceID,
		Facts: []Fact{{l.ObjectType, l.ObjectID.String()}, {"run", l.RunID.String()}},
	}
	if l.Email != "" {
		base.Facts = append(base.Facts, Fact{"by", l.Email})
	}
	if l.DoneAt == nil {
		return []Entry{base}
	}
	done := base
	done.Anchor, done.At, done.Took, done.From = base.Anchor+"-done", *l.DoneAt, max(l.DoneAt.Sub(l.At), 0), l.Before
	done.Kind = map[string]string{"CHANGED": "reconcile.changed", "UNREACHABLE": "reconcile.unreachable", "SKIPPED": "reconcile.skipped"}[l.Result]
	if done.Kind == "" {
		done.Kind = "reconcile.unchanged"
	}
	if done.To = l.After; l.After == l.Before {
		done.From, done.To = "", ""
	}
	return []Entry{base, done}
}

// time works out how long answers took, from the line that sent the question, and how long an event waited to be applied.
func (in *Intent) time() {
	sent, received := map[uuid.UUID]time.Time{}, map[uuid.UUID]time.Time{}
	for _, e := range in.Events {
		received[e.ID] = e.ReceivedAt
	}
	for i := range in.Timeline {
		e := &in.Timeline[i]
		at, waits := sent[e.OperationID.UUID]
		came, known := received[e.EventID.UUID]
		switch {
		case e.Lane == LaneTo:
			sent[e.OperationID.UUID] = e.At
		case e.Lane == LaneFrom && waits && e.OperationID.Valid:
			e.Took = e.At.Sub(at)
			delete(sent, e.OperationID.UUID)
		case e.Lane == LaneInbox && known && e.Kind != "inbox.received" && e.Kind != "inbox.repeated":
			e.Took = max(e.At.Sub(came), 0)
		}
	}
}
