package console

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const dots = "•••"

// maskEmail keeps the first character and the domain: "a•••@b.c". Text without an @ is hidden altogether.
func maskEmail(address string) string {
	at := strings.LastIndexByte(address, '@')
	if address == "" {
		return ""
	}
	if at < 1 {
		return dots
	}
	_, size := utf8.DecodeRuneInString(address)
	return address[:size] + dots + address[at:]
}

var emails = regexp.MustCompile(`[^\s<>"'(),:;=]+@[^\s<>"'(),:;=]+\.[^\s<>"'(),:;=]+`)

// maskText masks every mail address inside a text.
func maskText(text string) string { return emails.ReplaceAllStringFunc(text, maskEmail) }

// maskLicense keeps the last group, by which a customer can be helped: "•••-VWXYZ".
func maskLicense(key string) string {
	if i := strings.LastIndexByte(key, '-'); i >= 0 {
		return dots + key[i:]
	}
	return dots
}
