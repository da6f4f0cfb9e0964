package cart

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/store"
)

// Merge moves a guest's open cart into the user's at sign-in: lines of one product are summed, at most 99. The guest's cart
// becomes MERGED in the same transaction, so a second or parallel call finds nothing to move. A guest without a cart, a
// guestID that is not a guest's, and the user's own ID are successes that change nothing.
func Merge(ctx context.Context, db store.DB, guestID, userID account.ID) error {
	if guestID == userID {
		return nil
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		guestCart, err := takeGuestCart(ctx, tx, guestID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take guest cart: %w", err)
		}
		_, err = change(ctx, tx, userID, `
			wanted AS (SELECT product_id, quantity, seen_price_minor, seen_currency FROM cart_items WHERE cart_id = $2),
			put AS (
				INSERT INTO cart_items AS i (cart_id, product_id, quantity, seen_price_minor, seen_currency)
				SELECT open.id, wanted.product_id, wanted.quantity, wanted.seen_price_minor, wanted.seen_currency FROM open, wanted
				ON CONFLICT (cart_id, product_id) DO UPDATE SET quantity = least(99, i.quantity + excluded.quantity))
			SELECT (SELECT count(*) FROM open), (SELECT count(*) FROM wanted)`, guestCart)
		return err
	})
}

// takeGuestCart closes the guest's open cart. Only a guest's: a signed-in person's basket never moves to somebody else.
func takeGuestCart(ctx context.Context, tx pgx.Tx, guestID account.ID) (id ID, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE carts SET status = 'MERGED', updated_at = now()
		WHERE user_id = $1 AND status = 'OPEN' AND EXISTS (SELECT FROM users WHERE id = $1 AND role = 'guest')
		RETURNING id`, guestID).Scan(&id)
	return id, err
}
