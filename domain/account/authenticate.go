package account

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Authenticate checks a password. ip is the caller's address, "" when unknown. Returns Invalid SIGN_IN_FAILED, the same for
// an unknown address and a wrong password, and takes the same time for both; or Unavailable RATE_LIMITED with RetryAfter
// (HTTP 429), without looking at the password.
//
// Every try counts as a failure until it has succeeded, so that parallel guesses cannot slip past the counter. It is
// counted only once it has a place for hashing: four honest sign-ins at once stay below the limit.
func Authenticate(ctx context.Context, db store.DB, email, password, ip string) (User, error) {
	email = normalEmail(email)
	release, err := hashSlot(ctx)
	if err != nil {
		return User{}, err
	}
	defer release()
	if err := countTry(ctx, db, email, ip); err != nil {
		return User{}, err
	}
	u, phc, err := byEmail(ctx, db, email)
	if err != nil {
		return User{}, err
	}
	if utf8.RuneCountInString(password) > maxPassword {
		return User{}, wrongPassword()
	}
	right, stale, err := checkPassword(password, phc)
	if err != nil {
		return User{}, err
	}
	if !right {
		return User{}, wrongPassword()
	}
	if stale {
		if err := rehash(ctx, db, u.ID, phc, password); err != nil {
			return User{}, err
		}
	}
	return u, forgiveTry(ctx, db, email, ip)
}

func wrongPassword() error {
	return fault.New(fault.Invalid, "SIGN_IN_FAILED", "E-mail address or password is wrong.")
}

// byEmail returns the person and the stored hash; zero values for an unknown address.
func byEmail(ctx context.Context, q store.Querier, email string) (u User, phc string, err error) {
	err = q.QueryRow(ctx, `SELECT id, email, role, coalesce(password_hash, '') FROM users WHERE email = $1`, email).
		Scan(&u.ID, &u.Email, &u.Role, &phc)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return User{}, "", fmt.Errorf("find user: %w", err)
	}
	return u, phc, nil
}

// rehash stores the password under the current parameters, unless it was changed meanwhile.
func rehash(ctx context.Context, q store.Querier, userID ID, old, password string) error {
	_, err := q.Exec(ctx, `UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2`, userID, old, hashPassword(password))
	if err != nil {
		return fmt.Errorf("rehash password: %w", err)
	}
	return nil
}
