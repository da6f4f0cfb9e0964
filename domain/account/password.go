package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"onefold/domain/fault"
)

// Limits of a new password, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// cost holds argon2id's parameters. A stored hash carries its own, so raising `current` upgrades people as they sign in.
type cost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

// production is above OWASP's minimum (19 MiB, 2 passes); RELIABILITY C1.
var production = cost{memory: 64 * 1024, passes: 3, lanes: 1} //nolint:gochecknoglobals // a constant

// current is what new hashes cost: production's, but for builds with the race detector, which takes seconds for one of those.
var current = costOf(production) //nolint:gochecknoglobals // a constant

const saltBytes, hashBytes = 16, 32

// hashing bounds the hashes that run at once in this process: each takes 64 MiB, and without a bound a flood of sign-ins is
// an out-of-memory.
var hashing = make(chan struct{}, 4) //nolint:gochecknoglobals // one per process is the point

// hashSlot waits for one of the four places; release gives it back.
func hashSlot(ctx context.Context) (release func(), err error) {
	select {
	case hashing <- struct{}{}:
		return func() { <-hashing }, nil
	case <-ctx.Done():
		busy := fault.New(fault.Unavailable, "TEMPORARILY_UNAVAILABLE", "Too many sign-ins at once. Try again.")
		busy.RetryAfter, busy.Err = time.Second, ctx.Err()
		return nil, busy
	}
}

// derive is argon2id over the NFKC form, so that a password typed on another keyboard or system is the same password.
func derive(password string, salt []byte, c cost) []byte {
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, c.passes, c.memory, c.lanes, hashBytes)
}

// hashPassword returns a PHC string: $argon2id$v=19$m=65536,t=3,p=1$salt$hash.
func hashPassword(password string) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, current.memory, current.passes, current.lanes,
		b64.EncodeToString(salt), b64.EncodeToString(derive(password, salt, current)))
}

// checkPassword compares with a stored PHC string. stale asks for a new hash: the parameters have changed since.
// "" (an unknown user, or one without a password) costs the same time as a real comparison and is never right.
func checkPassword(password, phc string) (right, stale bool, err error) {
	if phc == "" {
		derive(password, make([]byte, saltBytes), current)
		return false, false, nil
	}
	c, salt, want, err := parsePHC(phc)
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(derive(password, salt, c), want) == 1, c != current, nil
}

func parsePHC(phc string) (c cost, salt, hash []byte, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, fmt.Errorf("stored password hash is not argon2id v%d", argon2.Version)
	}
	if _, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil {
		return c, nil, nil, fmt.Errorf("read password parameters: %w", err)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return c, nil, nil, fmt.Errorf("read password salt: %w", err)
	}
	if hash, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return c, nil, nil, fmt.Errorf("read password hash: %w", err)
	}
	return c, salt, hash, nil
}

// passwordFaults names the rules a new password breaks.
func passwordFaults(password string) []fault.Field {
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return []fault.Field{{
			Field: "password", Rule: fmt.Sprintf("min=%d", minPassword),
			Message: fmt.Sprintf("Use at least %d characters.", minPassword),
		}}
	case n > maxPassword:
		return []fault.Field{{
			Field: "password", Rule: fmt.Sprintf("max=%d", maxPassword),
			Message: fmt.Sprintf("Use at most %d characters.", maxPassword),
		}}
	default:
		return nil
	}
}
