package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"onefold/domain/money"
)

// SignatureHeader is the name of the header that carries a webhook's signature.
const SignatureHeader = "Onefold-Signature"

type event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CreatedAt time.Time       `json:"createdAt"`
	Object    json.RawMessage `json:"object"`
}

// delivery is one webhook on its way. Its body is frozen; only the signature is made anew for each attempt.
type delivery struct {
	Number     uint64    `json:"number"` // its place in the queue bucket
	EventID    string    `json:"eventId"`
	Type       string    `json:"type"`
	Subject    string    `json:"subject"` // what reordering is about: the payment, also for its refunds
	References []string  `json:"references"`
	Body       []byte    `json:"body"`
	CreatedAt  time.Time `json:"createdAt"`
	Attempts   int       `json:"attempts"`
	NextAt     time.Time `json:"nextAt"`
	Held       bool      `json:"held,omitempty"`      // until released
	Reordered  bool      `json:"reordered,omitempty"` // until another of the subject was sent
	Forged     bool      `json:"forged,omitempty"`
	Once       bool      `json:"once,omitempty"`  // never repeated
	Spoil      string    `json:"spoil,omitempty"` // errorBefore or errorAfter, for the next attempt
}

// sign makes the header value: t=<unix>,v1=<hex HMAC-SHA256(secret, t.body)>.
func sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// emit queues an event in the transaction that makes it true. No webhook URL, no event.
func (q *courier) emit(tx *bolt.Tx, kind, subject string, references []string, object any) ([]delivery, error) {
	if q.url == "" {
		return nil, nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write event object: %w", err)
	}
	now := q.s.now().UTC()
	e := event{ID: newID("evt_"), Type: kind, CreatedAt: now, Object: data}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	d := delivery{
		EventID: e.ID, Type: kind, Subject: subject, References: references, Body: body, CreatedAt: now, NextAt: now,
	}
	if err := enqueue(tx, &d); err != nil {
		return nil, err
	}
	return []delivery{d}, nil
}

// enqueue stores a delivery under a new number.
func enqueue(tx *bolt.Tx, d *delivery) error {
	number, err := tx.Bucket([]byte(bQueue)).NextSequence()
	if err != nil {
		return fmt.Errorf("number delivery: %w", err)
	}
	d.Number = number
	return put(tx, bQueue, numbered(number), *d)
}

// plan says what becomes of a delivery under a fault: the changed delivery, one more (nil = none), or lost.
func plan(d delivery, f fault, now time.Time) (changed delivery, extra *delivery, lost bool, err error) {
	changed = d
	switch f.Do {
	case lose:
		return d, nil, true, nil
	case hold:
		changed.Held = true
	case delay:
		changed.NextAt = now.Add(f.delay())
	case reorder:
		changed.Reordered = true
		changed.NextAt = now.Add(reorderPatience)
	case forge:
		changed.Forged, changed.Once = true, true
	case garbage:
		changed.Body, changed.Once = []byte(`{"id":"evt_`), true
	case errorBefore:
		changed.Spoil = errorBefore
	case errorAfter, dropAfter:
		changed.Spoil = errorAfter
	case duplicate:
		twin := d
		extra = &twin
	case secondEvent:
		twin := d
		twin.EventID = newID("evt_")
		twin.Body, err = reword(d.Body, func(e *event, _ map[string]any) { e.ID = twin.EventID })
		extra = &twin
	case wrongAmount, wrongCurrency, unknownObject:
		changed.Body, err = reword(d.Body, func(_ *event, object map[string]any) { falsify(f.Do, object) })
	}
	return changed, extra, false, err
}

// reword changes an event's body.
func reword(body []byte, change func(*event, map[string]any)) ([]byte, error) {
	var e event
	var object map[string]any
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if err := json.Unmarshal(e.Object, &object); err != nil {
		return nil, fmt.Errorf("read event object: %w", err)
	}
	change(&e, object)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write event object: %w", err)
	}
	e.Object = data
	out, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	return out, nil
}

func falsify(do string, object map[string]any) {
	if do == unknownObject {
		object["id"] = newID("pay_")
		object["reference"] = uuid.NewString()
		return
	}
	shown, _ := object["amount"].(map[string]any)
	number, _ := shown["amount"].(string)
	code, _ := shown["currency"].(string)
	amount, err := money.Parse(number, code)
	if err != nil {
		return // a shipment has no amount
	}
	if do == wrongAmount {
		amount.Minor++
	} else if amount.Currency = "USD"; code == "USD" {
		amount.Currency = "EUR"
	}
	object["amount"] = amount
}
