package web

import (
	"context"
	"strings"
	"time"

	view "onefold/components/console"
	"onefold/components/i18n"
	"onefold/domain/console"
)

// stories explain the intent to the customer in every language, the customer's own first.
func stories(ctx context.Context, in console.Intent) (list []view.Story) {
	lines := in.Story()
	for _, lang := range i18n.Langs() {
		s := view.Story{Lang: string(lang)}
		own := i18n.From(ctx)
		own.Lang = lang
		for _, l := range lines {
			s.Lines = append(s.Lines, sentence(i18n.With(ctx, own), l))
		}
		if in.Order != nil && in.Order.Locale == string(lang) {
			list = append([]view.Story{s}, list...)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// hole stands in a sentence where its time goes.
const hole = "\x00"

// sentence writes a line out, with its time apart.
func sentence(ctx context.Context, l console.Line) view.Sentence {
	key := "story." + l.Code
	if !i18n.Has(key) && strings.HasPrefix(l.Code, "refused.") {
		key = "story.refused.other"
	}
	words := i18n.T(ctx, key, arguments(ctx, l)...)
	s := view.Sentence{Before: words}
	if before, after, ok := strings.Cut(words, hole); ok {
		s = view.Sentence{Before: before, After: after, Time: i18n.DateTime(ctx, l.At), At: l.At}
	}
	return s
}

// arguments fills a line's words in: number, sum, time, text. Only counts are numbers: an order's has no plural.
func arguments(ctx context.Context, l console.Line) (args []any) {
	switch {
	case l.N == 0:
	case l.Code == "placed":
		args = append(args, number(&l.N))
	default:
		args = append(args, int(l.N))
	}
	if l.Amount.Currency != "" && l.Code != "charged_more" {
		args = append(args, l.Amount.Display(string(i18n.From(ctx).Lang)))
	}
	if !l.At.Equal(time.Time{}) {
		args = append(args, hole)
	}
	if l.Text != "" {
		args = append(args, l.Text)
	}
	return args
}
