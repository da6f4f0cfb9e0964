package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// OpenTwin finds a user's newest order that waits for its payment and has exactly these items, other than the order of the cart
// itself (a twin press may just have made it); the zero UUID for none. Whoever
// was told "we don't know yet" and fills a new basket with the same is asked before that becomes a second order.
func OpenTwin(ctx context.Context, q store.Querier, userID, cartID uuid.UUID, items []Item) (id uuid.UUID, err error) {
	units := map[string]int{}
	for _, i := range items {
		units[i.ProductID] += i.Quantity
	}
	wanted, err := json.Marshal(units)
	if err != nil {
		return id, fmt.Errorf("write items: %w", err)
	}
	err = q.QueryRow(ctx, `SELECT o.id FROM orders o
		WHERE o.user_id = $1 AND o.status = 'AWAITING_PAYMENT' AND o.cart_id IS DISTINCT FROM $3 AND $2::jsonb = (
			SELECT jsonb_object_agg(product_id, units)
			FROM (SELECT product_id, sum(quantity) AS units FROM order_items i WHERE i.order_id = o.id GROUP BY product_id) AS held)
		ORDER BY o.id DESC LIMIT 1`, userID, wanted, cartID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	if err != nil {
		return id, fmt.Errorf("look for an open order with the same items: %w", err)
	}
	return id, nil
}
