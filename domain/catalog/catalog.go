// Package catalog knows what is for sale: products, prices, stock and promo codes. Prices always come from here, never from a
// client. Stock and promo uses are counters that only conditional UPDATEs move; the CHECK constraints behind them are a
// second wall that is never meant to be hit.
package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// Kind says how a product reaches its buyer.
type Kind string

// The kinds.
const (
	License  Kind = "license"  // a licence key per unit
	Physical Kind = "physical" // needs an address and a parcel
)

// DefaultCurrency is what prices are shown in before somebody chooses.
const DefaultCurrency = "RUB"

// Currencies returns the currencies the shop sells in, the default first.
func Currencies() []string { return []string{DefaultCurrency, "USD", "EUR", "JPY", "KWD"} }

// Product is one thing for sale, in the currency and language asked for.
type Product struct {
	ID    string // slug, e.g. "lumen-notes"
	Kind  Kind
	Name  string
	Blurb string
	Price money.Amount // of one unit
	Stock int          // units nobody has reserved; may be stale by the time it is read, only Reserve decides
}

const maxListed = 200

// productSQL selects products priced in currency $1, in language $2 ("ru", else English).
const productSQL = `
	SELECT p.id, p.kind,
		CASE WHEN $2 = 'ru' THEN p.name_ru ELSE p.name_en END,
		CASE WHEN $2 = 'ru' THEN p.blurb_ru ELSE p.blurb_en END,
		c.price_minor, c.currency, p.on_hand - p.reserved
	FROM products p JOIN product_prices c ON c.product_id = p.id AND c.currency = $1`

func scanProduct(row pgx.CollectableRow) (p Product, err error) {
	err = row.Scan(&p.ID, &p.Kind, &p.Name, &p.Blurb, &p.Price.Minor, &p.Price.Currency, &p.Stock)
	return p, err
}

// List returns what is sold in currency, in the shop's own order, at most 200. lang is "en" or "ru". Sold-out products are
// listed with Stock 0.
func List(ctx context.Context, q store.Querier, currency, lang string) ([]Product, error) {
	rows, err := q.Query(ctx, productSQL+` ORDER BY p.position, p.id LIMIT $3`, currency, lang, maxListed)
	if err != nil {
		return nil, fmt.Errorf("list products: %w", err)
	}
	products, err := pgx.CollectRows(rows, scanProduct)
	if err != nil {
		return nil, fmt.Errorf("list products: %w", err)
	}
	return products, nil
}

// Get returns one product. Returns NotFound when there is none or it is not sold in currency.
func Get(ctx context.Context, q store.Querier, id, currency, lang string) (Product, error) {
	rows, err := q.Query(ctx, productSQL+` WHERE p.id = $3`, currency, lang, id)
	if err != nil {
		return Product{}, fmt.Errorf("get product: %w", err)
	}
	product, err := pgx.CollectExactlyOneRow(rows, scanProduct)
	if errors.Is(err, pgx.ErrNoRows) {
		return Product{}, fault.Missing("product")
	}
	if err != nil {
		return Product{}, fmt.Errorf("get product: %w", err)
	}
	return product, nil
}

// QueuePrices reads the products of an order in the transaction that makes it. found has no entry for an id that is unknown or
// not sold in currency; it is filled when the batch is closed.
func QueuePrices(b *pgx.Batch, ids []string, currency, lang string, found map[string]Product) {
	b.Queue(productSQL+` WHERE p.id = ANY($3)`, currency, lang, ids).Query(func(rows pgx.Rows) error {
		products, err := pgx.CollectRows(rows, scanProduct)
		if err != nil {
			return fmt.Errorf("read prices: %w", err)
		}
		for _, p := range products {
			found[p.ID] = p
		}
		return nil
	})
}

// Prices is QueuePrices on its own.
func Prices(ctx context.Context, q store.Querier, ids []string, currency, lang string) (map[string]Product, error) {
	found := make(map[string]Product, len(ids))
	var b pgx.Batch
	QueuePrices(&b, ids, currency, lang, found)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err //nolint:wrapcheck // the queued function has wrapped it
	}
	return found, nil
}
