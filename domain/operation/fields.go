package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fields is a command taken apart: path → value, as people compare two requests of one key. Nothing decides by it, that is the
// fingerprint's business, so it may leave out what nobody could read.
type Fields struct {
	salt   ID
	values map[string]string
}

// Put adds a value that tells nobody who somebody is. An empty one is left out: nothing was asked for.
func (f *Fields) Put(path, value string) {
	if value != "" {
		f.values[path] = value
	}
}

// Personal adds what belongs to a person (a name, an address, free text) as "sha256:" and eight hex digits. The operation's ID is
// the salt, so equal values are equal within one intent, and nothing can be looked up across two.
func (f *Fields) Personal(path, value string) {
	if value != "" {
		f.values[path] = f.digest(value)
	}
}

func (f *Fields) digest(value string) string {
	sum := sha256.Sum256(append(f.salt[:], value...))
	return "sha256:" + hex.EncodeToString(sum[:4])
}

// mostFields of a command are kept one by one; the rest is one line.
const mostFields = 60

// rest is the path under which what exceeds mostFields is kept.
const rest = "…"

// fields takes the command apart; nil if there is nothing to tell.
func (c Claim) fields() map[string]string {
	if c.Describe == nil {
		return nil
	}
	f := Fields{salt: c.Identity.ID(), values: map[string]string{}}
	c.Describe(&f)
	paths := slices.Sorted(maps.Keys(f.values))
	if len(paths) > mostFields {
		var all strings.Builder
		for _, path := range paths[mostFields:] {
			all.WriteString(path + "\x00" + f.values[path] + "\x00")
			delete(f.values, path)
		}
		f.values[rest] = fmt.Sprintf("+%d %s", len(paths)-mostFields, f.digest(all.String()))
	}
	return f.values
}

// Difference is a field in which a later request of a key is another one. "" means that the request doesn't have it.
type Difference struct {
	Field string `json:"field"`
	First string `json:"first"`
	Later string `json:"later"`
}

// Differences compares two requests, in the order of their paths.
func Differences(first, later map[string]string) []Difference {
	var list []Difference
	all := maps.Clone(first)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, later)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if first[path] != later[path] {
			list = append(list, Difference{path, first[path], later[path]})
		}
	}
	return list
}
