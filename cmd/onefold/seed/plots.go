package seed

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/inbox"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/outbox"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

func lower[T ~string](state T) string { return strings.ToLower(string(state)) }

func (s *story) amount(minor int64) string {
	return money.Amount{Minor: minor, Currency: s.total.Currency}.String()
}

// retell begins a new trace: another request or webhook.
func (s *story) retell() { s.trace = s.hexes() }

// tell the story from the first request on.
func (s *story) tell() {
	a := s.open()
	switch s.plot { //nolint:exhaustive // the rest begins with a pay page
	case unknown:
		s.vanish(a)
	case declined:
		s.decline(a)
	default:
		s.submit(a)
		s.onPayPage(a)
	}
	s.store(a)
	s.writeOrder()
}

// open places the order with its first attempt.
func (s *story) open() *attempt {
	if s.plot == refused {
		d := s.begin(s.user, checkout.CreateOrder, "", s.hexes())
		s.end(d, ending{status: operation.Failed, failure: "OUT_OF_STOCK", code: 409, body: "Not enough of " + s.item.product.name + " is left.", nobody: true})
		s.step(time.Minute)
	}
	s.created, s.state = s.at, order.AwaitingPayment
	s.place = s.begin(s.user, checkout.CreateOrder, "", s.key)
	s.id, s.item.id = s.newID(), s.newID()
	placed := s.happen(outbox.OrderPlaced, "order.placed:")
	a := s.pay(1, deed{})
	s.end(s.place, ending{
		status: operation.Completed, resource: "order", made: s.id.String(), code: 201, body: s.answer(a), unwritten: true,
	})
	s.note("order.awaiting_payment", line{s.place.id, a.ID, uuid.Nil, placed}, `{"to": "AWAITING_PAYMENT", "total": "%s"}`, s.total.String())
	s.announce(a)
	s.absorb()
	return a
}

// answer is what the first request was told; replays get the same.
func (s *story) answer(a *attempt) string {
	if s.place.gone {
		return ""
	}
	raw, _ := json.Marshal(checkout.Order{ //nolint:errchkjson // it can always be encoded
		ID: s.id, Status: order.AwaitingPayment, Subtotal: s.total, Discount: money.Amount{Currency: s.total.Currency}, Total: s.total, OperationID: s.place.id,
		Items: []checkout.OrderedItem{{
			ProductID: s.item.product.id, Kind: catalog.Kind(s.item.product.kind), Name: s.item.product.name, Quantity: s.item.quantity,
			Price: money.Amount{Minor: s.total.Minor / int64(s.item.quantity), Currency: s.total.Currency},
		}},
		Payments: []checkout.Payment{{
			ID: a.ID, OrderID: s.id, Attempt: 1, Status: payment.Created, Amount: s.total, CreatedAt: s.created, UpdatedAt: s.created,
		}},
		Refunds: []checkout.Refund{}, Fulfilment: []checkout.Effect{}, Shipments: []checkout.Shipment{}, CreatedAt: s.created,
	})
	return string(raw)
}

// absorb what came again for the same key.
func (s *story) absorb() {
	if s.place.gone {
		return
	}
	if s.waiting {
		s.note("operation.in_progress", line{operation: s.place.id}, `{"guard": "operations_identity"}`)
	}
	for range s.replays {
		s.step(4 * time.Second)
		s.note("operation.replayed", line{operation: s.place.id}, `{"guard": "operations_identity"}`)
	}
	if s.reused {
		s.note("operation.key_reused", line{operation: s.place.id}, `{"guard": "operations_identity"}`)
	}
}

// vanish: the call may have got through, nobody knows.
func (s *story) vanish(a *attempt) {
	s.step(time.Second)
	s.move(a, payment.Submitting, "")
	s.lose(a)
	s.end(a.create, ending{
		status: operation.Processing, looks: 12, sent: s.now.Add(-12 * time.Minute), lastError: "GET /v1/payments: 503 Service Unavailable",
	})
}

func (s *story) decline(a *attempt) {
	s.step(time.Second)
	s.move(a, payment.Submitting, "")
	a.failure = "card_declined"
	s.move(a, payment.Failed, "answer")
	s.end(a.create, ending{status: operation.Failed, failure: "PAYMENT_REJECTED", resource: "payment", made: a.ID.String()})
}

// onPayPage goes on when the shopper can pay.
func (s *story) onPayPage(a *attempt) {
	s.step(5 * time.Minute)
	switch s.plot { //nolint:exhaustive // the rest is paid
	case pending:
		s.end(a.watch, ending{status: operation.Processing, looks: 7})
	case mismatch:
		s.retell()
		s.judge(s.hear("payment.succeeded", a.providerID, a, s.json(a.Amount.Minor+100), "succeeded"), inbox.Quarantined, "amount_mismatch", uuid.Nil)
		s.flag(a, "amount_mismatch")
		s.end(a.watch, ending{status: operation.Processing, looks: 7})
	case expired, canceled, late:
		s.close(a)
	case retried:
		s.payAgain(a)
	default:
		s.succeed(a)
	}
}

func (s *story) flag(a *attempt, reason string) {
	s.review = reason
	s.note("order.flagged", line{payment: a.ID}, `{"reason": %q}`, reason)
}

// close cancels the payment at the provider, then the order.
func (s *story) close(a *attempt) {
	var d deed
	to, code := order.Canceled, 200
	if s.plot == expired {
		to = order.Expired
		s.at = s.created.Add(24*time.Hour + time.Second)
		s.planned = s.at
		d = s.plan(checkout.ExpireOrder, "order:expire:order:%s", s.id)
	} else {
		d = s.begin(s.user, checkout.CancelOrder, "order:"+s.id.String(), s.hexes())
	}
	s.retell()
	s.step(300 * time.Millisecond)
	s.move(a, payment.Canceled, "cancel")
	s.note("order."+lower(to), line{operation: d.id}, `{"from": %q, "to": %q}`, s.state, to)
	s.state, s.closed, s.closedBy = to, s.at, d.id
	s.end(d, ending{
		status: operation.Completed, resource: "order", made: s.id.String(), code: code, body: fmt.Sprintf(`{"orderId":%q,"status":%q}`, s.id, to),
	})
	s.finish(a.watch, "payment", a.ID.String())
	s.step(time.Second)
	s.judge(s.hear("payment.canceled", a.providerID, a, s.json(a.Amount.Minor), "canceled"), inbox.NoChange, "", uuid.Nil)
	if s.plot == late {
		s.comeLate(a)
	}
}

// comeLate: money for an order that is closed goes back by itself, and a person looks.
func (s *story) comeLate(a *attempt) {
	s.step(time.Minute)
	s.retell()
	n := s.hear("payment.succeeded", a.providerID, a, s.json(a.Amount.Minor), "succeeded")
	a.orphane, a.refunded = s.at, a.Amount.Minor
	back := s.plan(payment.RefundOrphan, "refund:orphan:payment:%s", a.ID)
	s.flag(a, "success_after_canceled")
	s.judge(n, inbox.Applied, "", uuid.Nil)
	r, providerID, from := s.newID(), s.named("re_"), refund.State("")
	for _, to := range []refund.State{refund.Created, refund.Submitting, refund.Succeeded} {
		s.note("refund."+lower(to), line{operation: back.id, payment: a.ID}, `{"from": %q, "to": %q, "refund": %q, "amount": "%s"}`, from, to, r, a.Amount.String())
		from = to
	}
	s.finish(back, "refund", r.String())
	s.add(refunds, id(r), id(s.id), id(a.ID), id(back.id), id(uuid.Nil), string(refund.Succeeded), a.Amount.Minor, a.Amount.Currency,
		"The order could not take this payment.", providerName, back.Key, text(providerID), s.at, s.at)
	s.judge(s.hear("refund.succeeded", providerID, a, s.json(a.Amount.Minor), "succeeded"), inbox.NoChange, "", uuid.Nil)
}

// payAgain after the first attempt was declined on the pay page.
func (s *story) payAgain(first *attempt) {
	s.retell()
	n := s.hear("payment.canceled", first.providerID, first, s.json(first.Amount.Minor), "canceled")
	first.failure = "card_declined"
	s.move(first, payment.Canceled, "event")
	s.judge(n, inbox.Applied, "", uuid.Nil)
	s.finish(first.watch, "payment", first.ID.String())
	s.step(2 * time.Minute)
	s.retell()
	wish := s.begin(s.user, checkout.RetryPayment, "order:"+s.id.String(), s.hexes())
	a := s.pay(2, wish)
	s.end(wish, ending{
		status: operation.Completed, resource: "payment", made: a.ID.String(), code: 202,
		body: fmt.Sprintf(`{"paymentId":%q,"orderId":%q,"attempt":2,"status":"CREATED","amount":%s}`, a.ID, s.id, s.json(a.Amount.Minor)),
	})
	s.announce(a)
	s.submit(a)
	s.step(3 * time.Minute)
	s.succeed(a)
	s.store(a)
}

// succeed: the money is there.
func (s *story) succeed(a *attempt) {
	s.retell()
	n := s.hear("payment.succeeded", a.providerID, a, s.json(a.Amount.Minor), "succeeded")
	s.step(100 * time.Millisecond)
	s.move(a, payment.Succeeded, "event")
	s.paid, s.state = s.at, order.Paid
	var event uuid.UUID
	if s.plot == parked {
		event = s.happened(outbox.OrderPaid, "order.paid:", time.Time{}, s.at.Add(2*time.Minute), 8, "plan effects: relation is being rebuilt")
	} else {
		event = s.happen(outbox.OrderPaid, "order.paid:")
	}
	s.note("order.paid", line{payment: a.ID, outbox: event}, `{"from": "AWAITING_PAYMENT", "to": "PAID"}`)
	s.finish(a.watch, "payment", a.ID.String())
	s.echoes(&n, a)
	s.judge(n, inbox.Applied, "", uuid.Nil)
	if s.plot == parked {
		s.note("outbox.parked", line{outbox: event}, `{"type": "ORDER_PAID", "error": "plan effects: relation is being rebuilt"}`)
		return
	}
	s.fulfil()
	s.afterwards(a, n)
}

// afterwards is what came when all seemed done.
func (s *story) afterwards(a *attempt, n news) {
	switch s.plot { //nolint:exhaustive // nothing else came
	case returned:
		s.giveBack(a, a.Amount.Minor/2, refund.Succeeded)
		s.note("order.partially_refunded", line{payment: a.ID}, `{"from": %q, "to": "PARTIALLY_REFUNDED"}`, s.state)
		s.state = order.PartiallyRefunded
	case refunded:
		s.giveBack(a, a.Amount.Minor, refund.Succeeded)
		s.note("order.refunded", line{payment: a.ID}, `{"from": %q, "to": "REFUNDED"}`, s.state)
		s.state = order.Refunded
		s.happen(outbox.OrderRefunded, "order.refunded:")
		s.reverse()
	case refunding:
		s.giveBack(a, a.Amount.Minor, refund.Unknown)
	case stranger:
		s.retell()
		s.judge(s.hear("payment.succeeded", s.named("pay_"), nil, s.json(a.Amount.Minor), "succeeded"), inbox.Quarantined, "unknown_object", uuid.Nil)
	case contradiction:
		s.contradict(n)
	}
}

// contradict: another payload came under an event ID that is known.
func (s *story) contradict(first news) {
	s.step(time.Minute)
	s.retell()
	second := first
	second.id, second.received, second.deliveries, second.about = s.newID(), s.at, 1, nil
	second.payload = strings.Replace(first.payload, `"status":"succeeded"`, `"status":"canceled"`, 1)
	s.judge(second, inbox.Quarantined, "other_payload_under_known_id", first.id)
}

// reverse takes back what a refunded order was given.
func (s *story) reverse() {
	d := s.plan(fulfilment.ReverseEffects, "effects:reverse:order:%s", s.id)
	s.step(time.Second)
	all := s.rows[licenses]
	for _, row := range all[len(all)-s.item.quantity:] {
		row[len(row)-1] = moment(s.at) // revoked_at
	}
	s.note("license.revoked", line{operation: d.id}, `{"units": %d}`, s.item.quantity)
	s.add(bonusEntries, id(s.id), "REVERSAL", id(s.user), -s.total.Whole(), s.at)
	s.note("bonus.reversed", line{operation: d.id}, `{"points": %d}`, -s.total.Whole())
	s.finish(d, "order", s.id.String())
}
