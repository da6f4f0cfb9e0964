package i18n

import (
	"context"
	"fmt"
	"time"
)

//nolint:gochecknoglobals // constant
var months = map[Lang][12]string{
	English: {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	Russian: {"янв", "фев", "мар", "апр", "мая", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"},
}

// Date is "29 Nov 2026" in the zone of ctx.
func Date(ctx context.Context, t time.Time) string {
	l := From(ctx)
	t = t.In(l.Zone)
	return fmt.Sprintf("%d %s %d", t.Day(), months[l.Lang][t.Month()-1], t.Year())
}

// DateTime is "29 Nov 2026, 21:00 UTC+3": never without its zone.
func DateTime(ctx context.Context, t time.Time) string {
	return Date(ctx, t) + ", " + t.In(From(ctx).Zone).Format(From(ctx).clock("")) + " " + ZoneName(ctx, t)
}

// Clock is "21:00:05.123", for lists whose heading names the day and the zone.
func Clock(ctx context.Context, t time.Time) string {
	return t.In(From(ctx).Zone).Format(From(ctx).clock(":05.000"))
}

// ClockSeconds is "21:00:05".
func ClockSeconds(ctx context.Context, t time.Time) string {
	return t.In(From(ctx).Zone).Format(From(ctx).clock(":05"))
}

// HourMinute is "21:00", for axes that name the day elsewhere.
func HourMinute(ctx context.Context, t time.Time) string {
	return t.In(From(ctx).Zone).Format(From(ctx).clock(""))
}

// clock is the layout of a time of day with what follows the minutes.
func (l Locale) clock(rest string) string {
	if l.Hour12 {
		return "3:04" + rest + " PM"
	}
	return "15:04" + rest
}

// ZoneName is "UTC" or "UTC+3": offsets are understood everywhere, abbreviations are not.
func ZoneName(ctx context.Context, t time.Time) string {
	_, offset := t.In(From(ctx).Zone).Zone()
	if offset == 0 {
		return "UTC"
	}
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	if minutes := offset / 60 % 60; minutes != 0 {
		return fmt.Sprintf("UTC%c%d:%02d", sign, offset/3600, minutes)
	}
	return fmt.Sprintf("UTC%c%d", sign, offset/3600)
}

// Age is "42 min ago" or "in 42 s" against the Now of ctx; without one it is DateTime.
func Age(ctx context.Context, t time.Time) string {
	now := From(ctx).Now
	if now.IsZero() {
		return DateTime(ctx, t)
	}
	d := now.Sub(t)
	if d < 0 {
		return T(ctx, "time.in", Span(ctx, -d))
	}
	if d < 2*time.Second {
		return T(ctx, "time.now")
	}
	return T(ctx, "time.ago", Span(ctx, d))
}

// Span is a length of time in its largest whole unit: "830 ms", "42 s", "5 min", "3 h", "12 d".
func Span(ctx context.Context, d time.Duration) string {
	switch {
	case d < time.Second:
		return T(ctx, "time.ms", int(d.Milliseconds()))
	case d < 2*time.Minute:
		return T(ctx, "time.s", int(d.Seconds()))
	case d < 2*time.Hour:
		return T(ctx, "time.min", int(d.Minutes()))
	case d < 48*time.Hour:
		return T(ctx, "time.h", int(d.Hours()))
	default:
		return T(ctx, "time.d", int(d.Hours()/24))
	}
}
