package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"onefold/domain/provider"
)

const (
	signatureHeader = "Onefold-Signature"
	tolerance       = 300 * time.Second // either way, as Stripe's
	headerLimit     = 4096
	timeDigits      = 12
)

// Authenticate proves t=<unix>,v1=<hex HMAC-SHA256(secret, t.body)>: one of several v1 under one of several secrets.
func (c *Client) Authenticate(header http.Header, body []byte, now time.Time) error {
	values := header.Values(signatureHeader)
	if len(values) != 1 {
		return provider.Errorf(provider.Auth, "%d signature headers", len(values))
	}
	stamp, signatures, ok := parseSignature(values[0])
	if !ok {
		return provider.Errorf(provider.Auth, "malformed signature header")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return provider.Errorf(provider.Auth, "malformed signature time")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return provider.Errorf(provider.Auth, "signature is %s from now", age.Truncate(time.Second))
	}
	matches := false
	for _, secret := range c.secrets {
		if secret == "" {
			continue // an empty secret would let everybody sign
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		expected := mac.Sum(nil)
		for _, signature := range signatures {
			matches = hmac.Equal(expected, signature) || matches
		}
	}
	if !matches {
		return provider.Errorf(provider.Auth, "no signature matches")
	}
	return nil
}

// parseSignature takes the header apart. Exactly one time and at least one readable v1; other schemes are passed over.
func parseSignature(header string) (stamp string, signatures [][]byte, ok bool) {
	if len(header) > headerLimit {
		return "", nil, false
	}
	for part := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !found:
			return "", nil, false
		case name == "t" && (stamp != "" || !isStamp(value)):
			return "", nil, false
		case name == "t":
			stamp = value
		case name == "v1":
			if signature, err := hex.DecodeString(value); err == nil && len(signature) == sha256.Size {
				signatures = append(signatures, signature)
			}
		}
	}
	return stamp, signatures, stamp != "" && len(signatures) > 0
}

func isStamp(value string) bool {
	digits := strings.Trim(value, "0123456789") == ""
	return value != "" && len(value) <= timeDigits && digits
}
