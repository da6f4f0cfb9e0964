//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// simulator is the provider, seen through its control API.
type simulator struct {
	t       *testing.T
	process *process
	http    *http.Client
	base    string
	smtp    string
}

type fault struct {
	On        string `json:"on"`
	Do        string `json:"do"`
	Times     int    `json:"times"`
	DelayMs   int    `json:"delayMs,omitempty"`
	Reference string `json:"reference,omitempty"`
	Booked    bool   `json:"booked,omitempty"`
}

// ledger is the ground truth.
type ledger struct {
	Payments []charge
	Mails    []struct {
		MessageID, Body string
		To              []string
	}
	Calls []call
}

type charge struct {
	ID, Status, Reference, Key string
	Amount                     struct{ Amount, Currency string }
}

type call struct {
	On, Key, Reference, Outcome, ID, TraceID string
	Booked                                   bool
	Status                                   int
	At                                       time.Time
}

func (m *simulator) control(method, path string, body any, status int) answer {
	m.t.Helper()
	a := client{t: m.t, http: m.http}.must(method, m.base+"/control"+path, "", "", body)
	require.Equal(m.t, status, a.status, "%s", a)
	return a
}

// breaks arms a fault; the function returned takes it back.
func (m *simulator) breaks(f fault) (mend func()) {
	m.t.Helper()
	made := decode[struct{ ID string }](m.t, m.control("POST", "/faults", f, 201))
	return func() { m.control("DELETE", "/faults/"+made.ID, nil, 204) }
}

// decide lets the payer "succeed" or "cancel".
func (m *simulator) decide(paymentID, decision string) {
	m.t.Helper()
	require.NotEmpty(m.t, paymentID)
	m.control("POST", "/payments/"+paymentID+"/"+decision, nil, 200)
}

func (m *simulator) ledger() ledger {
	m.t.Helper()
	return decode[ledger](m.t, m.control("GET", "/ledger", nil, 200))
}

// charges are the provider's payments for one of ours.
func (m *simulator) charges(paymentID uuid.UUID) (all []charge) {
	m.t.Helper()
	for _, c := range m.ledger().Payments {
		if c.Reference == paymentID.String() {
			all = append(all, c)
		}
	}
	return all
}

// calls are the exchanges of one kind about one of our payments.
func (m *simulator) calls(on string, paymentID uuid.UUID) (all []call) {
	m.t.Helper()
	for _, c := range m.ledger().Calls {
		if c.On == on && c.Reference == paymentID.String() {
			all = append(all, c)
		}
	}
	return all
}

// send delivers an event, signed, n times in parallel, and returns the statuses.
func (m *simulator) send(event any, n int) []int {
	m.t.Helper()
	a := m.control("POST", "/events", map[string]any{"event": event, "deliveries": n}, 200)
	return decode[struct{ Statuses []int }](m.t, a).Statuses
}

// event is a fact about a payment as the provider tells it; id "" makes a new one.
func (m *simulator) event(id, kind string, about charge) map[string]any {
	if id == "" {
		id = "evt_e2e_" + uuid.NewString()
	}
	return map[string]any{
		"id": id, "type": kind, "createdAt": time.Now().UTC(), "object": map[string]any{
			"id": about.ID, "status": strings.TrimPrefix(kind, "payment."), "reference": about.Reference,
			"amount": map[string]string{"amount": about.Amount.Amount, "currency": about.Amount.Currency}, "createdAt": time.Now().UTC(),
		},
	}
}

func (c charge) minor() (n int64) {
	_ = json.Unmarshal([]byte(strings.ReplaceAll(c.Amount.Amount, ".", "")), &n)
	return n
}
