package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/components/i18n"
)

func TestRowsFoldRepeatsAndNameGaps(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	got := rows([]Entry{
		{ID: 1, At: at(0), Kind: "operation.claimed"},
		{ID: 2, At: at(1), Kind: "operation.replayed"},
		{ID: 3, At: at(2), Kind: "operation.replayed"},
		{ID: 4, At: at(63), Kind: "operation.replayed"},
		{ID: 5, At: at(64), Kind: "payment.pending"},
	})
	require.Len(t, got, 4)
	require.Equal(t, 2, got[1].times)
	require.Equal(t, at(2), got[1].last)
	require.Equal(t, 61*time.Second, got[2].gap, "a repeat after a silence stands alone, behind the named gap")
	require.Zero(t, got[3].gap)
	require.Equal(t, 64*time.Second, got[3].offset)
}

func TestEveryLaneHasAWord(t *testing.T) {
	t.Parallel()
	for _, lane := range []string{"operation", "order", "payment", "provider", "inbox", "outbox", "job", "effect", "mail", "operator", "http", "", "new"} {
		require.True(t, i18n.Has("lane."+row{Entry: Entry{Lane: lane}}.lane()), lane)
	}
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
