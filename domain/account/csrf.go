package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// CSRFToken returns the form token of a session: an HMAC, so nothing is stored and every tab has the same. secret is the
// process group's own (32 random bytes); the token dies with the session.
func CSRFToken(secret []byte, sessionToken string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("csrf\x00" + sessionToken))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckCSRF reports whether a form's token belongs to the session.
func CheckCSRF(secret []byte, sessionToken, token string) bool {
	return sessionToken != "" && hmac.Equal([]byte(CSRFToken(secret, sessionToken)), []byte(token))
}
