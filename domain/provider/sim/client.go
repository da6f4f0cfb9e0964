// Package sim is the adapter for the provider simulator (domain/provider/simulator), which it knows by its HTTP interface only.
package sim

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"onefold/domain/provider"
)

const (
	defaultTimeout = 10 * time.Second
	dialTimeout    = 3 * time.Second
	idleTimeout    = 20 * time.Second // below the simulator's own, so that a connection is rarely found closed
	idleConns      = 64
)

// Config says where the simulator is.
type Config struct {
	BaseURL string        // e.g. http://127.0.0.1:8081
	Secrets []string      // of webhook signatures; several while one is being replaced
	Timeout time.Duration // of one call with its answer; 0 means 10 s
}

// Client speaks to the simulator. It is safe for concurrent use.
type Client struct {
	base    string
	secrets []string
	timeout time.Duration
	http    *http.Client
}

var (
	_ provider.Payments = (*Client)(nil)
	_ provider.Delivery = (*Client)(nil)
)

// New makes a client; it connects on the first call.
func New(cfg Config) *Client {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	return &Client{
		base: strings.TrimRight(cfg.BaseURL, "/"), secrets: cfg.Secrets, timeout: cfg.Timeout,
		http: &http.Client{
			Transport: &http.Transport{
				Proxy:               nil, // the address comes from configuration and is meant literally
				DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
				MaxIdleConnsPerHost: idleConns,
				IdleConnTimeout:     idleTimeout,
				DisableCompression:  true, // the size limit counts real bytes
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Name is "sim".
func (c *Client) Name() string { return "sim" }

// CreatePayment asks for a payment.
func (c *Client) CreatePayment(ctx context.Context, in provider.CreatePayment) (provider.Payment, error) {
	var out payment
	err := c.exchange(ctx, http.MethodPost, "/v1/payments", in.Key, paymentInput{
		Amount: in.Amount, Reference: in.Reference, ReturnURL: in.ReturnURL, Description: in.Description, Metadata: in.Metadata,
	}, &out)
	if err == nil && out.Reference != in.Reference {
		err = unreadable("the answer is about another reference")
	}
	return translated(out.translate, err)
}

// GetPayment reads a payment by the simulator's ID.
func (c *Client) GetPayment(ctx context.Context, id string) (provider.Payment, error) {
	var out payment
	err := c.exchange(ctx, http.MethodGet, "/v1/payments/"+url.PathEscape(id), "", nil, &out)
	if err == nil && out.ID != id {
		err = unreadable("the answer is about another payment")
	}
	return translated(out.translate, err)
}

// FindPayment looks a payment up by our reference.
func (c *Client) FindPayment(ctx context.Context, reference string) (provider.Payment, error) {
	out, err := find[payment](ctx, c, "/v1/payments", reference)
	if err == nil && out.Reference != reference {
		err = unreadable("the answer is about another reference")
	}
	return translated(out.translate, err)
}

// CancelPayment asks to cancel; the answer may be a payment that succeeded before.
func (c *Client) CancelPayment(ctx context.Context, key, id string) (provider.Payment, error) {
	var out payment
	err := c.exchange(ctx, http.MethodPost, "/v1/payments/"+url.PathEscape(id)+"/cancel", key, nil, &out)
	if err == nil && out.ID != id {
		err = unreadable("the answer is about another payment")
	}
	return translated(out.translate, err)
}

// CreateRefund asks for a refund.
func (c *Client) CreateRefund(ctx context.Context, in provider.CreateRefund) (provider.Refund, error) {
	var out refund
	err := c.exchange(ctx, http.MethodPost, "/v1/refunds", in.Key,
		refundInput{PaymentID: in.PaymentID, Amount: in.Amount, Reference: in.Reference}, &out)
	if err == nil && (out.Reference != in.Reference || out.PaymentID != in.PaymentID) {
		err = unreadable("the answer is about another refund")
	}
	return translated(out.translate, err)
}

// FindRefund looks a refund up by our reference.
func (c *Client) FindRefund(ctx context.Context, reference string) (provider.Refund, error) {
	out, err := find[refund](ctx, c, "/v1/refunds", reference)
	if err == nil && out.Reference != reference {
		err = unreadable("the answer is about another reference")
	}
	return translated(out.translate, err)
}

// CreateShipment asks for a label.
func (c *Client) CreateShipment(ctx context.Context, in provider.CreateShipment) (provider.Shipment, error) {
	var out shipment
	err := c.exchange(ctx, http.MethodPost, "/v1/shipments", in.Key,
		shipmentInput{Reference: in.Reference, Address: in.Address, Parcels: in.Parcels}, &out)
	if err == nil && out.Reference != in.Reference {
		err = unreadable("the answer is about another reference")
	}
	return translated(out.translate, err)
}

// FindShipment looks a label up by our reference.
func (c *Client) FindShipment(ctx context.Context, reference string) (provider.Shipment, error) {
	out, err := find[shipment](ctx, c, "/v1/shipments", reference)
	if err == nil && out.Reference != reference {
		err = unreadable("the answer is about another reference")
	}
	return translated(out.translate, err)
}

// find runs a query by reference. Two objects under one reference are for people to look at: the outcome stays unknown.
func find[T any](ctx context.Context, c *Client, path, reference string) (one T, err error) {
	var out struct {
		Items *[]T `json:"items"`
	}
	if err := c.exchange(ctx, http.MethodGet, path+"?reference="+url.QueryEscape(reference), "", nil, &out); err != nil {
		return one, err
	}
	switch {
	case out.Items == nil:
		return one, unreadable("the answer is no list")
	case len(*out.Items) == 0:
		return one, provider.Errorf(provider.NotFound, "nothing under reference %s", reference)
	case len(*out.Items) > 1:
		return one, provider.Errorf(provider.Unknown, "%d objects under reference %s", len(*out.Items), reference)
	}
	return (*out.Items)[0], nil
}

// translated turns an answer into the port's form; what can't be understood leaves the outcome unknown.
func translated[T any](translate func() (T, error), err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	out, err := translate()
	if err != nil {
		return none, &provider.Error{Kind: provider.Unknown, Err: err}
	}
	return out, nil
}

func unreadable(why string) error {
	return provider.Errorf(provider.Unknown, "unusable answer: %s", why)
}
