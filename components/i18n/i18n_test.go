package i18n

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBothLanguagesKnowEveryKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, w := range words() {
		require.False(t, seen[w.key], "%s twice", w.key)
		seen[w.key] = true
		require.NotEmpty(t, w.en, w.key)
		require.NotEmpty(t, w.ru, w.key)
		require.Equal(t, strings.Count(w.en, "%"), strings.Count(w.ru, "%"), "arguments of %s", w.key)
	}
	for _, c := range counted() {
		require.False(t, seen[c.key], "%s twice", c.key)
		for _, form := range []string{c.en.one, c.en.other, c.ru.one, c.ru.few, c.ru.many, c.ru.other} {
			require.Contains(t, form, "%d", c.key)
		}
	}
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]string{
		1: {"1 operation", "1 операция"}, 2: {"2 operations", "2 операции"}, 5: {"5 operations", "5 операций"},
		11: {"11 operations", "11 операций"}, 21: {"21 operations", "21 операция"},
	} {
		require.Equal(t, want[0], In(English, "count.operations", n))
		require.Equal(t, want[1], In(Russian, "count.operations", n))
	}
}

var literalKey = regexp.MustCompile(`i18n\.T\(ctx, "([a-z_A-Z0-9.]+)"[,)]`)

// Every key a component names exists.
func TestComponentsUseKnownKeys(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.templ")
	require.NoError(t, err)
	code, err := filepath.Glob("../*/*.go")
	require.NoError(t, err)
	for _, file := range append(files, code...) {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range literalKey.FindAllStringSubmatch(string(content), -1) {
			require.True(t, Has(m[1]), "%s: %s", file, m[1])
		}
	}
}

// The states of the contract, each with a word.
func TestGlossaryIsComplete(t *testing.T) {
	t.Parallel()
	for entity, states := range map[string]string{
		"operation": "PROCESSING COMPLETED FAILED",
		"order":     "AWAITING_PAYMENT PAID FULFILLED CANCELED EXPIRED PARTIALLY_REFUNDED REFUNDED",
		"payment":   "CREATED SUBMITTING PENDING UNKNOWN SUCCEEDED CANCELED FAILED PARTIALLY_REFUNDED REFUNDED",
		"refund":    "CREATED SUBMITTING UNKNOWN SUCCEEDED FAILED",
		"shipment":  "CREATED SUBMITTING UNKNOWN SUCCEEDED FAILED",
		"inbox":     "RECEIVED APPLIED NO_CHANGE STALE IGNORED QUARANTINED",
	} {
		for s := range strings.FieldsSeq(states) {
			require.True(t, Has("status."+entity+"."+s), "%s %s", entity, s)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]Lang{"": English, "ru-RU,ru;q=0.9,en;q=0.8": Russian, "de": English, "en-GB,ru;q=0.5": English, ";;": English} {
		require.Equal(t, want, Match(header), header)
	}
}

func TestTimesCarryTheirZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 18, 5, 7, 0, time.UTC)
	ctx := With(context.Background(), Locale{Lang: Russian, Zone: time.FixedZone("", 3*3600), Now: at.Add(42 * time.Minute)})
	require.Equal(t, "29 ноя 2026, 21:05 UTC+3", DateTime(ctx, at))
	require.Equal(t, "42 мин назад", Age(ctx, at))
	require.Equal(t, "29 Nov 2026, 18:05 UTC", DateTime(context.Background(), at))
	india := With(context.Background(), Locale{Zone: time.FixedZone("", 5*3600+1800)})
	require.Equal(t, "UTC+5:30", ZoneName(india, at))
}
