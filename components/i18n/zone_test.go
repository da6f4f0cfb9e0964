package i18n

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/stretchr/testify/require"
)

// The hour that a clock shows twice is told apart by its zone, and the day begins where the reader lives.
func TestTimesAcrossTheChangeOfClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, utc, words string }{
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "25 Oct 2026, 02:30 UTC+2"},
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "25 Oct 2026, 02:30 UTC+1"},
		{"Europe/Berlin", "2026-03-29T00:59:00Z", "29 Mar 2026, 01:59 UTC+1"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "29 Mar 2026, 03:00 UTC+2"},
		{"America/New_York", "2026-11-01T05:59:00Z", "1 Nov 2026, 01:59 UTC-4"},
		{"America/New_York", "2026-11-01T06:00:00Z", "1 Nov 2026, 01:00 UTC-5"},
		{"America/New_York", "2026-11-02T04:59:00Z", "1 Nov 2026, 23:59 UTC-5"},
		{"Australia/Lord_Howe", "2026-10-03T15:29:00Z", "4 Oct 2026, 01:59 UTC+10:30"},
		{"Australia/Lord_Howe", "2026-10-03T15:30:00Z", "4 Oct 2026, 02:30 UTC+11"},
		{"UTC", "2026-12-31T23:59:00Z", "31 Dec 2026, 23:59 UTC"},
	} {
		zone, err := time.LoadLocation(c.zone)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339, c.utc)
		require.NoError(t, err)
		require.Equal(t, c.words, DateTime(With(context.Background(), Locale{Lang: English, Zone: zone}), at), c.zone)
	}
}
