package operation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/fault"
	"onefold/domain/operation"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for name, c := range map[string]struct {
		lines []string
		want  string
		code  string
	}{
		"plain":                     {[]string{"K-1"}, "K-1", ""},
		"outer white space":         {[]string{" \tK-1\t "}, "K-1", ""},
		"longest":                   {[]string{long}, long, ""},
		"quoted":                    {[]string{`"K-1"`}, "K-1", ""},
		"quoted longest":            {[]string{`"` + long + `"`}, long, ""},
		"quoted escapes":            {[]string{`"a\"b\\c"`}, `a"b\c`, ""},
		"quote inside":              {[]string{`a"b`}, `a"b`, ""},
		"case matters":              {[]string{"k-1"}, "k-1", ""},
		"none":                      {nil, "", "IDEMPOTENCY_KEY_MISSING"},
		"empty":                     {[]string{""}, "", "IDEMPOTENCY_KEY_MISSING"},
		"spaces":                    {[]string{"  \t "}, "", "IDEMPOTENCY_KEY_MISSING"},
		"two lines":                 {[]string{"a", "b"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"two equal lines":           {[]string{"a", "a"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"two empty lines":           {[]string{"", ""}, "", "IDEMPOTENCY_KEY_INVALID"},
		"256":                       {[]string{long + "k"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quoted 256":                {[]string{`"` + long + `k"`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"inner space":               {[]string{"a b"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"joined lines":              {[]string{"a, b"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"NUL":                       {[]string{"a\x00"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"inner tab":                 {[]string{"a\tb"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"DEL":                       {[]string{"a\x7f"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"not ASCII":                 {[]string{"é"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"no-break space":            {[]string{"\u00a0K"}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quoted nothing":            {[]string{`""`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quoted space":              {[]string{`" "`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quoted and more":           {[]string{`"a";p=1`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quote not closed":          {[]string{`"a`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"only a quote":              {[]string{`"`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"closing quote escaped":     {[]string{`"a\"`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quote inside quoted":       {[]string{`"a"b"`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"escape of something else":  {[]string{`"a\n"`}, "", "IDEMPOTENCY_KEY_INVALID"},
		"quoted letters of Unicode": {[]string{`"é"`}, "", "IDEMPOTENCY_KEY_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := operation.ParseKey(c.lines)
			require.Equal(t, c.want, got)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			e, _ := fault.Of(err)
			require.Equal(t, c.code, e.Code)
			require.Equal(t, fault.Invalid, e.Kind)
			require.NotEmpty(t, e.Fields)
		})
	}
}

// A key that is accepted is itself, and its quoted form means the same.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"K-1", ` "a\"b" `, `"`, `\`, "\x00", "é", `"a\\"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := operation.ParseKey([]string{line})
		if err != nil {
			require.Empty(t, key)
			return
		}
		require.NotEmpty(t, key)
		require.LessOrEqual(t, len(key), 255)
		for i := range len(key) {
			require.True(t, key[i] > 0x20 && key[i] < 0x7f)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		again, err := operation.ParseKey([]string{quoted})
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Ré 1", operation.Text("  Re\u0301 \t\n 1 "))
	require.Equal(t, "Ré 1", operation.Text("Ré\u00a01"))
	require.Empty(t, operation.Text(" \t "))
}
