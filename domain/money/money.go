// Package money holds amounts as integer minor units with an ISO 4217 currency. Nothing here is a float.
package money

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/bojanz/currency"
)

// Amount is a number of minor units (cents, kopecks; none for JPY, thousandths for KWD) in one currency.
type Amount struct {
	Minor    int64
	Currency string // ISO 4217, upper case
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})(\.[0-9]+)?$`)

// Valid reports whether code is a known ISO 4217 currency.
func Valid(code string) bool { return code != "" && currency.IsValid(code) } // the library takes "" for a currency

// Parse reads a decimal string with at most the currency's own number of digits after the point; "49.9", "49.90" and "49"
// mean the same in RUB. Signs, exponents, spaces and more digits than the currency has are refused.
func Parse(number, code string) (Amount, error) {
	if !Valid(code) {
		return Amount{}, fmt.Errorf("unknown currency %q", code)
	}
	if !decimal.MatchString(number) {
		return Amount{}, fmt.Errorf("amount %q is not a plain decimal number", number)
	}
	parsed, err := currency.NewAmount(number, code)
	if err != nil {
		return Amount{}, fmt.Errorf("read amount %q: %w", number, err)
	}
	if !parsed.Equal(parsed.Round()) {
		return Amount{}, fmt.Errorf("amount %q has more digits than %s has", number, code)
	}
	minor, err := parsed.Round().Int64()
	if err != nil {
		return Amount{}, fmt.Errorf("read amount %q: %w", number, err)
	}
	return Amount{Minor: minor, Currency: code}, nil
}

// Decimal writes the number with exactly the currency's own digits: "49.90", "1500" (JPY), "1.250" (KWD).
func (a Amount) Decimal() string {
	amount, err := currency.NewAmountFromInt64(a.Minor, a.Currency)
	if err != nil {
		return fmt.Sprint(a.Minor) // an unknown currency cannot come from Parse or from the database
	}
	return amount.Number()
}

// Display writes the amount for people in the given language ("en", "ru"): "$39.00", "1 234,50 ₽".
func (a Amount) Display(lang string) string {
	amount, err := currency.NewAmountFromInt64(a.Minor, a.Currency)
	if err != nil {
		return a.String()
	}
	return currency.NewFormatter(currency.NewLocale(lang)).Format(amount)
}

// Listed writes the amount for a column of the console: digits in groups, and the code instead of a symbol: "1,234.50 RUB".
func (a Amount) Listed(lang string) string {
	amount, err := currency.NewAmountFromInt64(a.Minor, a.Currency)
	if err != nil {
		return a.String()
	}
	f := currency.NewFormatter(currency.NewLocale(lang))
	f.CurrencyDisplay = currency.DisplayNone
	return strings.TrimSpace(f.Format(amount)) + "\u00a0" + a.Currency
}

// String is "49.90 RUB": the form of sentences in the console, and of logs.
func (a Amount) String() string { return a.Decimal() + " " + a.Currency }

type wire struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON writes {"amount":"49.90","currency":"RUB"}.
func (a Amount) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(wire{Amount: a.Decimal(), Currency: a.Currency})
	if err != nil {
		return nil, fmt.Errorf("write amount: %w", err)
	}
	return out, nil
}

// UnmarshalJSON reads {"amount":"49.90","currency":"RUB"} by the rules of Parse.
func (a *Amount) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("read amount: %w", err)
	}
	parsed, err := Parse(w.Amount, w.Currency)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// Whole is the number of whole units, rounded down: 49 for 49.90 RUB.
func (a Amount) Whole() int64 {
	digits, ok := currency.GetDigits(a.Currency)
	if !ok {
		return 0
	}
	whole := a.Minor
	for range digits {
		whole /= 10
	}
	return whole
}

// ParseText reads what String wrote: "49.90 RUB".
func ParseText(text string) (Amount, error) {
	number, code, _ := strings.Cut(text, " ")
	return Parse(number, code)
}
