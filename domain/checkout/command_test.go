package checkout

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/order"
	"onefold/domain/provider"
)

func sample() Command {
	return Command{
		UserID: uuid.NameSpaceDNS, Key: "K", Currency: "RUB", PromoCode: "WELCOME10", Locale: "en",
		Items: []Item{{"lumen-notes", 2}, {"northwind-maps", 1}},
		Delivery: &order.Delivery{Method: "post", Address: provider.Address{
			Name: "José Núñez", Line1: "Calle Mayor 1", Line2: "2º", City: "Málaga", Postcode: "29001", Country: "ES",
		}},
	}
}

func printOf(t require.TestingT, c Command) string {
	normal, err := c.normalised()
	require.NoError(t, err)
	out, err := normal.fingerprint()
	require.NoError(t, err)
	return out
}

func TestWhatMeansTheSameHasOneFingerprint(t *testing.T) {
	t.Parallel()
	want := printOf(t, sample())
	for name, change := range map[string]func(*Command){
		"order of items":       func(c *Command) { c.Items[0], c.Items[1] = c.Items[1], c.Items[0] },
		"split items":          func(c *Command) { c.Items = append(c.Items[1:], Item{"lumen-notes", 1}, Item{" lumen-notes ", 1}) },
		"case of promo code":   func(c *Command) { c.PromoCode = " welcome10 " },
		"case of currency":     func(c *Command) { c.Currency = " rub" },
		"case of country":      func(c *Command) { c.Delivery.Address.Country = "es " },
		"NFD":                  func(c *Command) { c.Delivery.Address.Name = norm.NFD.String(c.Delivery.Address.Name) },
		"padding":              func(c *Command) { c.Delivery.Address.Line1 = "\t Calle   Mayor\u00a01 \n" },
		"language of the page": func(c *Command) { c.Locale = "ru" },
		"the account's data":   func(c *Command) { c.Email, c.Name = "ann@example.com", "Ann" },
		"key and user":         func(c *Command) { c.Key, c.UserID = "L", uuid.New() }, // identity, not content
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sample()
			change(&c)
			require.Equal(t, want, printOf(t, c))
		})
	}
}

func TestAnyChangeOfMeaningChangesTheFingerprint(t *testing.T) {
	t.Parallel()
	carted := sample()
	carted.Email, carted.Cart = "ann@example.com", &Agreed{CartID: uuid.New(), Basket: "b", Total: money.Amount{Minor: 1, Currency: "RUB"}}
	seen := map[string]string{printOf(t, sample()): "unchanged", printOf(t, carted): "a cart's"}
	for name, change := range map[string]func(*Command){
		"quantity":        func(c *Command) { c.Items[0].Quantity = 3 },
		"swapped numbers": func(c *Command) { c.Items[0].Quantity, c.Items[1].Quantity = 1, 2 },
		"product":         func(c *Command) { c.Items[0].ProductID = "lumen-note" },
		"case of product": func(c *Command) { c.Items[0].ProductID = "Lumen-notes" },
		"fewer items":     func(c *Command) { c.Items = c.Items[:1] },
		"currency":        func(c *Command) { c.Currency = "USD" },
		"no promo code":   func(c *Command) { c.PromoCode = "" },
		"promo code":      func(c *Command) { c.PromoCode = "ONCE50" },
		"no delivery":     func(c *Command) { c.Delivery = nil },
		"method":          func(c *Command) { c.Delivery.Method = "courier" },
		"name":            func(c *Command) { c.Delivery.Address.Name = "Jose Núñez" },
		"line 1":          func(c *Command) { c.Delivery.Address.Line1 = "Calle Mayor 11" },
		"line 2 moved":    func(c *Command) { c.Delivery.Address.Line1, c.Delivery.Address.Line2 = "Calle Mayor 1 2º", "" },
		"city":            func(c *Command) { c.Delivery.Address.City = "málaga" },
		"postcode":        func(c *Command) { c.Delivery.Address.Postcode = "2900 1" },
		"country":         func(c *Command) { c.Delivery.Address.Country = "PT" },
		"cart's basket": func(c *Command) {
			c.Email, c.Cart = carted.Email, &Agreed{CartID: uuid.New(), Basket: "c", Total: carted.Cart.Total}
		},
		"cart's total": func(c *Command) {
			c.Email, c.Cart = carted.Email, &Agreed{Basket: "b", Total: money.Amount{Minor: 2, Currency: "RUB"}}
		},
		"cart's email": func(c *Command) { c.Cart, c.Email = carted.Cart, "bob@example.com" },
		"cart's name":  func(c *Command) { c.Email, c.Cart, c.Name = carted.Email, carted.Cart, "Ann" },
	} {
		c := sample()
		change(&c)
		out := printOf(t, c)
		require.Empty(t, seen[out], name)
		seen[out] = name
	}
}

func TestFingerprintOfShuffledAndSplitItems(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Item {
			return Item{rapid.SampledFrom([]string{"a", "b", "ab", "é"}).Draw(t, "id"), rapid.IntRange(1, 4).Draw(t, "n")}
		}), 1, 6).Draw(t, "items")
		a, b := sample(), sample()
		a.Items = items
		sums := map[string]int{}
		var single []Item
		for _, i := range items {
			sums[i.ProductID] += i.Quantity
			for range i.Quantity {
				single = append(single, Item{norm.NFD.String(i.ProductID), 1})
			}
		}
		b.Items = rapid.Permutation(single).Draw(t, "order")
		require.Equal(t, printOf(t, a), printOf(t, b))
		b.Items = append(b.Items, Item{"a", 1})
		require.NotEqual(t, printOf(t, a), printOf(t, b))
	})
}

func TestBrokenRulesAreAllNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 201)
	for field, change := range map[string]func(*Command){
		"currency":                  func(c *Command) { c.Currency = "XYZ" },
		"items":                     func(c *Command) { c.Items = nil },
		"items[1].productId":        func(c *Command) { c.Items[1].ProductID = " " },
		"items[0].productId":        func(c *Command) { c.Items[0].ProductID = "a\x00" },
		"items[0].quantity":         func(c *Command) { c.Items[0].Quantity = 0 },
		"items[1].quantity":         func(c *Command) { c.Items = []Item{{"a", 9999}, {"a", 1}} },
		"promoCode":                 func(c *Command) { c.PromoCode = long },
		"name":                      func(c *Command) { c.Name = "\xff" },
		"email":                     func(c *Command) { c.Email = "no address" },
		"delivery.method":           func(c *Command) { c.Delivery.Method = "" },
		"delivery.address.name":     func(c *Command) { c.Delivery.Address.Name = long },
		"delivery.address.line1":    func(c *Command) { c.Delivery.Address.Line1 = "\x00" },
		"delivery.address.line2":    func(c *Command) { c.Delivery.Address.Line2 = "\xc3\x28" },
		"delivery.address.city":     func(c *Command) { c.Delivery.Address.City = " \t" },
		"delivery.address.postcode": func(c *Command) { c.Delivery.Address.Postcode = "" },
		"delivery.address.country":  func(c *Command) { c.Delivery.Address.Country = "Spain" },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			c := sample()
			change(&c)
			_, err := c.normalised()
			e, ok := fault.Of(err)
			require.True(t, ok)
			require.Equal(t, "VALIDATION_FAILED", e.Code)
			require.Len(t, e.Fields, 1)
			require.Equal(t, field, e.Fields[0].Field)
			require.NotEmpty(t, e.Fields[0].Rule)
			require.NotEmpty(t, e.Fields[0].Message)
		})
	}
	fine := sample()
	fine.Name, fine.Delivery.Address.Line1 = strings.Repeat("ж", 200), strings.Repeat("ж", 200)
	_, err := fine.normalised()
	require.NoError(t, err, "limits count characters, not bytes")
	_, err = Command{}.normalised()
	e, _ := fault.Of(err)
	require.Len(t, e.Fields, 2)
}

func TestTooManyItems(t *testing.T) {
	t.Parallel()
	c := sample()
	c.Items = make([]Item, 1001)
	_, err := c.normalised()
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// Whatever JSON a client sends: normalising is stable, changes no fingerprint, and leaves only what Postgres can store.
func FuzzNormalise(f *testing.F) {
	seed, err := json.Marshal(sample())
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"Items":[{"productId":"a","quantity":1.0}],"Currency":"rub","PromoCode":"ﬀ"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Command
		if json.Unmarshal(data, &c) != nil {
			return
		}
		once, err := c.normalised()
		if err != nil {
			return
		}
		twice, err := once.normalised()
		require.NoError(t, err)
		require.Equal(t, once, twice)
		require.Equal(t, printOf(t, c), printOf(t, once))
		out, err := json.Marshal(struct {
			Items                     []Item
			PromoCode, Name, Currency string
			Delivery                  *order.Delivery
		}{once.Items, once.PromoCode, once.Name, once.Currency, once.Delivery})
		require.NoError(t, err)
		require.True(t, utf8.Valid(out))
		require.NotContains(t, string(out), `\u0000`)
	})
}
