package console

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"onefold/domain/store"
)

// maxCandidate is the longest ID that is looked for: an idempotency key has 255 characters, a business key less.
const maxCandidate = 300

// wrapping is what people copy along with an ID.
const wrapping = " \t\r\n\u00a0\ufeff\"'`«»‹›“”‘’„<>(){}[],;\x00"

// mostCandidates bounds how many searches one paste is: each part is one.
const mostCandidates = 12

var (
	// labels stand before an ID in logs, headers and JSON: `order_id=`, `"operationId": `, `Idempotency-Key: `.
	labels = regexp.MustCompile(`^["']?[A-Za-z][\w .-]{1,40}["']?\s*[:=]\s*(.+)$`)
	// idLike are the IDs inside a longer text: UUIDs, traces and what providers make, such as evt_1Nq….
	idLike = regexp.MustCompile(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\b[0-9a-f]{32}\b|\b[a-z]{2,6}_[A-Za-z0-9_-]{4,}`)
)

// candidates reads what was pasted: the text without white space, quotes and the like around it; if it is a URL, its parts from
// the most to the least specific; then what follows a label, and the IDs inside a longer text.
func candidates(text string) []string {
	text = strings.Trim(strings.ToValidUTF8(text, ""), wrapping)
	if text == "" || len(text) > 4096 {
		return nil
	}
	var out []string
	add := func(part string) {
		if part != "" && len(part) <= maxCandidate && store.Storable(part) && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		for _, part := range fromURL(u) {
			add(part)
		}
		return out
	}
	add(text)
	add(strings.TrimSpace(strings.TrimLeft(text, "#№")))
	if match := labels.FindStringSubmatch(text); match != nil {
		add(strings.Trim(match[1], wrapping))
	}
	for _, id := range idLike.FindAllString(text, mostCandidates) {
		add(id)
	}
	return out[:min(len(out), mostCandidates)]
}

// fromURL takes the path's segments from the end, then the values of the query. Words such as "orders" find nothing.
func fromURL(u *url.URL) []string {
	var parts []string
	query := u.Query()
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	slices.Reverse(segments)
	parts = append(parts, segments...)
	for _, name := range names {
		parts = append(parts, query[name]...)
	}
	return parts[:min(len(parts), mostCandidates)]
}

// isText takes everything.
func isText(text string) (any, bool) { return text, true }

// isUUID takes a UUID in any of its usual forms: with and without hyphens, in capitals, as a URN.
func isUUID(text string) (any, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil
}

// isNumber takes what may be an order's number or a job's ID.
func isNumber(text string) (any, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0
}

var traces = regexp.MustCompile(`^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$`)

// isTrace takes a trace ID's 32 hex digits, also inside a traceparent header.
func isTrace(text string) (any, bool) {
	match := traces.FindStringSubmatch(strings.ToLower(text))
	if match == nil || match[1] == strings.Repeat("0", 32) {
		return nil, false
	}
	return match[1], true
}

// isEmail takes what may be a mail address.
func isEmail(text string) (any, bool) {
	at := strings.IndexByte(text, '@')
	return strings.ToLower(text), at > 0 && at < len(text)-1
}
