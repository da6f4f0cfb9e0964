package account

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"onefold/domain/store"
)

// DrillEmail is whom the drills of the console buy for. Nobody can sign in as them: there is no password.
const DrillEmail = "drill@onefold.example"

// DrillToken makes the drills' shopper exist and returns an API token of theirs, derived from secret, so that calling it again makes
// nothing new.
func DrillToken(ctx context.Context, db store.Querier, secret []byte) (token string, err error) {
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(demoSecret(secret, "token", DrillEmail))
	_, err = db.Exec(ctx, `INSERT INTO users (id, email, role) VALUES ($1, $2, $3) ON CONFLICT (email) DO NOTHING`, uuid.Must(uuid.NewV7()), DrillEmail, Shopper)
	if err != nil {
		return "", fmt.Errorf("make drill shopper: %w", err)
	}
	_, err = db.Exec(ctx, `INSERT INTO api_tokens (token_hash, user_id) SELECT $1, id FROM users WHERE email = $2 ON CONFLICT (token_hash) DO NOTHING`, hashSecret(token), DrillEmail)
	if err != nil {
		return "", fmt.Errorf("make drill token: %w", err)
	}
	return token, nil
}
