package sim

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"onefold/domain/money"
	"onefold/domain/provider"
)

const idLimit = 255

type paymentInput struct {
	Amount      money.Amount      `json:"amount"`
	Reference   string            `json:"reference"`
	ReturnURL   string            `json:"returnUrl"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type refundInput struct {
	PaymentID string       `json:"paymentId"`
	Amount    money.Amount `json:"amount"`
	Reference string       `json:"reference"`
}

type shipmentInput struct {
	Reference string           `json:"reference"`
	Address   provider.Address `json:"address"`
	Parcels   int              `json:"parcels"`
}

type payment struct {
	ID              string       `json:"id"`
	Status          string       `json:"status"`
	Amount          money.Amount `json:"amount"`
	Reference       string       `json:"reference"`
	ConfirmationURL string       `json:"confirmationUrl"`
	Failure         string       `json:"failure"`
	CreatedAt       time.Time    `json:"createdAt"`
}

func (p payment) translate() (provider.Payment, error) {
	status, err := statusOf(p.Status, provider.Pending, provider.Succeeded, provider.Canceled)
	if err != nil {
		return provider.Payment{}, err
	}
	if err := checkIDs("payment", p.ID, p.Reference); err != nil {
		return provider.Payment{}, err
	}
	if p.Amount.Currency == "" {
		return provider.Payment{}, fmt.Errorf("payment %s has no amount", p.ID)
	}
	if link := p.ConfirmationURL; link != "" && !strings.HasPrefix(link, "http://") && !strings.HasPrefix(link, "https://") {
		return provider.Payment{}, fmt.Errorf("payment %s has a confirmation address that is no web address", p.ID)
	}
	return provider.Payment{
		ID: p.ID, Reference: p.Reference, Status: status, Amount: p.Amount, ConfirmationURL: p.ConfirmationURL,
		FailureCode: p.Failure, CreatedAt: p.CreatedAt,
	}, nil
}

type refund struct {
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	PaymentID string       `json:"paymentId"`
	Amount    money.Amount `json:"amount"`
	Reference string       `json:"reference"`
	Failure   string       `json:"failure"`
	CreatedAt time.Time    `json:"createdAt"`
}

func (r refund) translate() (provider.Refund, error) {
	status, err := statusOf(r.Status, provider.Pending, provider.Succeeded, provider.Failed)
	if err != nil {
		return provider.Refund{}, err
	}
	if err := checkIDs("refund", r.ID, r.Reference); err != nil {
		return provider.Refund{}, err
	}
	if err := checkIDs("refund's payment", r.PaymentID, ""); err != nil {
		return provider.Refund{}, err
	}
	if r.Amount.Currency == "" {
		return provider.Refund{}, fmt.Errorf("refund %s has no amount", r.ID)
	}
	return provider.Refund{
		ID: r.ID, PaymentID: r.PaymentID, Reference: r.Reference, Status: status, Amount: r.Amount,
		FailureCode: r.Failure, CreatedAt: r.CreatedAt,
	}, nil
}

type shipment struct {
	ID        string `json:"id"`
	Status    string `json:"status"`
	Reference string `json:"reference"`
	Tracking  string `json:"tracking"`
}

func (s shipment) translate() (provider.Shipment, error) {
	if s.Status != "created" && s.Status != "delivered" {
		return provider.Shipment{}, fmt.Errorf("unknown status %.40q", s.Status)
	}
	if err := checkIDs("shipment", s.ID, s.Reference); err != nil {
		return provider.Shipment{}, err
	}
	if !usable(s.Tracking) {
		return provider.Shipment{}, fmt.Errorf("shipment %s has no usable tracking number", s.ID)
	}
	return provider.Shipment{ID: s.ID, Reference: s.Reference, Tracking: s.Tracking, Delivered: s.Status == "delivered"}, nil
}

func statusOf(word string, known ...provider.Status) (provider.Status, error) {
	for _, status := range known {
		if word == string(status) {
			return status, nil
		}
	}
	return "", fmt.Errorf("unknown status %.40q", word)
}

// checkIDs refuses IDs that can't be stored or shown. A reference may be absent.
func checkIDs(what, id, reference string) error {
	if !usable(id) || id == "" {
		return fmt.Errorf("%s has no usable ID", what)
	}
	if !usable(reference) {
		return fmt.Errorf("%s %s has no usable reference", what, id)
	}
	return nil
}

func usable(id string) bool {
	return len(id) <= idLimit && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}
