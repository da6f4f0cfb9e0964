// Package paymenttest has scripted doubles of the outside world and ready-made orders, for the tests of the packages around
// payments. A double is honest unless a script says otherwise: it keeps one payment per key, as a provider with an idempotency
// layer does, and that ledger is the ground truth a test compares with.
package paymenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"onefold/domain/provider"
)

// Name is what the double calls itself: the value of payments.provider.
const Name = "scripted"

// Exchange is one call that a double has seen.
type Exchange struct {
	On  string // "create", "find" or "get"
	Key string // the provider key of a create; else the reference or ID
}

// Book makes the payment of a create call, or finds the one that its key made before. A script that doesn't call it stands for
// a provider that never booked anything.
type Book func() provider.Payment

// Provider is a scripted provider.Payments.
type Provider struct {
	// OnCreate answers create call number n (from 1). Nil books and answers pending.
	OnCreate func(ctx context.Context, n int, in provider.CreatePayment, book Book) (provider.Payment, error)
	// OnFind answers lookup number n (from 1); found and err are the honest answer. Nil gives that.
	OnFind func(ctx context.Context, n int, found provider.Payment, err error) (provider.Payment, error)

	mu        sync.Mutex
	byKey     map[string]provider.Payment
	refunds   map[string]provider.Refund // by key
	exchanges []Exchange
	creates   int
	finds     int
}

var _ provider.Payments = (*Provider)(nil)

// Name implements provider.Payments.
func (p *Provider) Name() string { return Name }

// CreatePayment implements provider.Payments.
func (p *Provider) CreatePayment(ctx context.Context, in provider.CreatePayment) (provider.Payment, error) {
	p.mu.Lock()
	p.exchanges = append(p.exchanges, Exchange{On: "create", Key: in.Key})
	p.creates++
	n, script := p.creates, p.OnCreate
	p.mu.Unlock()
	book := func() provider.Payment { return p.book(in) }
	if script == nil {
		return book(), nil
	}
	return script(ctx, n, in, book)
}

func (p *Provider) book(in provider.CreatePayment) provider.Payment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byKey[in.Key]; ok {
		return known
	}
	if p.byKey == nil {
		p.byKey = map[string]provider.Payment{}
	}
	made := provider.Payment{
		ID: fmt.Sprintf("pay_%s", in.Reference), Reference: in.Reference, Status: provider.Pending, Amount: in.Amount,
		ConfirmationURL: "https://pay.example/" + in.Reference,
	}
	p.byKey[in.Key] = made
	return made
}

// Say changes what the provider knows of the payment with our reference.
func (p *Provider) Say(reference string, status provider.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, known := range p.byKey {
		if known.Reference == reference {
			known.Status = status
			p.byKey[key] = known
		}
	}
}

// FindPayment implements provider.Payments.
func (p *Provider) FindPayment(ctx context.Context, reference string) (provider.Payment, error) {
	p.mu.Lock()
	p.exchanges = append(p.exchanges, Exchange{On: "find", Key: reference})
	p.finds++
	n, script := p.finds, p.OnFind
	var found provider.Payment
	var err error = provider.Errorf(provider.NotFound, "nothing under %s", reference)
	for _, known := range p.byKey {
		if known.Reference == reference {
			found, err = known, nil
		}
	}
	p.mu.Unlock()
	if script == nil {
		return found, err
	}
	return script(ctx, n, found, err)
}

// GetPayment implements provider.Payments.
func (p *Provider) GetPayment(_ context.Context, id string) (provider.Payment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges = append(p.exchanges, Exchange{On: "get", Key: id})
	for _, known := range p.byKey {
		if known.ID == id {
			return known, nil
		}
	}
	return provider.Payment{}, provider.Errorf(provider.NotFound, "no payment %s", id)
}

// CancelPayment implements provider.Payments; no test around payments needs it yet.
func (p *Provider) CancelPayment(context.Context, string, string) (provider.Payment, error) {
	return provider.Payment{}, provider.Errorf(provider.Rejected, "not scripted")
}

// CreateRefund implements provider.Payments: it succeeds at once, one per key.
func (p *Provider) CreateRefund(_ context.Context, in provider.CreateRefund) (provider.Refund, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.refunds[in.Key]; ok {
		return known, nil
	}
	if p.refunds == nil {
		p.refunds = map[string]provider.Refund{}
	}
	p.refunds[in.Key] = provider.Refund{
		ID: "ref_" + in.Reference, PaymentID: in.PaymentID, Reference: in.Reference, Status: provider.Succeeded, Amount: in.Amount,
	}
	return p.refunds[in.Key], nil
}

// FindRefund implements provider.Payments.
func (p *Provider) FindRefund(_ context.Context, reference string) (provider.Refund, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.refunds {
		if known.Reference == reference {
			return known, nil
		}
	}
	return provider.Refund{}, provider.Errorf(provider.NotFound, "nothing under %s", reference)
}

// Refunds counts the refunds in the ledger.
func (p *Provider) Refunds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refunds)
}

// Authenticate implements provider.Payments: everything is authentic here.
func (p *Provider) Authenticate(http.Header, []byte, time.Time) error { return nil }

// Booked is the ledger: the payments that exist at the provider.
func (p *Provider) Booked() []provider.Payment {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]provider.Payment, 0, len(p.byKey))
	for _, known := range p.byKey {
		out = append(out, known)
	}
	return out
}

// Exchanges lists the calls so far, oldest first.
func (p *Provider) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Exchange(nil), p.exchanges...)
}

// Translate implements provider.Payments for payloads made by Webhook.
func (p *Provider) Translate(body []byte) (provider.Event, error) {
	var e provider.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return e, provider.Errorf(provider.Garbage, "not an event: %w", err)
	}
	return e, nil
}

// Webhook is an event about a payment and its bytes.
func Webhook(id string, said provider.Payment) (provider.Event, []byte) {
	e := provider.Event{ID: id, Type: "payment." + string(said.Status), ObjectID: said.ID, Object: provider.Object{Payment: &said}}
	body, err := json.Marshal(e)
	if err != nil {
		panic(err) // an event can always be written
	}
	return e, body
}
