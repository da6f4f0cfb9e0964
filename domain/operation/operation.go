package operation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"onefold/domain/fault"
)

// ID of an operation. It is computed from the identity (see Identity.ID), so it is known before the row can be seen.
type ID = uuid.UUID

// System is the user of the system's own intents.
var System = uuid.MustParse("00000000-0000-0000-0000-000000000001") //nolint:gochecknoglobals // a constant; Go has none for arrays

// Type names a kind of intent. Each type lives in one small file of the package that owns it.
type Type string

// Status of an operation.
type Status string

// The states. The executor moves PROCESSING on; nobody moves COMPLETED or FAILED.
const (
	Processing Status = "PROCESSING"
	Completed  Status = "COMPLETED"
	Failed     Status = "FAILED"
)

// Identity says which intent it is. Two requests with equal identity are tries at one intent, whatever they contain.
type Identity struct {
	User   uuid.UUID
	Type   Type
	Target string // "" or the thing acted on, e.g. "order:<id>"
	Key    string // the client's Idempotency-Key, or the system's business key
}

// ID derives the operation's ID: the UUIDv5 of the identity with each part's length in front, so that no two identities
// share a text. The order it makes keeps it for ever, which is how a key outlives its operation (DESIGN rule 16).
func (i Identity) ID() ID {
	var text []byte
	for _, part := range []string{string(i.Type), i.Target, i.Key} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part))) //nolint:gosec // parts are far below 4 GiB
		text = append(text, part...)
	}
	return uuid.NewSHA1(i.User, text)
}

// Fingerprint is "v<version>:" and the SHA-256 of a normalised command in hex. Commands are structs whose fields are already
// normalised (Text, sorted items); encoding/json writes them in declaration order, so equal commands give equal bytes.
func Fingerprint(version int, command any) (string, error) {
	canonical, err := json.Marshal(command)
	if err != nil {
		return "", fmt.Errorf("encode command: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return fmt.Sprintf("v%d:%s", version, hex.EncodeToString(sum[:])), nil
}

// Result is what the first execution answered; every replay answers the same.
type Result struct {
	OrderID      uuid.UUID // uuid.Nil if none
	ResourceType string    // "order", "payment", …
	ResourceID   string
	Code         int    // HTTP status of the API's answer
	Body         string // the API's answer, byte for byte
}

// Outcome is a result with its history.
type Outcome struct {
	ID       ID
	Result   Result
	Failure  *fault.Error // a final business refusal; nil if completed
	TraceID  string       // of the first request
	Replayed bool         // an earlier request made this result
}

// Operation is a row as readers see it.
type Operation struct {
	Identity
	ID          ID
	Status      Status
	OrderID     uuid.NullUUID
	Attempt     int // fencing token of the current lease
	Result      Result
	FailureCode string
	TraceID     string
	CreatedAt   time.Time
	CompletedAt *time.Time
	ExpiresAt   *time.Time
}
