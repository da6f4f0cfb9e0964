package web

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/domain/checkout"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/payment"
)

// timelineQuery reads how a timeline is looked at. What is unknown is refused by name, as in lists.
func timelineQuery(c *fiber.Ctx) (t view.Timeline, err error) {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return t, badAddress(fault.Validation(fault.Field{Field: "?", Rule: "readable", Message: "can't be read"}))
	}
	var broken []fault.Field
	for name, given := range values {
		once := len(given) == 1
		switch {
		case (name == "lang" || name == "done") && once:
		case name == "lane" && known(given):
			t.Lanes = given
		case name == "order" && once && (given[0] == "newest" || given[0] == "oldest"):
			t.Newest = given[0] == "newest"
		case name == "trace" && once && isHex(given[0]):
			t.Trace = given[0]
		default:
			broken = append(broken, fault.Field{Field: name, Rule: "known", Message: "is no view of the timeline, or is there twice"})
		}
	}
	if len(broken) > 0 {
		return t, badAddress(fault.Validation(broken...))
	}
	return t, nil
}

func known(lanes []string) bool {
	seen := map[string]bool{}
	for _, l := range lanes {
		if seen[l] || !slices.Contains(console.Lanes(), console.Lane(l)) {
			return false
		}
		seen[l] = true
	}
	return true
}

func isHex(text string) bool {
	_, err := strconv.ParseUint("0"+text[:min(len(text), 15)], 16, 64)
	return err == nil && len(text) == 32
}

func timelineModel(in console.Intent) view.Timeline {
	t := view.Timeline{Now: in.Now, Next: nextModel(in), Address: path.ConsoleIntent(intentID(in).String())}
	for _, l := range console.Lanes() {
		t.Order = append(t.Order, string(l))
	}
	for _, e := range in.Timeline {
		t.Entries = append(t.Entries, entryModel(e))
	}
	return t
}

func nextModel(in console.Intent) (list []view.Next) {
	for _, s := range in.Next {
		list = append(list, view.Next{Key: nextKey(s), Subject: s.Subject, At: s.At, Owner: s.Owner, Attempt: s.Attempt})
	}
	return list
}

// nextKey names what will happen: two operations say it by their type, however they are started.
func nextKey(s console.Step) string {
	switch {
	case s.Kind == "lease" || s.Kind == "key":
		return s.Kind
	case s.Subject == string(checkout.ExpireOrder):
		return "expire"
	case s.Subject == string(payment.WatchPayment):
		return "reconcile"
	}
	return s.Kind
}

// clockTolerance is how far the provider's clock may be from ours without being shown.
const clockTolerance = 2 * time.Second

func entryModel(e console.Entry) view.Entry {
	m := view.Entry{
		Anchor: e.Anchor, At: e.At, Kind: e.Kind, Lane: string(e.Lane), From: e.From, To: e.To, Guard: e.Guard, Attempt: tries(e), Took: e.Took,
		Trace: e.TraceID, Omitted: e.OmittedBefore,
	}
	if e.ProviderAt != nil && e.ProviderAt.Sub(e.At).Abs() > clockTolerance {
		m.ProviderAt = *e.ProviderAt
	}
	if e.Lane == console.LaneOperator {
		m.By, m.Role, m.Reason = e.Fact("by"), e.Fact("role"), e.Fact("reason")
		if e.To == "REFUSED" {
			m.Refusal = e.Fact("code")
		}
	}
	m.Detail = details(e)
	return m
}

// tries is "2", or "2/25" where they are limited.
func tries(e console.Entry) string {
	switch {
	case e.Attempt == 0:
		return ""
	case e.Most == 0:
		return strconv.Itoa(e.Attempt)
	}
	return strconv.Itoa(e.Attempt) + "/" + strconv.Itoa(e.Most)
}

// details are an entry's facts and every ID it names.
func details(e console.Entry) (list []view.Detail) {
	for _, f := range e.Facts {
		list = append(list, view.Detail{Name: f.Name, Value: f.Value})
	}
	for _, d := range e.Differs {
		list = append(list, view.Detail{Name: d.Field, Value: d.First + " → " + d.Later})
	}
	for _, id := range []struct {
		name string
		id   uuid.NullUUID
	}{{"operation_id", e.OperationID}, {"payment_id", e.PaymentID}, {"incoming_event_id", e.EventID}, {"outbox_event_id", e.OutboxID}} {
		if id.id.Valid {
			list = append(list, view.Detail{Name: id.name, Value: id.id.UUID.String()})
		}
	}
	if e.JobID != nil {
		list = append(list, view.Detail{Name: "job_id", Value: strconv.FormatInt(*e.JobID, 10)})
	}
	if e.ProviderAt != nil {
		list = append(list, view.Detail{Name: "provider_at", Value: e.ProviderAt.UTC().Format(time.RFC3339Nano)})
	}
	return append(list, view.Detail{Name: "trace_id", Value: e.TraceID})
}
