// Package shop holds the pages of the shop.
package shop

import (
	"context"

	"onefold/components/i18n"
	"onefold/components/ui"
)

func (f CheckoutForm) contact(ctx context.Context) []ui.Field {
	return []ui.Field{
		{
			Name: "email", Label: i18n.T(ctx, "checkout.email"), Hint: i18n.T(ctx, "checkout.email_hint"),
			Value: f.Email.Value, Error: f.Email.Error, Type: "email", Autocomplete: "email", InputMode: "email", Wide: true,
		},
		{
			Name: "name", Label: i18n.T(ctx, "checkout.name"),
			Value: f.Name.Value, Error: f.Name.Error, Autocomplete: "name", Wide: true,
		},
	}
}

func (f CheckoutForm) address(ctx context.Context) []ui.Field {
	return []ui.Field{
		{
			Name: "line1", Label: i18n.T(ctx, "checkout.line1"), Value: f.Line1.Value, Error: f.Line1.Error,
			Autocomplete: "address-line1", Wide: true,
		},
		{
			Name: "line2", Label: i18n.T(ctx, "checkout.line2"), Value: f.Line2.Value, Error: f.Line2.Error,
			Autocomplete: "address-line2", Optional: true, Wide: true,
		},
		{
			Name: "postcode", Label: i18n.T(ctx, "checkout.postcode"), Value: f.Postcode.Value, Error: f.Postcode.Error,
			Autocomplete: "postal-code",
		},
		{
			Name: "city", Label: i18n.T(ctx, "checkout.city"), Value: f.City.Value, Error: f.City.Error,
			Autocomplete: "address-level2",
		},
		{
			Name: "country", Label: i18n.T(ctx, "checkout.country"), Value: f.Country.Value, Error: f.Country.Error,
			Autocomplete: "country", Wide: true, Options: countries(ctx),
		},
	}
}

// deliveredTo lists the countries of the form, the shop's own first; each has its word "country.<code>".
func deliveredTo() []string {
	return []string{"RU", "AM", "BY", "CN", "DE", "ES", "FR", "GB", "GE", "IT", "JP", "KG", "KW", "KZ", "NL", "PL", "RS", "TR", "US", "UZ"}
}

func countries(ctx context.Context) []ui.Option {
	list := []ui.Option{{Value: "", Label: i18n.T(ctx, "checkout.country_choose")}}
	for _, code := range deliveredTo() {
		list = append(list, ui.Option{Value: code, Label: i18n.T(ctx, "country."+code)})
	}
	return list
}

func (f CheckoutForm) discount(ctx context.Context) []ui.Field {
	return []ui.Field{{
		Name: "promo", Label: i18n.T(ctx, "checkout.promo"), Hint: i18n.T(ctx, "checkout.promo_hint"),
		Value: f.Promo.Value, Error: f.Promo.Error, Optional: true, Wide: true, Autocomplete: "off",
	}}
}

// problems lists what the summary shows: the form's own errors, then those of its fields from top to bottom.
func (m CheckoutModel) problems(ctx context.Context) []ui.FieldError {
	list := append([]ui.FieldError{}, m.Errors...)
	list = append(list, ui.Problems(m.Form.contact(ctx)...)...)
	if m.Form.Delivery {
		list = append(list, ui.Problems(m.Form.address(ctx)...)...)
	}
	return append(list, ui.Problems(m.Form.discount(ctx)...)...)
}

// checkoutTitle says first that something is wrong: a screen reader reads the title before the page.
func checkoutTitle(ctx context.Context, m CheckoutModel) string {
	return titled(ctx, "checkout.title", len(m.problems(ctx)) > 0)
}

func titled(ctx context.Context, key string, wrong bool) string {
	if wrong {
		return i18n.T(ctx, "error.prefix", i18n.T(ctx, key))
	}
	return i18n.T(ctx, key)
}

func (m CheckoutModel) hidden() []ui.Hidden {
	list := []ui.Hidden{{Name: "key", Value: m.Key}, {Name: "basket", Value: m.Basket}, {Name: "total", Value: m.Total}, {Name: "seen", Value: m.Seen}}
	if m.Again {
		list = append(list, ui.Hidden{Name: "again", Value: "yes"})
	}
	return list
}
