package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"onefold/components/i18n"
)

const evidenceTime = "2006-01-02T15:04:05.000Z"

// text is the bundle for people, in the language of ctx. All times are UTC, so that it can be compared with logs.
func (e evidence) text(ctx context.Context) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	head := func(key string) { say("\n%s", strings.ToUpper(i18n.T(ctx, key))) }

	say("onefold %s %s", i18n.T(ctx, "intent.title."+e.Intent.Kind, e.Intent.Name), e.Intent.State)
	say("%s", e.Address)
	say("%s %s", e.Schema, e.GeneratedAt.Format(evidenceTime))
	say("\n%s: %s", i18n.T(ctx, "intent.verdict."+e.Verdict.State), e.Verdict.Words)
	for _, guard := range slices.Sorted(maps.Keys(e.Verdict.Absorbed)) {
		say("  %s × %d", guard, e.Verdict.Absorbed[guard])
	}
	for _, r := range e.Verdict.Reasons {
		say("  ! %s %s", r.Code, r.Subject)
	}
	for _, v := range e.Verdict.Violations {
		say("  ! %s: %s", i18n.T(ctx, "intent.violation", v.Invariant), v.Promise)
		for _, d := range v.Details {
			say("    %s", d)
		}
	}
	head("intent.story")
	for _, line := range e.Explanation[string(i18n.From(ctx).Lang)] {
		say("%s", line)
	}
	head("intent.identity")
	for _, id := range e.Identities {
		say("  %-18s %s %s %s", id.Kind, id.Value, id.State, id.Note)
	}
	e.textOfMoney(ctx, say, head)
	head("intent.timeline")
	for _, x := range e.Timeline {
		if x.LeftOut > 0 {
			say("  … %s", i18n.T(ctx, "count.omitted", x.LeftOut))
		}
		say("  %s", x.line(ctx))
	}
	for _, s := range e.Next {
		say("  %s  %-12s %s %s", s.At.Format(evidenceTime), "→", i18n.T(ctx, "next."+s.Kind), s.Subject)
	}
	if len(e.Notes) > 0 {
		head("intent.notes")
	}
	for _, n := range e.Notes {
		say("  %s  %s: %s", n.At.Format(evidenceTime), n.By, n.Text)
	}
	return b.String()
}

func (e evidence) textOfMoney(ctx context.Context, say func(string, ...any), head func(string)) {
	if e.Money == nil {
		return
	}
	head("intent.money")
	for _, sum := range []struct{ key, value string }{
		{"intent.money.captured", e.Money.Captured}, {"intent.money.back", e.Money.Returned}, {"intent.money.way", e.Money.OnItsWay}, {"intent.money.left", e.Money.Left},
	} {
		say("  %s: %s", i18n.T(ctx, sum.key), sum.value)
	}
	for _, p := range e.Payments {
		say("  %s %s: %s %s. %s", i18n.T(ctx, "intent.attempt", p.Attempt), p.ID, p.Ours.State, p.Ours.Amount, i18n.T(ctx, "intent.got."+p.Got))
		if p.Provider != nil {
			say("    %s: %s %s %s (%s, %s)", i18n.T(ctx, "intent.sides.theirs"), p.Provider.State, p.Provider.Amount, p.Provider.ID,
				i18n.T(ctx, "intent.via."+p.Provider.Via), p.Provider.At.Format(evidenceTime))
		}
		for _, d := range p.Differences {
			say("    ! %s", i18n.T(ctx, "intent.sides.differs."+d))
		}
	}
}

// line is an entry in one line, its facts in the order of their names.
func (x evidenceEntry) line(ctx context.Context) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %-12s %s", x.At.Format(evidenceTime), i18n.T(ctx, "lane."+x.Lane), x.Words)
	if x.From != "" || x.To != "" {
		fmt.Fprintf(&text, " (%s → %s)", x.From, x.To)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Facts)) {
		fmt.Fprintf(&text, " %s=%s", name, strings.ReplaceAll(x.Facts[name], "\n", " "))
	}
	return text.String()
}
