// Package account knows people: who they are, how they prove it (password, session cookie, API token) and what their role
// allows. Every secret is stored only as a hash. Times are the database's, so that all processes agree on them.
package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// ID names a user. New ones are UUIDv7.
type ID = uuid.UUID

// System is the user of the system's own intents (payments, fulfilment). Nobody can sign in as it.
var System = ID{15: 1} //nolint:gochecknoglobals // a constant; Go has no array constants

// User is a person, or a guest who has not signed in yet.
type User struct {
	ID    ID
	Email string // lower case; "" for a guest
	Role  Role
}

// ErrUnauthenticated means that a session or API token is unknown, expired or revoked; the three are not told apart.
var ErrUnauthenticated error = fault.New(fault.Forbidden, "UNAUTHENTICATED", "Sign in first.")

// maxListed bounds List.
const maxListed = 500

// List returns the people who can sign in, by e-mail address, at most 500.
func List(ctx context.Context, q store.Querier) ([]User, error) {
	rows, err := q.Query(ctx, `SELECT id, email, role FROM users WHERE email IS NOT NULL ORDER BY email LIMIT $1`, maxListed)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	users, err := pgx.CollectRows(rows, pgx.RowToStructByPos[User])
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// NewGuest makes a user without an address, for somebody who fills a basket before signing in. Make one only when there is
// something to keep: every call is a row.
func NewGuest(ctx context.Context, q store.Querier) (User, error) {
	guest := User{ID: uuid.Must(uuid.NewV7()), Role: Guest}
	if _, err := q.Exec(ctx, `INSERT INTO users (id, role) VALUES ($1, $2)`, guest.ID, guest.Role); err != nil {
		return User{}, fmt.Errorf("insert guest: %w", err)
	}
	return guest, nil
}

// identified reads the user of one row (id, email, role); no row means ErrUnauthenticated.
func identified(row pgx.Row, more ...any) (User, error) {
	var u User
	err := row.Scan(append([]any{&u.ID, &u.Email, &u.Role}, more...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, ErrUnauthenticated
	}
	if err != nil {
		return User{}, fmt.Errorf("identify user: %w", err)
	}
	return u, nil
}

var rules = validator.New() //nolint:gochecknoglobals // caches its parsed rules, safe for concurrent use

// normalEmail is the one spelling an address is stored and looked up by.
func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func validEmail(normal string) bool { return rules.Var(normal, "required,email,max=254") == nil }

// MaskEmail hides all of an address but what its owner recognises: "ada@example.com" is "a•••@example.com"; "" stays "".
func MaskEmail(email string) string {
	name, domain, ok := strings.Cut(email, "@")
	if !ok || name == "" {
		return ""
	}
	return string([]rune(name)[:1]) + "•••@" + domain
}
