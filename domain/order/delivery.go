package order

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"

	"onefold/domain/operation"
	"onefold/domain/provider"
	"onefold/domain/store"
)

// Standard is the one way in which parcels travel. It costs nothing extra.
const Standard = "standard"

// Delivery says how and where physical goods go.
type Delivery struct {
	Method  string           `json:"method"`
	Address provider.Address `json:"address"`
}

// Breaks is told of a rule that input breaks; field is the input's own name.
type Breaks func(field, rule, message string)

const maxLine = 200 // characters of a line of an address

var rules = validator.New(validator.WithRequiredStructEnabled()) //nolint:gochecknoglobals // caches, safe for concurrent use

// Normalised returns a delivery in the one form that is fingerprinted and stored. Which methods there are is asked only of orders
// that have something to carry.
func (d Delivery) Normalised(breaks Breaks) Delivery {
	method := operation.Text(d.Method)
	checkLine("delivery.method", method, true, breaks)
	return Delivery{Method: method, Address: NormalAddress(d.Address, breaks)}
}

// NormalAddress trims an address, folds its white space and names the rules it breaks, as delivery.address.<field>.
func NormalAddress(a provider.Address, breaks Breaks) provider.Address {
	out := provider.Address{
		Name: operation.Text(a.Name), Line1: operation.Text(a.Line1), Line2: operation.Text(a.Line2), City: operation.Text(a.City),
		Postcode: operation.Text(a.Postcode), Country: strings.ToUpper(operation.Text(a.Country)),
	}
	for _, line := range []struct {
		field, value string
		required     bool
	}{
		{"name", out.Name, true},
		{"line1", out.Line1, true},
		{"line2", out.Line2, false},
		{"city", out.City, true},
		{"postcode", out.Postcode, true},
		{"country", out.Country, true},
	} {
		checkLine("delivery.address."+line.field, line.value, line.required, breaks)
	}
	if out.Country != "" && rules.Var(out.Country, "iso3166_1_alpha2") != nil {
		breaks("delivery.address.country", "iso3166_1_alpha2", "must be a two-letter country code such as DE")
	}
	return out
}

func checkLine(field, value string, required bool, breaks Breaks) {
	switch {
	case value == "" && required:
		breaks(field, "required", "is required")
	case utf8.RuneCountInString(value) > maxLine || !store.Storable(value):
		breaks(field, fmt.Sprintf("max=%d", maxLine), "is too long or no text")
	}
}
