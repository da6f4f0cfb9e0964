package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"onefold/domain/store"
)

// DemoUser is one person of the demo with what they sign in with; demo.json holds them as they are.
type DemoUser struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Role     Role   `json:"role"`
	APIToken string `json:"apiToken"`
}

// DemoUsers returns two shoppers and one person of each staff role. Their passwords and tokens are derived from secret
// (32 random bytes that the caller keeps), so they are the same after every restart and different on every installation.
func DemoUsers(secret []byte) []DemoUser {
	users := []DemoUser{
		{Email: "shopper1@example.com", Role: Shopper},
		{Email: "shopper2@example.com", Role: Shopper},
		{Email: "viewer@example.com", Role: Viewer},
		{Email: "support@example.com", Role: Support},
		{Email: "operator@example.com", Role: Operator},
		{Email: "approver@example.com", Role: Approver},
		{Email: "admin@example.com", Role: Admin},
	}
	for i := range users {
		u := &users[i]
		u.Password = strings.ToLower(base32.StdEncoding.EncodeToString(demoSecret(secret, "password", u.Email))[:16])
		u.APIToken = tokenPrefix + base64.RawURLEncoding.EncodeToString(demoSecret(secret, "token", u.Email))
	}
	return users
}

func demoSecret(secret []byte, what, email string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(what + "\x00" + email))
	return mac.Sum(nil)
}

// SeedDemo makes the people of DemoUsers exist and returns them. Running it again with the same secret changes nothing; with
// another secret they get that one's passwords and tokens.
func SeedDemo(ctx context.Context, db store.Querier, secret []byte) ([]DemoUser, error) {
	users := DemoUsers(secret)
	for _, u := range users {
		_, err := TokenUser(ctx, db, u.APIToken)
		if errors.Is(err, ErrUnauthenticated) {
			err = seedOne(ctx, db, u)
		}
		if err != nil {
			return nil, err
		}
	}
	return users, nil
}

func seedOne(ctx context.Context, db store.Querier, u DemoUser) error {
	phc, err := slowHash(ctx, u.Password)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, `
		WITH person AS (
			INSERT INTO users (id, email, password_hash, role) VALUES ($1, $2, $3, $4)
			ON CONFLICT (email) DO UPDATE SET password_hash = excluded.password_hash, role = excluded.role
			RETURNING id)
		INSERT INTO api_tokens (token_hash, user_id) SELECT $5, id FROM person
		ON CONFLICT (token_hash) DO NOTHING`, uuid.Must(uuid.NewV7()), u.Email, phc, u.Role, hashSecret(u.APIToken))
	if err != nil {
		return fmt.Errorf("seed demo user: %w", err)
	}
	return nil
}
