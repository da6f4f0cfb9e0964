package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/alarm"
	"onefold/domain/console"
	"onefold/domain/fault"
)

// How much of each the overview shows.
const (
	shownLatest  = 8
	shownClients = 5
	shownRuns    = 6
)

// consoleOverview: GET /console.
func (h *Handlers) consoleOverview(c *fiber.Ctx) error {
	r, known := alarm.RangeOf(c.Query("range"))
	if !known {
		return badAddress(fault.Validation(fault.Field{Field: "range", Rule: "known", Message: "is no range"}))
	}
	p, queues := h.consolePage(c, "overview")
	ctx := c.UserContext()
	m := view.OverviewModel{Address: path.WithQuery(path.Console(), "range", c.Query("range")), Every: refreshSeconds(p.Refresh)}
	for _, other := range alarm.Ranges() {
		m.Ranges = append(m.Ranges, ui.Chip{Label: i18n.T(h.speak(c), "range."+other.Name), URL: path.WithQuery(path.Console(), "range", other.Name), Active: other.Name == r.Name})
	}
	recent, err := alarm.Recent(ctx, h.DB)
	h.unread(c, "samples", err)
	for _, q := range queues {
		m.Queues = append(m.Queues, h.tile(q, recent[q.Name]))
	}
	charts, err := alarm.Read(ctx, h.DB, r)
	h.unread(c, "charts", err)
	m.Charts = chartModels(charts)
	m.LookedAt, err = alarm.RanAt(ctx, h.DB)
	h.unread(c, "last look", err)
	m.Stale = h.Now().Sub(m.LookedAt) > staleAfter
	h.overviewSide(c, &m)
	latest, err := console.Operations(ctx, h.DB, console.Query{Limit: "25"})
	if err != nil {
		return err
	}
	m.Latest = operationRows(latest.Rows[:min(len(latest.Rows), shownLatest)])
	return h.render(c, fiber.StatusOK, view.Overview(p, m))
}

// staleAfter is when alarms that nobody evaluates are no proof that all is well.
const staleAfter = 2 * time.Minute

func refreshSeconds(wanted string) int {
	n, err := strconv.Atoi(wanted)
	if err != nil {
		return 0
	}
	return n
}

func (h *Handlers) tile(q console.Queue, recent []float64) view.Queue {
	limit := h.Limits.Of(q.Name)
	t := view.Queue{
		Name: q.Name, N: q.Count, More: q.Count >= console.MaxCount, Age: q.Age, Over: limit.Over(q.Count, q.Age), URL: queueList(q.Name), Recent: recent,
		Limit: seconds(limit.Limit),
	}
	if q.Oldest != nil {
		t.Oldest = *q.Oldest
	}
	return t
}

// overviewSide is what stands beside the charts; a part that can't be read is left out.
func (h *Handlers) overviewSide(c *fiber.Ctx, m *view.OverviewModel) {
	ctx := c.UserContext()
	promises, err := alarm.Proof(ctx, h.DB)
	h.unread(c, "invariants", err)
	layers, err := alarm.AbsorbedToday(ctx, h.DB)
	h.unread(c, "absorbed", err)
	m.Proof = proofModel(promises, layers)
	clients, err := alarm.Reusers(ctx, h.DB, shownClients)
	h.unread(c, "clients", err)
	for _, k := range clients {
		m.Clients = append(m.Clients, view.Client{Who: or(account.MaskEmail(k.Email), ui.Middle(k.UserID.String())), N: k.Count, At: k.At, URL: path.Go(k.OperationID.String())})
	}
	runs, err := alarm.Runs(ctx, h.DB, shownRuns)
	h.unread(c, "runs", err)
	for _, r := range runs {
		m.Runs = append(m.Runs, view.LastRun{
			Kind: r.Kind, Label: r.Label, By: account.MaskEmail(r.By), Total: r.Total, Done: r.Done, At: r.At, Running: r.EndsAt == nil, URL: runURL(r),
		})
	}
}

func proofModel(promises alarm.ProofResult, layers map[string]int64) view.Proof {
	p := view.Proof{Known: promises.Known(), Violations: promises.Violations(), CheckedAt: promises.CheckedAt()}
	for _, i := range promises {
		p.Took += i.Took
		p.Promises = append(p.Promises, view.Promise{Number: i.Number, Name: i.Name, Violations: i.Violations, Sample: i.Sample, Since: orZero(i.Since)})
	}
	most := int64(1)
	for _, n := range layers {
		p.Absorbed += n
		most = max(most, n)
	}
	for _, name := range absorbing() {
		p.Layers = append(p.Layers, view.Layer{Name: name, N: layers[name], Share: int(100 * layers[name] / most)})
	}
	return p
}

// absorbing lists the layers that absorb repeats, from the outside in.
func absorbing() []string { return []string{"request", "twin", "key", "delivery", "event", "worker"} }

// chartModels are the four charts; counters become rates per minute.
func chartModels(c alarm.Charts) []view.Chart {
	if c.Points == 0 {
		return nil
	}
	operations := view.Chart{Name: "operations", Stack: true, Lines: lines(c, alarm.Operations, "completed good", "replayed first", "refused warn", "failed bad")}
	payments := view.Chart{Name: "payments", Stack: true, Lines: lines(c, alarm.Payments, "succeeded good", "unknown unknown", "canceled neutral", "failed bad")}
	payments.Parts = providerParts(c, payments.Lines)
	latency := view.Chart{Name: "latency", Lines: []view.Line{
		{Label: "p50", Look: "s1", Points: c.Percentile(.5)}, {Label: "p95", Look: "s2", Points: c.Percentile(.95)}, {Label: "p99", Look: "s3", Points: c.Percentile(.99)},
	}}
	absorbed := view.Chart{Name: "absorbed", Stack: true}
	for n, layer := range absorbing() {
		absorbed.Lines = append(absorbed.Lines, lines(c, alarm.Absorbed, fmt.Sprintf("%s s%d", layer, n+1))...)
	}
	all := []view.Chart{operations, payments, latency, absorbed}
	for i := range all {
		all[i].From, all[i].Step, all[i].Empty = c.From, c.Step, true
		for _, l := range all[i].Lines {
			for _, v := range l.Points {
				all[i].Empty = all[i].Empty && v == 0
			}
		}
	}
	return all
}

// providerParts are the totals of each provider that had a result.
func providerParts(c alarm.Charts, results []view.Line) (parts []view.Part) {
	for _, label := range c.Labels(alarm.Providers) {
		name, _, _ := strings.Cut(label, "/")
		if n := len(parts); n > 0 && parts[n-1].Name == name {
			continue
		}
		p := view.Part{Name: name}
		for _, r := range results {
			p.Totals = append(p.Totals, total(c, alarm.Providers, name+"/"+r.Label))
		}
		parts = append(parts, p)
	}
	return parts
}

func total(c alarm.Charts, series, label string) string {
	return strconv.FormatFloat(c.Total(series, label), 'f', 0, 64)
}

// lines reads "label look" for each.
func lines(c alarm.Charts, series string, labels ...string) (list []view.Line) {
	for _, l := range labels {
		var line view.Line
		_, _ = fmt.Sscan(l, &line.Label, &line.Look)
		line.Points = make([]float64, c.Points)
		for i, n := range c.Of(series, line.Label) {
			line.Points[i] = n / c.Step.Minutes()
		}
		line.Total = total(c, series, line.Label)
		list = append(list, line)
	}
	return list
}

func runURL(r alarm.Run) string {
	if r.Kind == "batch" {
		return path.ConsoleBatch(r.ID.String())
	}
	return path.ConsoleRun(r.ID.String())
}
