package catalog

import (
	"slices"
	"strings"
)

// Sought narrows what is listed; the zero value narrows nothing.
type Sought struct {
	Text    string // in the name or the line about it, in any case
	Kind    Kind   // "" for both
	InStock bool   // leaves out what is sold out
}

// In returns the products that are sought, in their order.
func (s Sought) In(products []Product) []Product {
	text := strings.ToLower(s.Text)
	return slices.DeleteFunc(slices.Clone(products), func(p Product) bool {
		return s.InStock && p.Stock <= 0 || s.Kind != "" && p.Kind != s.Kind ||
			!strings.Contains(strings.ToLower(p.Name+"\n"+p.Blurb), text)
	})
}
