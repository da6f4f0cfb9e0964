package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRowsFoldRepeatsAndNameGaps(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	got := rows([]Entry{
		{At: at(0), Kind: "operation.claimed"},
		{At: at(1), Kind: "operation.replayed"},
		{At: at(2), Kind: "operation.replayed"},
		{At: at(63), Kind: "operation.replayed"},
		{At: at(64), Kind: "payment.pending"},
	}, start)
	require.Len(t, got, 4)
	require.Equal(t, 2, got[1].times())
	require.Equal(t, at(2), got[1].last)
	require.Equal(t, 61*time.Second, got[2].gap, "a repeat after a silence stands alone, behind the named gap")
	require.Zero(t, got[3].gap)
	require.Equal(t, 64*time.Second, got[3].offset)
}

// Looks are planned: the pauses between them aren't silence.
func TestLooksAreFoldedAcrossTheirPauses(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	var list []Entry
	for i := range 7 {
		list = append(list, Entry{Anchor: string(rune('a' + i)), At: start.Add(time.Duration(i*i) * time.Minute), Kind: "operation.postponed", Lane: "reconcile"})
	}
	list = append(list, Entry{At: start.Add(78 * time.Minute), Kind: "payment.succeeded", Lane: "reconcile"})
	got := rows(list, start)
	require.Len(t, got, 2)
	require.Equal(t, 7, got[0].times())
	require.Equal(t, start.Add(36*time.Minute), got[0].last)
	require.Equal(t, 42*time.Minute, got[1].gap)
}

func TestTimelineEndsWithTheFuture(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 23, 59, 0, 0, time.UTC)
	tl := Timeline{
		Entries: []Entry{{At: start, Kind: "a.b", Lane: "db"}, {At: start.Add(2 * time.Minute), Kind: "c.d", Lane: "db"}},
		Now:     start.Add(10 * time.Minute), Next: []Next{{Key: "lease", At: start.Add(11 * time.Minute)}},
	}
	kinds := func(tl Timeline) (out []string) {
		for _, l := range tl.lines(t.Context()) {
			switch {
			case l.entry != nil:
				out = append(out, l.entry.Kind)
			case l.gap > 0:
				out = append(out, "gap")
			case l.now:
				out = append(out, "now")
			case l.next != nil:
				out = append(out, "next")
			default:
				out = append(out, "day")
			}
		}
		return out
	}
	require.Equal(t, []string{"a.b", "gap", "day", "c.d", "now", "next"}, kinds(tl))
	tl.Newest = true
	require.Equal(t, []string{"next", "now", "c.d", "gap", "day", "a.b"}, kinds(tl))
	tl.Lanes = []string{"inbox"}
	require.Empty(t, kinds(tl), "the future of one lane is nobody's to tell")
}

func TestDiagramCountsWhatItDoesNotDraw(t *testing.T) {
	t.Parallel()
	var d Diagram
	for range 40 {
		d.Attempts = append(d.Attempts, Attempt{Guard: "operations_identity"})
	}
	drawn := d.draw(t.Context())
	require.Len(t, drawn.attempts, shown)
	require.Equal(t, "and 35 more", drawn.attempts[shown-1].title)
}
