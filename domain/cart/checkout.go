package cart

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/store"
)

// BeginCheckout returns the open cart's idempotency key: made at the first call, the same for every tab and reload after it,
// whatever is put into the cart meanwhile. Returns Conflict CART_EMPTY when there is nothing to buy.
func BeginCheckout(ctx context.Context, db store.Querier, userID account.ID) (key string, err error) {
	err = db.QueryRow(ctx, `
		UPDATE carts SET checkout_key = coalesce(checkout_key, $2), updated_at = now()
		WHERE user_id = $1 AND status = 'OPEN' AND EXISTS (SELECT FROM cart_items WHERE cart_id = carts.id)
		RETURNING checkout_key`, userID, rand.Text()).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fault.New(fault.Conflict, "CART_EMPTY", "Your basket is empty.")
	}
	if err != nil {
		return "", fmt.Errorf("begin checkout: %w", err)
	}
	return key, nil
}

// Basket is a fingerprint of the lines, whatever their order: 64 hex digits. The checkout form carries the one it was drawn
// from, so that a cart changed in another tab is noticed before it is ordered.
func Basket(lines []Line) string {
	sorted := slices.SortedFunc(slices.Values(lines), func(a, b Line) int { return strings.Compare(a.ProductID, b.ProductID) })
	hash := sha256.New()
	for _, l := range sorted {
		fmt.Fprintf(hash, "%q %d\n", l.ProductID, l.Quantity)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
