package seed

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/provider"
)

// fulfil gives a paid order what was bought.
func (s *story) fulfil() {
	s.step(200 * time.Millisecond)
	issue := s.plan(fulfilment.IssueLicenses, "license:issue:order:%s", s.id)
	accrue := s.plan(fulfilment.AccrueBonus, "bonus:accrue:order:%s", s.id)
	notify := s.plan(fulfilment.SendNotification, "mail:order-paid:order:%s", s.id)
	if s.item.product.kind == "physical" {
		s.ship(s.plan(fulfilment.ShipParcel, "delivery:create:order:%s:1", s.id))
	}
	s.issue(issue)
	s.step(100 * time.Millisecond)
	s.add(bonusEntries, id(s.id), "ACCRUAL", id(s.user), s.total.Whole(), s.at)
	s.note("bonus.accrued", line{operation: accrue.id}, `{"points": %d}`, s.total.Whole())
	s.finish(accrue, "order", s.id.String())
	s.step(300 * time.Millisecond)
	s.notify(notify)
	if s.plot == undelivered || s.plot == labelRefused {
		return
	}
	s.done, s.state = s.at, order.Fulfilled
	s.note("order.fulfilled", line{}, `{"to": "FULFILLED"}`)
}

func (s *story) issue(d deed) {
	units := 0
	if s.item.product.kind == "license" {
		units = s.item.quantity
	}
	for unit := range units {
		s.add(licenses, id(s.item.id), unit+1, id(s.id), s.licence(), s.at, moment(time.Time{}))
	}
	s.note("license.issued", line{operation: d.id}, `{"units": %d}`, units)
	s.finish(d, "order", s.id.String())
}

// licence is a key as fulfilment makes them, of the story's own randomness.
func (s *story) licence() string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	key := make([]byte, 0, 29)
	for n := range 25 {
		if n > 0 && n%5 == 0 {
			key = append(key, '-')
		}
		key = append(key, alphabet[s.random.IntN(len(alphabet))])
	}
	return string(key)
}

func (s *story) ship(d deed) {
	s.step(500 * time.Millisecond)
	parcel, state, failure, providerID, tracking := s.newID(), fulfilment.ShipmentSucceeded, "", s.named("shp_"), "TP"+s.hexes()[:10]
	if s.plot == labelRefused {
		state, failure, providerID, tracking = fulfilment.ShipmentFailed, "address_rejected", "", ""
	}
	var delivered time.Time
	from := fulfilment.ShipmentState("")
	for _, to := range []fulfilment.ShipmentState{fulfilment.ShipmentCreated, fulfilment.ShipmentSubmitting, state} {
		s.note("shipment."+lower(to), line{operation: d.id}, `{"from": %q, "to": %q, "shipment": %q, "parcel": 1, "tracking": %q, "failure": %q}`,
			from, to, parcel, tracking, failure)
		from = to
	}
	if state == fulfilment.ShipmentFailed {
		s.end(d, ending{status: operation.Failed, failure: "SHIPMENT_FAILED", resource: "shipment", made: parcel.String()})
	} else {
		s.finish(d, "shipment", parcel.String())
		if arrived := s.at.Add(70 * time.Hour); arrived.Before(s.now) {
			delivered = arrived
			s.note("shipment.delivered", line{operation: d.id}, `{"shipment": %q, "parcel": 1}`, parcel)
		}
	}
	s.add(shipments, id(parcel), id(s.id), 1, id(d.id), string(state), s.address(), d.Key, text(providerID), text(tracking), text(failure), s.at, s.at, moment(delivered))
}

func (s *story) address() provider.Address {
	return provider.Address{Name: s.name, Line1: fmt.Sprintf("Harbour Street %d", 1+s.item.quantity), City: "Riga", Postcode: "LV-1010", Country: "LV"}
}

func (s *story) notify(d deed) {
	if s.email == "" {
		s.finish(d, "order", s.id.String())
		return
	}
	message, sent, sends := fmt.Sprintf("mail.order-paid.order.%s@onefold", s.id), s.at, 1
	var given time.Time // up
	switch s.plot {     //nolint:exhaustive // the rest is sent
	case undelivered:
		sent, sends = time.Time{}, 0
		s.end(d, ending{status: operation.Processing, looks: 12, lastError: "dial tcp 127.0.0.1:8025: connect: connection refused"})
	case mailRefused:
		sent, given = time.Time{}, s.at
		s.note("mail.refused", line{operation: d.id}, `{"error": "550 no such mailbox"}`)
		s.end(d, ending{status: operation.Failed, failure: "MAIL_REFUSED", resource: "order", made: s.id.String()})
	default:
		s.note("mail.sent", line{operation: d.id}, `{"message_id": %q}`, message)
		s.finish(d, "order", s.id.String())
	}
	s.add(notifications, d.Key, id(s.id), "order-paid", s.email, message, sends, moment(sent), s.at, moment(given))
}

// writeOrder writes the order as it stands now.
func (s *story) writeOrder() {
	var delivery, removed any
	if s.item.product.kind == "physical" {
		delivery = order.Delivery{Method: order.Standard, Address: s.address()}
	}
	if s.removed != nil {
		removed = s.removed
	}
	p := s.item.product
	s.add(orders, id(s.id), id(s.user), id(s.cart), id(s.place.id), string(s.state), s.review != "", text(s.review), text(s.email), s.name, s.locale, delivery,
		s.total.Currency, s.total.Minor, s.total.Minor, s.created, moment(s.paid), moment(s.done), moment(s.closed), id(s.closedBy), moment(s.planned), removed)
	s.add(orderItems, id(s.item.id), id(s.id), p.id, p.kind, p.name, s.item.quantity, s.total.Minor/int64(s.item.quantity))
	if s.cart != uuid.Nil {
		s.add(carts, id(s.cart), id(s.user), "ORDERED", s.key, s.created.Add(-5*time.Minute), s.created)
		s.add(cartItems, id(s.cart), p.id, s.item.quantity)
	}
}
