package operation

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"onefold/domain/fault"
)

const maxKey = 255

// ParseKey reads the values of the Idempotency-Key header lines (CONTRACT section 2): exactly one line, 1–255 visible ASCII
// characters after trimming; a quoted Structured-Field string (RFC 8941 section 3.3.3) means its content.
func ParseKey(lines []string) (string, error) {
	if len(lines) > 1 {
		return "", invalidKey("single", "Send exactly one Idempotency-Key header.")
	}
	key := ""
	if len(lines) == 1 {
		key = strings.Trim(lines[0], " \t")
	}
	if key == "" {
		return "", &fault.Error{
			Kind: fault.Invalid, Code: "IDEMPOTENCY_KEY_MISSING", Message: "This call needs an Idempotency-Key header.",
			Fields: []fault.Field{{Field: "Idempotency-Key", Rule: "required", Message: "is required"}},
		}
	}
	if key[0] == '"' {
		content, ok := unquote(key)
		if !ok {
			return "", invalidKey("quoted-string", "The quoted Idempotency-Key is not a Structured-Field string.")
		}
		key = content
	}
	if key == "" || len(key) > maxKey {
		return "", invalidKey("length 1-255", "An Idempotency-Key has 1 to 255 characters.")
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return "", invalidKey("visible-ascii", "An Idempotency-Key consists of visible ASCII characters.")
		}
	}
	return key, nil
}

func unquote(text string) (string, bool) {
	if len(text) < 2 || text[len(text)-1] != '"' {
		return "", false
	}
	inner := text[1 : len(text)-1]
	var out strings.Builder
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(inner) || (inner[i] != '"' && inner[i] != '\\') {
				return "", false
			}
		}
		out.WriteByte(inner[i])
	}
	return out.String(), true
}

func invalidKey(rule, message string) *fault.Error {
	return &fault.Error{
		Kind: fault.Invalid, Code: "IDEMPOTENCY_KEY_INVALID", Message: message,
		Fields: []fault.Field{{Field: "Idempotency-Key", Rule: rule, Message: message}},
	}
}

// Text normalises human text for a fingerprint: NFC, outer white space trimmed, inner runs of it made one space.
func Text(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }
