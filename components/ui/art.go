// Package ui is the kit that pages are made of: forms, badges, tables, icons, drawings.
package ui

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// scene picks the drawing of a product: by what its slug says it is, else by its kind and a hash,
// so that a product looks the same wherever and whenever it is drawn.
func scene(kind, slug string) string {
	for _, s := range []struct{ word, scene string }{
		{"mug", "mug"},
		{"cup", "mug"},
		{"notes", "window"},
		{"editor", "window"},
		{"notebook", "notebook"},
		{"book", "book"},
		{"ledger", "book"},
		{"lamp", "lamp"},
		{"poster", "frame"},
		{"print", "frame"},
		{"plant", "plant"},
		{"bag", "bag"},
		{"tote", "bag"},
		{"grid", "grid"},
		{"layout", "grid"},
		{"map", "contours"},
		{"pixel", "pixels"},
		{"game", "pixels"},
		{"ink", "nib"},
		{"pen", "nib"},
		{"synth", "synth"},
		{"piano", "synth"},
		{"audio", "waves"},
		{"sound", "waves"},
		{"music", "waves"},
		{"photo", "peaks"},
		{"backup", "orbit"},
		{"cloud", "orbit"},
		{"sync", "orbit"},
		{"chart", "bars"},
		{"report", "bars"},
		{"font", "type"},
	} {
		if strings.Contains(slug, s.word) {
			return s.scene
		}
	}
	drawn := []string{"window", "peaks", "waves", "orbit", "bars", "type", "grid", "contours"}
	if kind == "physical" {
		drawn = []string{"mug", "book", "lamp", "frame", "plant", "bag"}
	}
	return drawn[int(hash(slug))%len(drawn)]
}

// salt is chosen so that the demo's eight licences have eight different tints.
const salt = "145587"

// tint is the class of the two colours of a product, t0 to t7.
func tint(slug string) string { return "t" + strconv.Itoa(int(hash(salt+slug)>>16&7)) }

func hash(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}
