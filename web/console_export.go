package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/domain/console"
	"onefold/domain/operation"
	"onefold/domain/operator"
)

// evidenceSchema names the form of the bundle. Members are only ever added; anything else is another name.
const evidenceSchema = "onefold.intent/1"

// evidence is an intent for a ticket or a dispute: masked as on its page, complete as far as its timeline is kept.
type evidence struct {
	Schema      string              `json:"schema"`
	GeneratedAt time.Time           `json:"generatedAt"`
	Address     string              `json:"address"`
	Intent      evidenceIntent      `json:"intent"`
	Verdict     evidenceVerdict     `json:"verdict"`
	Identities  []evidenceID        `json:"identities"`
	Money       *evidenceMoney      `json:"money,omitempty"`
	Payments    []evidencePayment   `json:"payments"`
	Events      []evidenceEvent     `json:"events"`
	Reuses      []evidenceReuse     `json:"keyReuses"`
	Twins       []evidenceTwin      `json:"possibleDuplicates"`
	Timeline    []evidenceEntry     `json:"timeline"`
	Omitted     int                 `json:"timelineOmitted"`
	Next        []evidenceStep      `json:"next"`
	Notes       []evidenceNote      `json:"notes"`
	Explanation map[string][]string `json:"explanation"`
}

type evidenceIntent struct {
	Kind      string    `json:"kind"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	State     string    `json:"state,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Facts     []string  `json:"facts,omitempty"`
}

type evidenceVerdict struct {
	State      string              `json:"state"`
	Words      string              `json:"words"`
	Attempts   int                 `json:"attempts"`
	Orders     int                 `json:"orders"`
	Charges    int                 `json:"charges"`
	Effects    int                 `json:"effects"`
	Absorbed   map[string]int      `json:"absorbed"`
	Reasons    []evidenceReason    `json:"reasons"`
	Violations []evidenceViolation `json:"violations"`
}

type evidenceReason struct {
	Code    string `json:"code"`
	Subject string `json:"subject,omitempty"`
}

type evidenceViolation struct {
	Invariant int      `json:"invariant"`
	Name      string   `json:"name"`
	Promise   string   `json:"promise"`
	Details   []string `json:"details"`
}

type evidenceID struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	State string `json:"state,omitempty"`
	Note  string `json:"note,omitempty"`
}

type evidenceMoney struct {
	Captured string `json:"captured"`
	Returned string `json:"returned"`
	OnItsWay string `json:"onItsWay"`
	Left     string `json:"refundable"`
}

type evidencePayment struct {
	ID          string        `json:"id"`
	Attempt     int           `json:"attempt"`
	Ours        evidenceSide  `json:"ours"`
	Provider    *evidenceSide `json:"provider"` // null: it never said
	Got         string        `json:"reachedProvider"`
	Sends       int           `json:"sends"`
	Differences []string      `json:"differences"`
}

type evidenceSide struct {
	State  string     `json:"state"`
	Amount string     `json:"amount,omitempty"`
	ID     string     `json:"id,omitempty"`
	At     time.Time  `json:"at"`
	OwnAt  *time.Time `json:"ownTime,omitempty"`
	Via    string     `json:"via,omitempty"`
}

type evidenceEvent struct {
	EventID    string     `json:"eventId"`
	Type       string     `json:"type"`
	State      string     `json:"state"`
	Reason     string     `json:"reason,omitempty"`
	Deliveries int        `json:"deliveries"`
	ReceivedAt time.Time  `json:"receivedAt"`
	ProviderAt *time.Time `json:"providerTime,omitempty"`
}

type evidenceReuse struct {
	At          time.Time              `json:"at"`
	Differences []operation.Difference `json:"differences"`
}

type evidenceTwin struct {
	OrderID string `json:"orderId"`
	Number  string `json:"number"`
	Earlier bool   `json:"earlier"`
	Verdict string `json:"verdict,omitempty"`
}

type evidenceEntry struct {
	At       time.Time         `json:"at"`
	Lane     string            `json:"lane"`
	Kind     string            `json:"kind"`
	Words    string            `json:"words"`
	From     string            `json:"from,omitempty"`
	To       string            `json:"to,omitempty"`
	Guard    string            `json:"guard,omitempty"`
	Attempt  string            `json:"attempt,omitempty"`
	TookMS   int64             `json:"tookMs,omitempty"`
	Trace    string            `json:"traceId,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`
	Anchor   string            `json:"anchor"`
	LeftOut  int               `json:"omittedBefore,omitempty"`
	Provider *time.Time        `json:"providerTime,omitempty"`
}

type evidenceStep struct {
	Kind    string    `json:"kind"`
	Subject string    `json:"subject,omitempty"`
	At      time.Time `json:"at"`
}

type evidenceNote struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Text string    `json:"text"`
}

// consoleIntentJSON: GET /console/intents/{id}.json.
func (h *Handlers) consoleIntentJSON(c *fiber.Ctx) error {
	e, _, err := h.evidence(c)
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="intent-`+e.Intent.ID+`.json"`)
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
	return c.Send(append(body, '\n'))
}

// consoleIntentText: GET /console/intents/{id}.txt?lang=.
func (h *Handlers) consoleIntentText(c *fiber.Ctx) error {
	e, ctx, err := h.evidence(c)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	return c.SendString(e.text(ctx))
}

func (h *Handlers) evidence(c *fiber.Ctx) (evidence, context.Context, error) {
	ctx := h.speak(c)
	in, err := h.intent(c)
	if err != nil {
		return evidence{}, ctx, err
	}
	kind, name, state := titled(in)
	id := intentID(in).String()
	if err := h.Operator.Tell(c.UserContext(), operator.Told{Actor: currentUser(c), What: "export", ObjectType: kind, Object: id}); err != nil {
		return evidence{}, ctx, err // what leaves the console is in the audit
	}
	v := verdict(ctx, in)
	e := evidence{
		Schema: evidenceSchema, GeneratedAt: h.Now().UTC(), Address: strings.TrimRight(h.PublicURL, "/") + path.Go(id),
		Intent: evidenceIntent{Kind: kind, ID: id, Name: name, State: state, CreatedAt: madeAt(in).UTC(), Facts: facts(in)},
		Verdict: evidenceVerdict{
			State: string(in.Verdict.State), Words: v.Summary(ctx), Attempts: v.Attempts, Orders: v.Orders, Charges: v.Charges, Effects: v.Effects,
			Absorbed: map[string]int{}, Reasons: []evidenceReason{}, Violations: []evidenceViolation{},
		},
		Identities: []evidenceID{}, Payments: evidencePayments(in), Events: []evidenceEvent{}, Reuses: []evidenceReuse{}, Twins: []evidenceTwin{},
		Timeline: []evidenceEntry{}, Omitted: in.Omitted, Next: []evidenceStep{}, Notes: []evidenceNote{}, Explanation: map[string][]string{},
	}
	for _, a := range in.Verdict.Absorbed {
		e.Verdict.Absorbed[a.Guard] = a.Count
	}
	for _, r := range in.Verdict.Reasons {
		e.Verdict.Reasons = append(e.Verdict.Reasons, evidenceReason{r.Code, r.Subject})
	}
	for i, b := range v.Broken {
		e.Verdict.Violations = append(e.Verdict.Violations, evidenceViolation{b.Number, in.Violations[i].Name, b.Promise, b.Details})
	}
	e.fill(ctx, in)
	return e, ctx, nil
}

// fill adds the lists.
func (e *evidence) fill(ctx context.Context, in console.Intent) {
	for _, i := range identities(ctx, in) {
		e.Identities = append(e.Identities, evidenceID{i.Kind, i.Value, i.State, i.Note})
	}
	if in.Order != nil {
		m := in.Money
		e.Money = &evidenceMoney{m.Captured.String(), m.Returned.String(), m.OnItsWay.String(), m.Left.String()}
	}
	for _, x := range in.Events {
		e.Events = append(e.Events, evidenceEvent{x.EventID, x.Type, string(x.Status), x.Reason, x.Deliveries, x.ReceivedAt.UTC(), x.ProviderAt})
	}
	for _, r := range in.Reuses {
		e.Reuses = append(e.Reuses, evidenceReuse{r.At.UTC(), append([]operation.Difference{}, r.Fields...)})
	}
	for _, t := range in.Twins {
		e.Twins = append(e.Twins, evidenceTwin{t.OrderID.String(), number(&t.Number), t.Earlier, t.Verdict})
	}
	for _, x := range in.Timeline {
		e.Timeline = append(e.Timeline, evidenceOf(ctx, x))
	}
	for _, s := range in.Next {
		e.Next = append(e.Next, evidenceStep{nextKey(s), s.Subject, s.At.UTC()})
	}
	for _, n := range in.Notes {
		e.Notes = append(e.Notes, evidenceNote{n.At.UTC(), n.By, n.Text})
	}
	for _, s := range stories(ctx, in) {
		for _, l := range s.Lines {
			e.Explanation[s.Lang] = append(e.Explanation[s.Lang], l.String())
		}
	}
}

func evidencePayments(in console.Intent) []evidencePayment {
	list := []evidencePayment{}
	for i, p := range in.Payments {
		h := in.Heard[i]
		out := evidencePayment{
			ID: p.ID.String(), Attempt: p.Attempt, Got: h.Got, Sends: h.Sends, Differences: append([]string{}, h.Differs...),
			Ours: evidenceSide{State: string(p.Status), Amount: p.Amount.String(), At: p.UpdatedAt.UTC()},
		}
		if h.State != "" {
			out.Provider = &evidenceSide{State: h.State, Amount: h.Amount, ID: h.ProviderID, At: h.At.UTC(), OwnAt: h.ProviderAt, Via: h.Via}
		}
		list = append(list, out)
	}
	return list
}

func evidenceOf(ctx context.Context, x console.Entry) evidenceEntry {
	m := entryModel(x)
	out := evidenceEntry{
		At: x.At.UTC(), Lane: m.Lane, Kind: x.Kind, Words: i18n.Journal(ctx, x.Kind), From: x.From, To: x.To, Guard: x.Guard, Attempt: m.Attempt,
		TookMS: x.Took.Milliseconds(), Trace: x.TraceID, Facts: map[string]string{}, Anchor: x.Anchor, LeftOut: x.OmittedBefore, Provider: x.ProviderAt,
	}
	for _, d := range m.Detail {
		if d.Name != "trace_id" && d.Name != "provider_at" {
			out.Facts[d.Name] = d.Value
		}
	}
	return out
}
