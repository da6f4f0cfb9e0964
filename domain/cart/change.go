package cart

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// openSQL locks the user's ($1) open cart; its zero rows mean that there is none (any more).
const openSQL = `WITH open AS (UPDATE carts SET updated_at = now() WHERE user_id = $1 AND status = 'OPEN' RETURNING id)`

// change runs openSQL with the CTEs and the final SELECT of sql, which selects (carts found, lines found), on an open cart made
// if need be. lines is 0 when there was nothing to put.
func change(ctx context.Context, db store.Querier, userID account.ID, sql string, args ...any) (lines int, err error) {
	for range maxRaces {
		var carts int
		if err := db.QueryRow(ctx, openSQL+", "+sql, append([]any{userID}, args...)...).Scan(&carts, &lines); err != nil {
			return 0, fmt.Errorf("change cart: %w", err)
		}
		if carts > 0 {
			return lines, nil
		}
		if _, err := Open(ctx, db, userID); err != nil {
			return 0, err
		}
	}
	return 0, errRaced()
}

func checkQuantity(quantity, least int) error {
	if quantity >= least && quantity <= MaxQuantity {
		return nil
	}
	return fault.Validation(fault.Field{
		Field: "quantity", Rule: fmt.Sprintf("between=%d-%d", least, MaxQuantity),
		Message: fmt.Sprintf("Choose a quantity from %d to %d.", least, MaxQuantity),
	})
}

// Add puts quantity (1 to 99) more units into the open cart; more than 99 in all become 99. It is the one change that is not
// idempotent. Returns Invalid naming quantity, or NotFound for an unknown product.
func Add(ctx context.Context, db store.Querier, userID account.ID, productID string, quantity int) error {
	if err := checkQuantity(quantity, 1); err != nil {
		return err
	}
	return put(ctx, db, userID, productID, quantity, `least(99, i.quantity + excluded.quantity)`)
}

// SetQuantity makes it exactly quantity units (0 to 99) of the product, and puts it in when it is not there; 0 removes it.
// Idempotent. Returns Invalid naming quantity, or NotFound for an unknown product.
func SetQuantity(ctx context.Context, db store.Querier, userID account.ID, productID string, quantity int) error {
	if err := checkQuantity(quantity, 0); err != nil {
		return err
	}
	if quantity == 0 {
		return Remove(ctx, db, userID, productID)
	}
	return put(ctx, db, userID, productID, quantity, `excluded.quantity`)
}

// put writes one line; again says what becomes of a line (i) that is there already.
func put(ctx context.Context, db store.Querier, userID account.ID, productID string, quantity int, again string) error {
	found, err := change(ctx, db, userID, `
		put AS (
			INSERT INTO cart_items AS i (cart_id, product_id, quantity)
			SELECT open.id, p.id, $3 FROM open, products p WHERE p.id = $2
			ON CONFLICT (cart_id, product_id) DO UPDATE SET quantity = `+again+`
			RETURNING 1)
		SELECT (SELECT count(*) FROM open), (SELECT count(*) FROM put)`, productID, quantity)
	if err == nil && found == 0 {
		err = fault.Missing("product")
	}
	return err
}

// Saw records the price of one unit that the shopper was shown for a line of the open cart; See tells later what it was. What
// is not there is a success.
func Saw(ctx context.Context, db store.Querier, userID account.ID, productID string, price money.Amount) error {
	_, err := db.Exec(ctx, openSQL+` UPDATE cart_items i SET seen_price_minor = $3, seen_currency = $4 FROM open
		WHERE i.cart_id = open.id AND i.product_id = $2`, userID, productID, price.Minor, price.Currency)
	if err != nil {
		return fmt.Errorf("record the price seen: %w", err)
	}
	return nil
}

// Remove takes a product out of the open cart. What is not there is a success.
func Remove(ctx context.Context, db store.Querier, userID account.ID, productID string) error {
	_, err := db.Exec(ctx, openSQL+` DELETE FROM cart_items i USING open WHERE i.cart_id = open.id AND i.product_id = $2`,
		userID, productID)
	if err != nil {
		return fmt.Errorf("remove from cart: %w", err)
	}
	return nil
}

// Copy is "buy again": the open cart gets at least the lines of one of the user's orders, at most 99 of each, and keeps what
// else is in it. A double click changes nothing more. The cart that made the order is closed, so this is another cart, and
// BeginCheckout gives it a key of its own. Returns NotFound for an unknown order and for somebody else's.
func Copy(ctx context.Context, db store.Querier, userID account.ID, orderID uuid.UUID) error {
	found, err := change(ctx, db, userID, `
		wanted AS (
			SELECT item.product_id, least(99, item.quantity) AS quantity, item.price_minor, o.currency
			FROM orders o JOIN order_items item ON item.order_id = o.id WHERE o.id = $2 AND o.user_id = $1),
		put AS (
			INSERT INTO cart_items AS i (cart_id, product_id, quantity, seen_price_minor, seen_currency)
			SELECT open.id, wanted.product_id, wanted.quantity, wanted.price_minor, wanted.currency FROM open, wanted
			ON CONFLICT (cart_id, product_id) DO UPDATE SET quantity = greatest(i.quantity, excluded.quantity))
		SELECT (SELECT count(*) FROM open), (SELECT count(*) FROM wanted)`, orderID)
	if err == nil && found == 0 {
		err = fault.Missing("order")
	}
	return err
}
