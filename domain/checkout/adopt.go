// Package checkout turns wishes into orders, once each: placing, paying again, canceling, and what a buyer sees of it.
package checkout

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/cart"
	"onefold/domain/fault"
	"onefold/domain/store"
)

// Adopt gives a user what a guest had in the basket and had ordered. Run twice or in parallel it changes nothing more.
func Adopt(ctx context.Context, db store.DB, guestID, userID uuid.UUID) error {
	if err := cart.Merge(ctx, db, guestID, userID); err != nil {
		return err
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`UPDATE orders o SET user_id = $2 FROM users g WHERE o.user_id = $1 AND g.id = $1 AND g.role = 'guest'`,
			`UPDATE carts c SET user_id = $2 FROM users g WHERE c.user_id = $1 AND c.status <> 'OPEN' AND g.id = $1 AND g.role = 'guest'`,
		} {
			if _, err := tx.Exec(ctx, sql, guestID, userID); err != nil {
				return fmt.Errorf("adopt guest's orders: %w", err)
			}
		}
		return nil
	})
}

// OrderOfCart finds the order that a cart became; NotFound if it didn't.
func OrderOfCart(ctx context.Context, q store.Querier, cartID uuid.UUID) (id uuid.UUID, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM orders WHERE cart_id = $1`, cartID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, fault.Missing("order")
	}
	if err != nil {
		return id, fmt.Errorf("find cart's order: %w", err)
	}
	return id, nil
}
