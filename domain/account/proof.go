package account

import (
	"context"

	"onefold/domain/store"
)

// CountProof counts a try to show who somebody is without a password, by the caller's address and with the limits of sign-ins:
// Unavailable RATE_LIMITED with RetryAfter when it has to wait. forgive takes the count of a successful try back.
func CountProof(ctx context.Context, db store.DB, ip string) (forgive func(context.Context) error, err error) {
	if err := countTry(ctx, db, "", ip); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return forgiveTry(ctx, db, "", ip) }, nil
}
