package store

import (
	"strings"
	"unicode/utf8"
)

// Storable reports whether PostgreSQL can hold a text: valid UTF-8 without NUL. It refuses everything else (SQLSTATE 22021).
func Storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
