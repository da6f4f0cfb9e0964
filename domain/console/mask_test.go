package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMasks(t *testing.T) {
	t.Parallel()
	for in, out := range map[string]string{
		"": "", "a@b.c": "a•••@b.c", "anna.long@mail.example.com": "a•••@mail.example.com", "я@пример.рф": "я•••@пример.рф", "nobody": "•••", "@b.c": "•••",
	} {
		require.Equal(t, out, maskEmail(in))
	}
	require.Equal(t, "550 <a•••@b.co> unknown; (c•••@d.io), plain text: 5@", maskText("550 <anna@b.co> unknown; (carl@d.io), plain text: 5@"))
	require.Equal(t, "•••-VWXYZ", maskLicense("ABCDE-FGHJK-MNPQR-STVWX-VWXYZ"))
	require.Equal(t, "•••", maskLicense("short"))
}

func TestCursorsSurviveTheAddress(t *testing.T) {
	t.Parallel()
	c, err := parseCursor("bnwxNzY3MjI1NjAwMDAwMDAxfDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMQ")
	require.NoError(t, err)
	again, err := parseCursor(c.String())
	require.NoError(t, err)
	require.Equal(t, c, again)
	require.True(t, c.newer)
	require.Equal(t, 1000, c.at.Nanosecond())
}
