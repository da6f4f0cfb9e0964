// Package i18n speaks to people: words in English and Russian, plurals, times and zones.
// The language of a request travels in the context of its rendering; see With.
package i18n

import (
	"context"
	"time"

	"golang.org/x/text/language"
)

// Lang is a language the pages exist in.
type Lang string

// The languages.
const (
	English Lang = "en"
	Russian Lang = "ru"
)

// Langs lists every language, in the order shown to people.
func Langs() []Lang { return []Lang{English, Russian} }

// Valid says whether pages exist in this language.
func (l Lang) Valid() bool { return l == English || l == Russian }

// Match picks the language for an Accept-Language header; English when nothing fits.
func Match(acceptLanguage string) Lang {
	tags, _, _ := language.ParseAcceptLanguage(acceptLanguage)
	_, index, _ := language.NewMatcher([]language.Tag{language.English, language.Russian}).Match(tags...)
	return Langs()[index]
}

// Locale is how one request is spoken to.
type Locale struct {
	Lang   Lang
	Zone   *time.Location // nil means UTC
	Hour12 bool           // "9:00 PM" instead of "21:00"
	Now    time.Time      // the moment of rendering, for ages; zero shows absolute times instead
}

type localeKey struct{}

// With returns a context whose pages are rendered for l.
func With(ctx context.Context, l Locale) context.Context {
	if !l.Lang.Valid() {
		l.Lang = English
	}
	if l.Zone == nil {
		l.Zone = time.UTC
	}
	return context.WithValue(ctx, localeKey{}, l)
}

// From returns the locale of With, or English and UTC.
func From(ctx context.Context) Locale {
	if l, ok := ctx.Value(localeKey{}).(Locale); ok {
		return l
	}
	return Locale{Lang: English, Zone: time.UTC}
}
