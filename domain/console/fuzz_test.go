package console

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// FuzzCursor: what is taken as a place is one that Postgres can hold, and it is written again as what it means.
func FuzzCursor(f *testing.F) {
	f.Add(cursor{at: time.UnixMicro(1_800_000_000_000_001), id: uuid.NameSpaceDNS}.String())
	f.Add(cursor{newer: true}.String())
	f.Add("b3wxfA")
	f.Add("bnwtMXwwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			require.ErrorIs(t, err, errCursor)
			return
		}
		require.True(t, c.at.UnixMicro() >= 0 && c.at.Year() <= 9999)
		again, err := parseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
