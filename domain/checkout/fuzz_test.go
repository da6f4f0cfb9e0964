package checkout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"onefold/domain/fault"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// FuzzFingerprint: how a command is written changes nothing; what it means changes everything.
func FuzzFingerprint(f *testing.F) {
	f.Add("lumen-notes", "northwind-maps", uint8(2), "WELCOME10", "José Núñez", "Calle Mayor 1", "2º", "Málaga", "29001")
	f.Add("a", "b", uint8(1), "", "Ann", "1 Road", "", "Town", "1000")
	f.Add("\u00e9", "e\u0301x", uint8(9), "ﬀ", "\u1100\u1161", "x\u00a0y", "\u0323\u0307", "ß", "0")
	f.Fuzz(func(t *testing.T, product, second string, quantity uint8, promo, name, line1, line2, city, postcode string) {
		plain := func() Command {
			return Command{
				Currency: "RUB", PromoCode: promo, Items: []Item{{product, int(quantity)}, {second, 1}},
				Delivery: &order.Delivery{Method: "standard", Address: provider.Address{
					Name: name, Line1: line1, Line2: line2, City: city, Postcode: postcode, Country: "DE",
				}},
			}
		}
		normal, err := plain().normalised()
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		want := printOf(t, plain())
		same := plain()
		same.Items = []Item{{norm.NFD.String(second), 1}}
		for range quantity { // one by one, and in the other order
			same.Items = append(same.Items, Item{" " + product + "\t", 1})
		}
		same.PromoCode, same.Currency = strings.ToLower(normal.PromoCode), "rub "
		for _, text := range []*string{&same.Delivery.Address.Name, &same.Delivery.Address.Line1, &same.Delivery.Address.City, &same.Delivery.Address.Postcode} {
			*text = "\u00a0 " + norm.NFD.String(*text) + "\n"
		}
		require.Equal(t, want, printOf(t, same))

		for field, change := range map[string]func(*Command){
			"quantity": func(c *Command) { c.Items = append(c.Items, Item{product, 1}) },
			"product":  func(c *Command) { c.Items[1].ProductID += "x" },
			"promo":    func(c *Command) { c.PromoCode += "X" },
			"name":     func(c *Command) { c.Delivery.Address.Name += "x" },
			"line1":    func(c *Command) { c.Delivery.Address.Line1 += " 1" },
			"line2":    func(c *Command) { c.Delivery.Address.Line2 += "x" },
			"moved":    func(c *Command) { a := &c.Delivery.Address; a.Line1, a.Line2 = a.Line1+" x"+a.Line2, "" },
			"city":     func(c *Command) { c.Delivery.Address.City += "x" },
			"country":  func(c *Command) { c.Delivery.Address.Country = "FR" },
		} {
			other := plain()
			change(&other)
			changed, err := other.normalised()
			if err != nil {
				continue // too long by now
			}
			out, err := changed.fingerprint()
			require.NoError(t, err)
			require.NotEqual(t, want, out, field)
		}
	})
}
