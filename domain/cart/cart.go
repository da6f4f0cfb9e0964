// Package cart holds baskets. A user has at most one open cart, so every tab shows the same; the browser's idempotency key
// belongs to the cart, so every tab carries the same.
//
//	OPEN → ORDERED   Close, in the transaction that makes the order
//	OPEN → MERGED    Merge, when a guest signs in
//
// Whoever changes an open cart's lines locks its row first, with an UPDATE that demands OPEN. So a line is either in the
// order that is being made, or in the next cart, never lost between them: Close first, then read Lines.
package cart

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
)

// ID names a cart; a UUIDv7.
type ID = uuid.UUID

// Status is the cart's state.
type Status string

// The states.
const (
	StatusOpen    Status = "OPEN"    // the shopper moves next
	StatusOrdered Status = "ORDERED" // final: an order was made from it
	StatusMerged  Status = "MERGED"  // final: its lines went to a signed-in user's cart
)

// MaxQuantity is the most units of one product a cart takes.
const MaxQuantity = 99

// Line is a number of units, 1 to 99, of one product.
type Line struct {
	ProductID string
	Quantity  int
}

// Cart is one basket without its lines.
type Cart struct {
	ID     ID
	UserID account.ID
	Status Status
	Key    string // idempotency key of its checkout; "" until BeginCheckout
}

const cartSQL = `SELECT id, user_id, status, coalesce(checkout_key, '') FROM carts `

func readCart(ctx context.Context, q store.Querier, where string, args ...any) (c Cart, found bool, err error) {
	err = q.QueryRow(ctx, cartSQL+where, args...).Scan(&c.ID, &c.UserID, &c.Status, &c.Key)
	if errors.Is(err, pgx.ErrNoRows) {
		return Cart{}, false, nil
	}
	if err != nil {
		return Cart{}, false, fmt.Errorf("read cart: %w", err)
	}
	return c, true, nil
}

// maxRaces bounds the retries after a cart was closed between two statements; each needs another order of the same user.
const maxRaces = 5

// Open returns the user's open cart, and makes it when there is none.
func Open(ctx context.Context, db store.Querier, userID account.ID) (Cart, error) {
	for range maxRaces {
		_, err := db.Exec(ctx, `
			INSERT INTO carts (id, user_id, status) VALUES ($1, $2, 'OPEN')
			ON CONFLICT (user_id) WHERE status = 'OPEN' DO NOTHING`, uuid.Must(uuid.NewV7()), userID)
		if err != nil {
			return Cart{}, fmt.Errorf("open cart: %w", err)
		}
		c, found, err := readCart(ctx, db, `WHERE user_id = $1 AND status = 'OPEN'`, userID)
		if err != nil || found {
			return c, err
		}
	}
	return Cart{}, errRaced()
}

func errRaced() error {
	return fault.New(fault.Unavailable, "TEMPORARILY_UNAVAILABLE", "Your basket changed at the same moment. Try again.")
}

// ByKey returns the owner's cart with this checkout key, open or already ordered. Returns NotFound for an unknown key and for
// somebody else's, and Gone CHECKOUT_ENDED when its lines went into another basket at sign-in.
func ByKey(ctx context.Context, q store.Querier, userID account.ID, key string) (Cart, error) {
	c, found, err := readCart(ctx, q, `WHERE checkout_key = $1 AND user_id = $2`, key, userID)
	switch {
	case err != nil:
		return c, err
	case !found:
		return c, fault.Missing("checkout")
	case c.Status == StatusMerged:
		return c, fault.New(fault.Gone, "CHECKOUT_ENDED", "This checkout has ended. What it held is in your basket.")
	}
	return c, nil
}

// Close moves an open cart to ORDERED in the transaction that makes the order, and keeps its row locked until COMMIT. false
// means that it was not open any more: another tab has ordered it.
func Close(ctx context.Context, tx store.Querier, cartID ID) (bool, error) {
	tag, err := tx.Exec(ctx, `UPDATE carts SET status = 'ORDERED', updated_at = now() WHERE id = $1 AND status = 'OPEN'`, cartID)
	if err != nil {
		return false, fmt.Errorf("close cart: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Lines returns what is in the cart, by product. After Close, in the same transaction, nobody can change it.
func Lines(ctx context.Context, q store.Querier, cartID ID) ([]Line, error) {
	rows, err := q.Query(ctx, `SELECT product_id, quantity FROM cart_items WHERE cart_id = $1 ORDER BY product_id`, cartID)
	if err != nil {
		return nil, fmt.Errorf("read cart lines: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Line])
	if err != nil {
		return nil, fmt.Errorf("read cart lines: %w", err)
	}
	return lines, nil
}

// HasPhysical says whether something in the cart, open or ordered, has to be carried.
func HasPhysical(ctx context.Context, q store.Querier, cartID ID) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM cart_items i JOIN products p ON p.id = i.product_id
		WHERE i.cart_id = $1 AND p.kind = 'physical')`, cartID).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for physical products: %w", err)
	}
	return has, nil
}
