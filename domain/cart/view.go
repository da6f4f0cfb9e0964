package cart

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// View is the open cart as a page shows it. Prices and stock are today's; only the order's transaction decides.
type View struct {
	Lines  []ViewLine
	Total  money.Amount // sum of the lines, before any promo code
	Basket string       // see Basket
}

// ViewLine is one product of a View.
type ViewLine struct {
	ProductID string
	Kind      string // "license" or "physical"
	Name      string
	Quantity  int
	Price     money.Amount // of one unit
	Seen      money.Amount // of one unit when the shopper last touched the line; no currency: not known
	Sum       money.Amount // Price times Quantity
	Stock     int          // units nobody has reserved
}

// PriceChanged says whether a unit costs something else than what the shopper saw. Another currency is no change.
func (l ViewLine) PriceChanged() bool {
	return l.Seen.Currency == l.Price.Currency && l.Seen.Minor != l.Price.Minor
}

// HasPhysical says whether something in it has to be carried.
func (v View) HasPhysical() bool {
	return slices.ContainsFunc(v.Lines, func(l ViewLine) bool { return l.Kind == "physical" })
}

// See returns the user's open cart in a currency and language ("en" or "ru"), in the catalogue's order; no cart is an empty
// View, and makes none. Returns Invalid naming currency when something in it is not sold in that one.
func See(ctx context.Context, q store.Querier, userID account.ID, currency, lang string) (View, error) {
	rows, err := q.Query(ctx, `
		SELECT p.id, p.kind, CASE WHEN $3 = 'ru' THEN p.name_ru ELSE p.name_en END,
			i.quantity, coalesce(price.price_minor, -1), p.on_hand - p.reserved,
			coalesce(i.seen_price_minor, 0), coalesce(i.seen_currency, '')
		FROM carts c JOIN cart_items i ON i.cart_id = c.id JOIN products p ON p.id = i.product_id
		LEFT JOIN product_prices price ON price.product_id = p.id AND price.currency = $2
		WHERE c.user_id = $1 AND c.status = 'OPEN' ORDER BY p.position, p.id`, userID, currency, lang)
	if err != nil {
		return View{}, fmt.Errorf("view cart: %w", err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l ViewLine, err error) {
		err = row.Scan(&l.ProductID, &l.Kind, &l.Name, &l.Quantity, &l.Price.Minor, &l.Stock, &l.Seen.Minor, &l.Seen.Currency)
		return l, err
	})
	if err != nil {
		return View{}, fmt.Errorf("view cart: %w", err)
	}
	return total(lines, currency)
}

func total(lines []ViewLine, currency string) (View, error) {
	v := View{Lines: lines, Total: money.Amount{Currency: currency}}
	plain := make([]Line, len(lines))
	for i := range lines {
		l := &lines[i]
		if l.Price.Minor < 0 {
			return View{}, fault.Validation(fault.Field{Field: "currency", Rule: "priced", Message: l.Name + " is not sold in " + currency + "."})
		}
		l.Price.Currency = currency
		l.Sum = money.Amount{Minor: l.Price.Minor * int64(l.Quantity), Currency: currency}
		v.Total.Minor += l.Sum.Minor
		plain[i] = Line{ProductID: l.ProductID, Quantity: l.Quantity}
	}
	v.Basket = Basket(plain)
	return v, nil
}

// Count returns the units in the open cart, for the header.
func Count(ctx context.Context, q store.Querier, userID account.ID) (n int, err error) {
	err = q.QueryRow(ctx, `
		SELECT coalesce(sum(i.quantity), 0) FROM carts c JOIN cart_items i ON i.cart_id = c.id
		WHERE c.user_id = $1 AND c.status = 'OPEN'`, userID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count cart: %w", err)
	}
	return n, nil
}
