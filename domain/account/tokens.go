package account

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"onefold/domain/store"
)

// Bounds of Tokens.
const (
	tokenTTL  = 5 * time.Second
	maxTokens = 10_000
)

// Tokens remembers for five seconds who an API token belongs to, so that a busy client costs one query per five seconds and
// not one per request. The price: a revoked token or a changed role is noticed up to five seconds late. Unknown tokens are
// never remembered: a new one works at once, and guesses cannot push real ones out. At most 10,000 are kept.
type Tokens struct {
	db  store.Querier
	now func() time.Time

	mu    sync.Mutex
	known map[[sha256.Size]byte]remembered
}

type remembered struct {
	user  User
	until time.Time
}

// NewTokens makes an empty memory over db; now is the process's clock (time.Now).
func NewTokens(db store.Querier, now func() time.Time) *Tokens {
	return &Tokens{db: db, now: now, known: map[[sha256.Size]byte]remembered{}}
}

// User returns whose API token it is, at most five seconds old. Returns ErrUnauthenticated.
func (t *Tokens) User(ctx context.Context, token string) (User, error) {
	hash := sha256.Sum256([]byte(token))
	if u, ok := t.recall(hash); ok {
		return u, nil
	}
	u, err := TokenUser(ctx, t.db, token)
	if err != nil {
		return User{}, err
	}
	t.remember(hash, u)
	return u, nil
}

func (t *Tokens) recall(hash [sha256.Size]byte) (User, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.known[hash]
	return r.user, ok && t.now().Before(r.until)
}

// remember makes room by dropping any one entry: it is only a query to get it back.
func (t *Tokens) remember(hash [sha256.Size]byte, u User) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxTokens {
		for victim := range t.known {
			delete(t.known, victim)
			break
		}
	}
	t.known[hash] = remembered{user: u, until: t.now().Add(tokenTTL)}
}
