package i18n

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// A word is one message in both languages, side by side so that neither is forgotten.
type word struct{ key, en, ru string }

// A count is a message chosen by its first argument, a number.
type count struct {
	key string
	en  forms
	ru  forms
}

// forms are the plural forms of one language; English has no few and many.
type forms struct{ one, few, many, other string }

//nolint:gochecknoglobals // built once from constants; printers are safe for concurrent use
var printers = build()

func words() []word {
	var all []word
	for _, part := range [][]word{shellWords, shopWords, checkoutWords, countryWords, brokenWords, orderWords, errorWords, statusWords, consoleWords, operatorWords, journalWords, alarmWords, helpWords} {
		all = append(all, part...)
	}
	return all
}

// counted are all messages with a number in them.
func counted() []count { return slices.Concat(counts, intentCounts) }

func build() map[Lang]*message.Printer {
	b := catalog.NewBuilder()
	for _, w := range words() {
		must(b.SetString(language.English, w.key, w.en))
		must(b.SetString(language.Russian, w.key, w.ru))
	}
	for _, c := range counted() {
		must(b.Set(language.English, c.key, plural.Selectf(1, "%d", plural.One, c.en.one, plural.Other, c.en.other)))
		must(b.Set(language.Russian, c.key, plural.Selectf(1, "%d",
			plural.One, c.ru.one, plural.Few, c.ru.few, plural.Many, c.ru.many, plural.Other, c.ru.other)))
	}
	return map[Lang]*message.Printer{
		English: message.NewPrinter(language.English, message.Catalog(b)),
		Russian: message.NewPrinter(language.Russian, message.Catalog(b)),
	}
}

// must stops the start: a message that does not parse is a mistake in this package.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("i18n: %v", err))
	}
}

// T is the message of a key in the language of ctx. An unknown key comes back as it is.
func T(ctx context.Context, key string, args ...any) string {
	return printers[From(ctx).Lang].Sprintf(key, args...)
}

// In is T for a language known by itself, e.g. for mail.
func In(l Lang, key string, args ...any) string {
	return T(With(context.Background(), Locale{Lang: l}), key, args...)
}

// Has says whether both languages know the key.
func Has(key string) bool { return known[key] }

//nolint:gochecknoglobals // built once from constants
var known = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range words() {
		m[w.key] = true
	}
	for _, c := range counted() {
		m[c.key] = true
	}
	return m
}()
