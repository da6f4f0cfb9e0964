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
		{"mug", "mug"}, {"cup", "mug"}, {"book", "book"}, {"note", "book"}, {"lamp", "lamp"}, {"light", "lamp"},
		{"poster", "frame"}, {"print", "frame"}, {"plant", "plant"}, {"pot", "plant"}, {"bag", "bag"}, {"tote", "bag"},
		{"key", "keys"}, {"font", "type"}, {"type", "type"}, {"edit", "window"}, {"writ", "window"},
		{"photo", "peaks"}, {"image", "peaks"}, {"music", "waves"}, {"sound", "waves"}, {"audio", "waves"},
		{"backup", "orbit"}, {"cloud", "orbit"}, {"sync", "orbit"}, {"chart", "bars"}, {"report", "bars"}, {"analy", "bars"},
	} {
		if strings.Contains(slug, s.word) {
			return s.scene
		}
	}
	drawn := []string{"window", "peaks", "waves", "orbit", "bars", "type"}
	if kind == "physical" {
		drawn = []string{"mug", "book", "lamp", "frame", "plant", "bag"}
	}
	return drawn[hash(slug)%uint32(len(drawn))]
}

// tint is the class of the two colours of a product, t0 to t7.
func tint(slug string) string { return "t" + strconv.Itoa(int(hash(slug+"/tint")%8)) }

func hash(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}
