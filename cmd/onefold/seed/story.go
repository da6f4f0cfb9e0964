package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
)

// Seeded payments are the simulator's.
const providerName = "sim"

// story tells what happened to one order, as the domain would have written it.
type story struct {
	*rows
	fate
	random *rand.Rand
	now    time.Time // of the run: unfinished work is due after it
	at     time.Time // the story's own clock
	trace  string
	staff  uuid.UUID // who refunds

	// What retention has removed: the first so many.
	goneOperations, goneEvents int

	id, user, cart uuid.UUID
	place          deed
	key            string
	email, name    string
	locale         string
	item           item
	total          money.Amount
	state          order.State
	created        time.Time
	paid, done     time.Time
	closed         time.Time
	closedBy       uuid.UUID
	planned        time.Time // expiry
	review         string
	removed        []string // outbox events
}

type item struct {
	id       uuid.UUID
	product  product
	quantity int
}

// step lets time pass, between one and most.
func (s *story) step(most time.Duration) {
	s.at = s.at.Add(time.Duration(1 + s.random.Int64N(int64(most)))).Truncate(time.Microsecond)
}

// newID is a UUIDv7 of the story's time.
func (s *story) newID() uuid.UUID {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:], uint64(s.at.UnixMilli())<<16|s.random.Uint64()&0xffff)
	binary.BigEndian.PutUint64(u[8:], s.random.Uint64())
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u
}

func (s *story) hexes() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], s.random.Uint64())
	binary.BigEndian.PutUint64(raw[8:], s.random.Uint64())
	return hex.EncodeToString(raw[:])
}

// named makes an ID of the provider's.
func (s *story) named(prefix string) string { return prefix + s.hexes()[:24] }

// line is what a journal row tells of; empty IDs are NULL.
type line struct{ operation, payment, event, outbox uuid.UUID }

// note appends to the journal. detail is JSON.
func (s *story) note(kind string, l line, detail string, args ...any) {
	orderID := s.id
	if kind == "inbox.received" || kind == "inbox.repeated" || kind == "operation.key_reused" || kind == "operation.in_progress" {
		orderID = uuid.Nil // not known there
	}
	s.write(kind, orderID, l, fmt.Sprintf(detail, args...))
}

func (s *story) write(kind string, orderID uuid.UUID, l line, detail string) {
	s.add(journal, s.at, kind, s.trace, id(l.operation), id(orderID), id(l.payment), id(l.event), id(l.outbox), detail)
}

// deed is an operation in the making.
type deed struct {
	operation.Identity
	id      uuid.UUID
	started time.Time
	gone    bool // retention removed it, and with it what the journal told of it
}

func (s *story) begin(user uuid.UUID, t operation.Type, target, key string) deed {
	who := operation.Identity{User: user, Type: t, Target: target, Key: key}
	d := deed{Identity: who, id: who.ID(), started: s.at}
	if s.goneOperations > 0 {
		s.goneOperations--
		d.gone = true
	}
	return d
}

func (s *story) plan(t operation.Type, key string, args ...any) deed {
	return s.begin(operation.System, t, "", fmt.Sprintf(key, args...))
}

// ending is how an operation stands now.
type ending struct {
	status            operation.Status
	resource, made    string // type and ID
	code              int    // HTTP status of a client's operation
	body              string
	failure           string
	looks             int       // of an unfinished one
	sent              time.Time // of an unfinished one: may have got through
	lastError         string
	unwritten, nobody bool // without its own journal line; of no order
}

func (s *story) end(d deed, e ending) {
	if d.gone {
		return
	}
	var code any
	var ended, expires, next time.Time
	hash := "v1:system"
	if d.User != operation.System {
		sum := sha256.Sum256([]byte(d.Key))
		hash = "v1:" + hex.EncodeToString(sum[:])
		code, expires = e.code, s.at.Add(30*24*time.Hour)
	}
	orderID, attempt := s.id, 1+e.looks
	if e.nobody {
		orderID = uuid.Nil
	}
	if e.status == operation.Processing {
		next = s.now.Add(40*time.Minute + time.Duration(s.random.IntN(15*60))*time.Second)
	} else {
		ended = s.at
	}
	s.add(operations, id(d.id), id(d.User), string(d.Type), d.Target, d.Key, hash, string(e.status), id(orderID), attempt, moment(e.sent), e.looks, moment(next),
		text(e.resource), text(e.made), code, text(e.body), text(e.failure), text(e.lastError), s.trace, d.started, moment(ended), moment(expires))
	if ended.IsZero() || e.unwritten {
		return
	}
	s.write("operation."+strings.ToLower(string(e.status)), orderID, line{operation: d.id},
		fmt.Sprintf(`{"resource": "%s %s", "code": %q, "attempt": %d}`, e.resource, e.made, e.failure, attempt))
}

// finish ends a system operation that made something.
func (s *story) finish(d deed, resource, made string) {
	s.end(d, ending{status: operation.Completed, resource: resource, made: made})
}

// happen appends an outbox event, which was dispatched at once, and returns its ID.
func (s *story) happen(t outbox.Type, dedupe string) uuid.UUID {
	return s.happened(t, dedupe, s.at.Add(40*time.Millisecond), time.Time{}, 0, "")
}

func (s *story) happened(t outbox.Type, dedupe string, dispatched, parkedAt time.Time, attempts int, lastError string) uuid.UUID {
	event := s.newID()
	if s.goneEvents > 0 {
		s.goneEvents--
		s.removed = append(s.removed, string(t))
		return event
	}
	s.add(outboxEvents, id(event), dedupe+s.id.String(), string(t), id(s.id), s.trace, s.at, attempts, s.at, moment(dispatched), moment(parkedAt), text(lastError))
	return event
}
