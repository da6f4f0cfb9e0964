package main

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"onefold/components/path"
	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/provider"
	"onefold/domain/refund"
)

// handlers says how each type of operation is carried on. A new type is a line here and one in jobs/operations.go.
func handlers(p provider.Payments, carrier provider.Delivery, mailer provider.Mailer, public string, keep time.Duration) map[operation.Type]operation.Handler {
	orderURL := func(id uuid.UUID) string { return public + path.Order(id.String()) }
	returnURL := func(id uuid.UUID) string { return public + path.WithQuery(path.PayReturn(), "order", id.String()) }
	mail := fulfilment.Mail{Mailer: mailer, Domain: mailDomain(public), OrderURL: orderURL}.Handler()
	return map[operation.Type]operation.Handler{
		payment.CreatePayment:       payment.Creator{Provider: p, ReturnURL: returnURL}.Handler(),
		payment.WatchPayment:        payment.Watcher{Provider: p}.Handler(),
		checkout.CancelOrder:        checkout.Closer{Provider: p, To: order.Canceled, Keep: keep}.Handler(),
		checkout.ExpireOrder:        checkout.Closer{Provider: p, To: order.Expired}.Handler(),
		refund.CreateRefund:         refund.Sender{Provider: p}.Handler(),
		payment.RefundOrphan:        refund.Sender{Provider: p}.OrphanHandler(),
		fulfilment.ReverseEffects:   fulfilment.Reversal(),
		fulfilment.IssueLicenses:    fulfilment.License(),
		fulfilment.AccrueBonus:      fulfilment.Bonus(),
		fulfilment.ShipParcel:       fulfilment.Carrier{Delivery: carrier}.Handler(),
		fulfilment.SendNotification: mail, fulfilment.ResendNotification: mail,
		payment.SettlePayment: payment.Settler{Provider: p}.Handler(),
	}
}

// mailDomain is the right side of Message-IDs: the shop's own host.
func mailDomain(public string) string {
	if u, err := url.Parse(public); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "onefold"
}
