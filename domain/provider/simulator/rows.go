package simulator

import (
	"time"

	"onefold/domain/money"
	"onefold/domain/provider"
)

const (
	pending   = "pending"
	succeeded = "succeeded"
	canceled  = "canceled"
	failed    = "failed"
	created   = "created"
	delivered = "delivered"
)

// payment is both the stored row and what the API shows; key is shown in the ledger only.
type payment struct {
	ID              string            `json:"id"`
	Status          string            `json:"status"` // pending until a person or a test decides, then succeeded or canceled for ever
	Amount          money.Amount      `json:"amount"`
	Refunded        *money.Amount     `json:"refunded,omitempty"` // cumulative
	Reference       string            `json:"reference"`
	Description     string            `json:"description,omitempty"`
	ReturnURL       string            `json:"returnUrl"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	ConfirmationURL string            `json:"confirmationUrl,omitempty"` // made on showing: the base may differ after a restart
	Failure         string            `json:"failure,omitempty"`
	CreatedAt       time.Time         `json:"createdAt"`
	Key             string            `json:"key,omitempty"`
}

type refund struct {
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	PaymentID string       `json:"paymentId"`
	Amount    money.Amount `json:"amount"`
	Reference string       `json:"reference,omitempty"` // "" = made in the dashboard
	Failure   string       `json:"failure,omitempty"`
	CreatedAt time.Time    `json:"createdAt"`
	Key       string       `json:"key,omitempty"`
}

type shipment struct {
	ID        string           `json:"id"`
	Status    string           `json:"status"`
	Reference string           `json:"reference"`
	Tracking  string           `json:"tracking"`
	Address   provider.Address `json:"address"`
	Parcels   int              `json:"parcels"`
	CreatedAt time.Time        `json:"createdAt"`
	Key       string           `json:"key,omitempty"`
}

type mail struct {
	ID        string    `json:"id"`
	From      string    `json:"from"` // envelope, as To
	To        []string  `json:"to"`
	Subject   string    `json:"subject"`
	MessageID string    `json:"messageId"` // the header's own spelling, with brackets
	Body      string    `json:"body"`      // the plain text part
	At        time.Time `json:"at"`
}

// callRow is one exchange, in or out: API calls, webhook deliveries (key = event ID) and mails (key = Message-ID).
type callRow struct {
	At        time.Time `json:"at"`
	On        string    `json:"on"`
	Key       string    `json:"key"`
	Reference string    `json:"reference"`
	Outcome   string    `json:"outcome"`          // booked, replayed, found, not_found, rejected, key_reused, busy, invalid, or the fault
	Booked    bool      `json:"booked,omitempty"` // this very call made the effect
	ID        string    `json:"id,omitempty"`
	Status    int       `json:"status,omitempty"` // HTTP status meant for the caller; 0 when none could be
	TraceID   string    `json:"traceId,omitempty"`
}

func (s *Server) showPayment(p payment) payment {
	p.Key = ""
	if p.Status == pending {
		p.ConfirmationURL = s.public + "/pay/" + p.ID
	}
	return p
}

func showRefund(r refund) refund {
	r.Key = ""
	return r
}

func showShipment(row shipment) shipment {
	row.Key = ""
	return row
}
