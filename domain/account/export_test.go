package account

import (
	"encoding/base64"
	"fmt"
)

// Production is what new passwords cost outside tests.
var Production = production

// Tests sign in often; the price is not what they are about.
func init() { current.memory, current.passes = 1024, 3 }

// Parameters are a cost as a PHC string has them.
func (c cost) Parameters() string { return fmt.Sprintf("m=%d,t=%d,p=%d", c.memory, c.passes, c.lanes) }

// PHCForTest is a hash as an installation with other parameters would have stored it.
func PHCForTest(password string, memory, passes uint32, lanes uint8) string {
	salt := []byte("0123456789abcdef")
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", memory, passes, lanes, b64.EncodeToString(salt),
		b64.EncodeToString(derive(password, salt, cost{memory: memory, passes: passes, lanes: lanes})))
}
