package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// How long a session lives. A shopper's (or guest's) ends after a day without a request, at the latest after 30 days; a
// staff member's ends 8 hours after sign-in, whatever happens.
const (
	shopperIdle = 24 * time.Hour
	shopperMax  = 30 * 24 * time.Hour
	staffMax    = 8 * time.Hour
)

// newSecret is 256 random bits, for cookies and API tokens.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// hashSecret is what the database keeps: a stolen table opens nothing. The secrets are random, so no slow hash is needed.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// StartSession makes a new session and returns the cookie's value. It never takes a token from outside, so that signing in
// always changes it (session fixation); end the visitor's former session with EndSession.
// Returns NotFound for a user who does not exist or cannot sign in.
func StartSession(ctx context.Context, db store.Querier, userID ID) (token string, err error) {
	token = newSecret()
	tag, err := db.Exec(ctx, `
		WITH old AS (DELETE FROM sessions WHERE user_id = $2 AND expires_at <= now())
		INSERT INTO sessions (token_hash, user_id, expires_at)
		SELECT $1, id, now() + CASE WHEN role IN ('guest','shopper') THEN $3::interval ELSE $4::interval END
		FROM users WHERE id = $2 AND role <> 'system'`, hashSecret(token), userID, shopperIdle, staffMax)
	if err != nil {
		return "", fmt.Errorf("start session: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return "", fault.Missing("user")
	}
	return token, nil
}

// SessionUser returns whose session a cookie is, with the role as it is now, and keeps a shopper's session alive (written at
// most once a minute). Returns ErrUnauthenticated.
func SessionUser(ctx context.Context, db store.Querier, token string) (User, error) {
	hash := hashSecret(token)
	var touch bool
	u, err := identified(db.QueryRow(ctx, `
		SELECT u.id, coalesce(u.email, ''), u.role, s.last_seen_at < now() - interval '1 minute'
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token_hash = $1 AND s.expires_at > now()
		  AND (u.role IN ('guest','shopper') OR s.created_at > now() - $2::interval)`, hash, staffMax), &touch)
	if err != nil || !touch {
		return u, err
	}
	_, err = db.Exec(ctx, `
		UPDATE sessions SET last_seen_at = now(),
			expires_at = CASE WHEN $2 THEN expires_at ELSE least(now() + $3::interval, created_at + $4::interval) END
		WHERE token_hash = $1`, hash, u.Role.Staff(), shopperIdle, shopperMax)
	if err != nil {
		return User{}, fmt.Errorf("keep session: %w", err)
	}
	return u, nil
}

// EndSession signs out one browser. An unknown or already ended session is a success.
func EndSession(ctx context.Context, db store.Querier, token string) error {
	if _, err := db.Exec(ctx, `DELETE FROM sessions WHERE token_hash = $1`, hashSecret(token)); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// EndAllSessions signs a user out everywhere. API tokens stay valid.
func EndAllSessions(ctx context.Context, db store.Querier, userID ID) error {
	if _, err := db.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1`, userID); err != nil {
		return fmt.Errorf("end all sessions: %w", err)
	}
	return nil
}

// Swept counts what Sweep removes.
type Swept struct {
	Sessions int64 // that have ended
	Counters int64 // of sign-ins, that have been forgotten
}

// Conditions of what Sweep removes.
const (
	hasEnded  = `expires_at <= now()`
	forgotten = `retry_at < now() - interval '1 hour'`
)

// Sweep removes sessions that have ended and sign-in counters that have been forgotten. Run it now and then.
func Sweep(ctx context.Context, db store.Querier) (s Swept, err error) {
	err = db.QueryRow(ctx, `
		WITH s AS (DELETE FROM sessions WHERE `+hasEnded+` RETURNING 1), t AS (DELETE FROM login_throttle WHERE `+forgotten+` RETURNING 1)
		SELECT (SELECT count(*) FROM s), (SELECT count(*) FROM t)`).Scan(&s.Sessions, &s.Counters)
	if err != nil {
		return s, fmt.Errorf("sweep sessions: %w", err)
	}
	return s, nil
}

// Ended counts what Sweep would remove now.
func Ended(ctx context.Context, q store.Querier) (s Swept, err error) {
	err = q.QueryRow(ctx, `SELECT (SELECT count(*) FROM sessions WHERE `+hasEnded+`), (SELECT count(*) FROM login_throttle WHERE `+forgotten+`)`).
		Scan(&s.Sessions, &s.Counters)
	if err != nil {
		return s, fmt.Errorf("count ended sessions: %w", err)
	}
	return s, nil
}
