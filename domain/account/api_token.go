package account

import (
	"context"
	"fmt"
	"strings"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// tokenPrefix makes a leaked token recognisable to people and to secret scanners.
const tokenPrefix = "of_"

// CreateToken makes an API token for a person; it is returned once and stored only as a hash. Earlier tokens stay valid.
// Returns NotFound for an unknown address.
func CreateToken(ctx context.Context, db store.Querier, email string) (token string, err error) {
	token = tokenPrefix + newSecret()
	tag, err := db.Exec(ctx, `INSERT INTO api_tokens (token_hash, user_id) SELECT $1, id FROM users WHERE email = $2`,
		hashSecret(token), normalEmail(email))
	if err != nil {
		return "", fmt.Errorf("insert API token: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return "", fault.Missing("user")
	}
	return token, nil
}

// TokenUser returns whose API token it is. Returns ErrUnauthenticated. The request path asks Tokens instead.
func TokenUser(ctx context.Context, db store.Querier, token string) (User, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return User{}, ErrUnauthenticated
	}
	return identified(db.QueryRow(ctx, `
		SELECT u.id, coalesce(u.email, ''), u.role FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.token_hash = $1`,
		hashSecret(token)))
}
