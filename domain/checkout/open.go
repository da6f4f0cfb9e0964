package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// GuestOrder proves by the e-mail address an order was placed with that somebody may see a guest's order from another browser,
// and returns the guest. An unknown order, an account's order and a wrong address are one and the same NotFound; too many tries
// are Unavailable RATE_LIMITED. ip is the caller's address.
func GuestOrder(ctx context.Context, db store.DB, orderID uuid.UUID, email, ip string) (guest account.User, err error) {
	email = strings.ToLower(operation.Text(email))
	forgive, err := account.CountProof(ctx, db, ip)
	if err != nil {
		return guest, err
	}
	err = db.QueryRow(ctx, `SELECT u.id, u.role FROM orders o JOIN users u ON u.id = o.user_id
		WHERE o.id = $1 AND o.email = $2 AND $2 <> '' AND u.role = 'guest'`, orderID, email).Scan(&guest.ID, &guest.Role)
	if errors.Is(err, pgx.ErrNoRows) {
		return guest, fault.Missing("order")
	}
	if err != nil {
		return guest, fmt.Errorf("find guest's order: %w", err)
	}
	return guest, forgive(ctx)
}
