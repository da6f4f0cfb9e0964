package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Create makes a person who can sign in. The address is trimmed and lower-cased; the password has 8 to 128 characters; the
// role is shopper or more. Returns Invalid naming the fields, or Conflict EMAIL_TAKEN; neither leaves a row.
func Create(ctx context.Context, db store.Querier, email, password string, role Role) (User, error) {
	u := User{ID: uuid.Must(uuid.NewV7()), Email: normalEmail(email), Role: role}
	if broken := createFaults(u, password); len(broken) > 0 {
		return User{}, fault.Validation(broken...)
	}
	phc, err := slowHash(ctx, password)
	if err != nil {
		return User{}, err
	}
	err = db.QueryRow(ctx, `
		INSERT INTO users (id, email, password_hash, role) VALUES ($1, $2, $3, $4)
		ON CONFLICT (email) DO NOTHING RETURNING id`, u.ID, u.Email, phc, u.Role).Scan(&u.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return User{}, fault.New(fault.Conflict, "EMAIL_TAKEN", "There is already an account with this e-mail address.")
	}
	if err != nil {
		return User{}, fmt.Errorf("insert user: %w", err)
	}
	return u, nil
}

func createFaults(u User, password string) []fault.Field {
	broken := passwordFaults(password)
	if !validEmail(u.Email) {
		broken = append(broken, fault.Field{Field: "email", Rule: "email", Message: "Enter an e-mail address like name@example.com."})
	}
	if !u.Role.AtLeast(Shopper) {
		broken = append(broken, fault.Field{Field: "role", Rule: "oneof=shopper viewer support operator approver admin", Message: "Choose a role."})
	}
	return broken
}

// SetPassword replaces a person's password and ends all their sessions. Returns Invalid naming the field, or NotFound.
func SetPassword(ctx context.Context, db store.DB, userID ID, password string) error {
	if broken := passwordFaults(password); len(broken) > 0 {
		return fault.Validation(broken...)
	}
	phc, err := slowHash(ctx, password)
	if err != nil {
		return err
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1 AND email IS NOT NULL`, userID, phc)
		if err != nil {
			return fmt.Errorf("set password: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.Missing("user")
		}
		return EndAllSessions(ctx, tx, userID)
	})
}

func slowHash(ctx context.Context, password string) (string, error) {
	release, err := hashSlot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return hashPassword(password), nil
}
