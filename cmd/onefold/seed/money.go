package seed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"onefold/domain/inbox"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

// attempt is a payment in the making.
type attempt struct {
	payment.New
	wish                        deed // of the shopper, for the second attempt
	create, watch               deed
	state                       payment.State
	providerID, url, failure    string
	refunded                    int64
	created, succeeded, orphane time.Time
}

func (s *story) pay(number int, wish deed) *attempt {
	a := &attempt{created: s.at, state: payment.Created, wish: wish}
	a.New = payment.New{ID: s.newID(), OrderID: s.id, Attempt: number, Amount: s.total, Provider: providerName, RequestedBy: wish.id}
	a.create = s.plan(payment.CreatePayment, "%s", a.Key())
	return a
}

func (s *story) announce(a *attempt) {
	s.note("payment.created", line{operation: a.create.id, payment: a.ID}, `{"attempt": %d}`, a.Attempt)
}

func (s *story) move(a *attempt, to payment.State, source string) {
	s.note("payment."+lower(to), line{operation: a.create.id, payment: a.ID},
		`{"from": %q, "to": %q, "source": %q, "provider_payment_id": %q, "failure": %q}`, a.state, to, source, a.providerID, a.failure)
	if a.state = to; to == payment.Succeeded {
		a.succeeded = s.at
	}
}

// submit makes the call; the provider has a pay page for the shopper then.
func (s *story) submit(a *attempt) {
	s.step(200 * time.Millisecond)
	s.move(a, payment.Submitting, "")
	if s.plot == answered {
		s.lose(a)
	}
	s.step(400 * time.Millisecond)
	a.providerID = s.named("pay_")
	a.url = "http://127.0.0.1:8081/pay/" + a.providerID
	s.move(a, payment.Pending, "answer")
	a.watch = s.plan(payment.WatchPayment, "payment:watch:order:%s:%d", s.id, a.Attempt)
	s.finish(a.create, "payment", a.ID.String())
}

// lose the answer: nobody knows whether the provider booked it.
func (s *story) lose(a *attempt) {
	s.step(10 * time.Second)
	s.move(a, payment.Unknown, "")
	if !a.create.gone {
		s.note("operation.postponed", line{operation: a.create.id}, `{"error": "unknown", "sent": true, "attempt": 1, "next_in_seconds": 0.5}`)
	}
}

// store writes the attempt as it stands now.
func (s *story) store(a *attempt) {
	s.add(payments, id(a.ID), id(s.id), a.Attempt, id(a.create.id), id(a.RequestedBy), string(a.state), a.Amount.Minor, a.refunded, a.Amount.Currency,
		providerName, a.Key(), text(a.providerID), text(a.url), text(a.failure), a.created, s.at, moment(a.succeeded), moment(a.orphane))
}

// news is an inbox row in the making.
type news struct {
	id         uuid.UUID
	event      string // the provider's ID of it
	kind       string
	object     string // the provider's ID of what it is about
	payload    string
	deliveries int
	gone       bool
	received   time.Time
	about      *attempt
}

// hear receives a webhook.
func (s *story) hear(kind, object string, about *attempt, amount, status string) news {
	n := news{id: s.newID(), event: s.named("evt_"), kind: kind, object: object, deliveries: 1, received: s.at, about: about}
	reference := uuid.Nil
	if about != nil {
		reference = about.ID
	}
	n.payload = fmt.Sprintf(`{"id":%q,"type":%q,"createdAt":%q,"object":{"id":%q,"status":%q,"amount":%s,"reference":%q}}`,
		n.event, kind, s.at.Format(time.RFC3339Nano), object, status, amount, reference)
	if s.goneEvents > 0 {
		s.goneEvents--
		n.gone = true
		return n
	}
	s.note("inbox.received", line{event: n.id}, `{"delivery": 1, "event_id": %q, "type": %q}`, n.event, n.kind)
	return n
}

// judge closes an inbox row.
func (s *story) judge(n news, v inbox.Status, reason string, contradicts uuid.UUID) {
	if n.gone {
		return
	}
	var orderID, paymentID uuid.UUID
	if n.about != nil {
		orderID, paymentID = s.id, n.about.ID
	}
	tries := 1
	if reason == "unknown_object" {
		tries = 9
	}
	sum := sha256.Sum256([]byte(n.payload))
	s.add(incomingEvents, id(n.id), providerName, n.event, n.kind, n.object, []byte(n.payload), hex.EncodeToString(sum[:]), id(contradicts), string(v),
		text(reason), n.deliveries, tries, id(paymentID), id(orderID), s.trace, n.received, s.at)
	s.write("inbox."+lower(v), orderID, line{event: n.id, payment: paymentID}, fmt.Sprintf(`{"event_id": %q, "type": %q, "reason": %q}`, n.event, n.kind, reason))
}

func (s *story) json(minor int64) string {
	amount := s.total
	amount.Minor = minor
	raw, _ := amount.MarshalJSON() //nolint:errchkjson // an amount can always be encoded
	return string(raw)
}

// echoes are the webhooks that changed nothing.
func (s *story) echoes(first *news, a *attempt) {
	for range s.repeats {
		s.step(20 * time.Second)
		if first.deliveries++; !first.gone {
			s.note("inbox.repeated", line{event: first.id}, `{"delivery": %d, "event_id": %q, "type": %q}`, first.deliveries, first.event, first.kind)
		}
	}
	if s.second {
		s.step(time.Second)
		s.judge(s.hear("payment.succeeded", a.providerID, a, s.json(a.Amount.Minor), "succeeded"), inbox.NoChange, "", uuid.Nil)
	}
	if s.outOfTime {
		s.step(time.Second)
		s.judge(s.hear("payment.pending", a.providerID, a, s.json(a.Amount.Minor), "pending"), inbox.Stale, "payment_is_SUCCEEDED", uuid.Nil)
	}
}

// giveBack refunds minor of a payment, as staff asked for it, up to an outcome.
func (s *story) giveBack(a *attempt, minor int64, outcome refund.State) {
	s.step(3 * time.Hour)
	s.retell()
	r := s.newID()
	key := fmt.Sprintf("refund:create:order:%s:%s", s.id, r)
	wish := s.begin(s.staff, refund.RefundOrder, "order:"+s.id.String(), s.hexes())
	send := s.plan(refund.CreateRefund, "%s", key)
	s.end(wish, ending{
		status: operation.Completed, resource: "refund", made: r.String(), code: 202,
		body: fmt.Sprintf(`{"refundId":%q,"amount":%s,"status":"CREATED"}`, r, s.json(minor)),
	})
	created, providerID, from := s.at, "", refund.State("")
	for _, to := range []refund.State{refund.Created, refund.Submitting, outcome} {
		if to == refund.Succeeded {
			providerID = s.named("re_")
		}
		s.note("refund."+lower(to), line{operation: send.id, payment: a.ID},
			`{"from": %q, "to": %q, "refund": %q, "amount": "%s", "provider_refund_id": %q}`, from, to, r, s.amount(minor), providerID)
		from = to
		s.step(300 * time.Millisecond)
	}
	if outcome == refund.Unknown {
		s.end(send, ending{status: operation.Processing, looks: 4, sent: s.now.Add(-8 * time.Minute), lastError: "POST /v1/refunds: context deadline exceeded"})
	} else {
		s.finish(send, "refund", r.String())
		s.judge(s.hear("refund.succeeded", providerID, a, s.json(minor), "succeeded"), inbox.NoChange, "", uuid.Nil)
	}
	s.add(refunds, id(r), id(s.id), id(a.ID), id(send.id), id(wish.id), string(outcome), minor, a.Amount.Currency, "Asked for by the customer.", providerName, key,
		text(providerID), created, s.at)
	if outcome != refund.Succeeded {
		return
	}
	a.refunded = minor
	to := payment.PartiallyRefunded
	if minor == a.Amount.Minor {
		to = payment.Refunded
	}
	s.move(a, to, "refund")
}
