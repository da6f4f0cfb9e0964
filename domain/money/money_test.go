package money_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/money"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number, code string
		minor        int64
	}{
		{"49.90", "RUB", 4990},
		{"49.9", "RUB", 4990},
		{"49", "RUB", 4900},
		{"0", "USD", 0},
		{"0.01", "EUR", 1},
		{"1500", "JPY", 1500},
		{"1.250", "KWD", 1250},
		{"0.001", "KWD", 1},
		{"999999999999999.99", "RUB", 99999999999999999},
		{"1.00000", "RUB", 100}, // more zeros are no more digits
	} {
		a, err := money.Parse(c.number, c.code)
		require.NoError(t, err, c.number)
		require.Equal(t, money.Amount{Minor: c.minor, Currency: c.code}, a)
	}
	for _, c := range [][2]string{
		{"49.905", "RUB"},
		{"1500.5", "JPY"},
		{"-1", "RUB"},
		{"+1", "RUB"},
		{"1e3", "RUB"},
		{" 1", "RUB"},
		{"1 ", "RUB"},
		{"", "RUB"},
		{".5", "RUB"},
		{"5.", "RUB"},
		{"01", "RUB"},
		{"1,5", "RUB"},
		{"NaN", "RUB"},
		{"Infinity", "RUB"},
		{"٤", "RUB"},
		{"1_0", "RUB"},
		{"1000000000000000", "RUB"},
		{"1", "XYZ"},
		{"1", "rub"},
		{"1", ""},
		{"0x10", "RUB"},
	} {
		_, err := money.Parse(c[0], c[1])
		require.Error(t, err, "%q %s", c[0], c[1])
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	require.True(t, money.Valid("RUB"))
	for _, code := range []string{"", "rub", "XYZ", "RU", "RUB "} {
		require.False(t, money.Valid(code), code)
	}
}

func TestWriting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount          money.Amount
		decimal, string string
		whole           int64
	}{
		{money.Amount{Minor: 4990, Currency: "RUB"}, "49.90", "49.90 RUB", 49},
		{money.Amount{Minor: 0, Currency: "USD"}, "0.00", "0.00 USD", 0},
		{money.Amount{Minor: 1500, Currency: "JPY"}, "1500", "1500 JPY", 1500},
		{money.Amount{Minor: 1250, Currency: "KWD"}, "1.250", "1.250 KWD", 1},
		{money.Amount{Minor: math.MaxInt64, Currency: "KWD"}, "9223372036854775.807", "9223372036854775.807 KWD", 9223372036854775},
	} {
		require.Equal(t, c.decimal, c.amount.Decimal())
		require.Equal(t, c.string, c.amount.String())
		require.Equal(t, c.whole, c.amount.Whole())
	}
	require.Equal(t, "$39.00", money.Amount{Minor: 3900, Currency: "USD"}.Display("en"))
	for lang, want := range map[string]string{"en": "1,234.50\u00a0RUB", "ru": "1\u00a0234,50\u00a0RUB"} {
		require.Equal(t, want, money.Amount{Minor: 123450, Currency: "RUB"}.Listed(lang))
	}
	require.Equal(t, "-1,500\u00a0JPY", money.Amount{Minor: -1500, Currency: "JPY"}.Listed("en"))
	require.Equal(t, "1\u00a0234,50\u00a0₽", money.Amount{Minor: 123450, Currency: "RUB"}.Display("ru"))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(money.Amount{Minor: 4990, Currency: "RUB"})
	require.NoError(t, err)
	require.JSONEq(t, `{"amount":"49.90","currency":"RUB"}`, string(out))
	var back money.Amount
	require.NoError(t, json.Unmarshal(out, &back))
	require.Equal(t, money.Amount{Minor: 4990, Currency: "RUB"}, back)
	for _, bad := range []string{`{"amount":49.90,"currency":"RUB"}`, `{"amount":"49.901","currency":"RUB"}`, `{"amount":"1"}`, `"1"`, `{"currency":"RUB"}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

// What is read is written again, in the one form, and means the same.
func FuzzParse(f *testing.F) {
	f.Add("49.90", "RUB")
	f.Add("1.250", "KWD")
	f.Add("-0", "JPY")
	f.Fuzz(func(t *testing.T, number, code string) {
		a, err := money.Parse(number, code)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, a.Minor, int64(0))
		again, err := money.Parse(a.Decimal(), code)
		require.NoError(t, err)
		require.Equal(t, a, again)
		require.True(t, strings.HasPrefix(number, strings.SplitN(a.Decimal(), ".", 2)[0]))
	})
}
