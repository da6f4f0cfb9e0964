package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
	"onefold/domain/payment"
	"onefold/domain/provider"
)

// Heard is what the provider last said of a payment, beside what is recorded here.
type Heard struct {
	PaymentID uuid.UUID
	// Got says whether the provider has it: yes, refused, absent (lookups proved that it never came), unanswered (it was sent, no
	// answer says whether it came), or no (nothing was sent yet).
	Got        string
	Sends      int        // tries to make it, all with one key
	State      string     // in our words; "" if the provider never said
	Amount     string     // as the provider said it; "" if it agreed with ours without our keeping it
	ProviderID string     // the provider's
	At         time.Time  // when we heard it
	ProviderAt *time.Time // the provider's own time of it
	Via        string     // event, answer, lookup, watch or cancel
	Differs    []string   // state, amount, currency, reference: what isn't as we have it
}

// message is an event's payload, for its translation; it is never shown.
type message struct {
	eventID    uuid.UUID
	provider   string
	paymentID  uuid.NullUUID
	receivedAt time.Time
	payload    []byte
}

// longestPayload that is read: an event is a few kilobytes.
const longestPayload = "65536"

func scanMessage(row pgx.CollectableRow) (m message, err error) {
	err = row.Scan(&m.eventID, &m.provider, &m.paymentID, &m.receivedAt, &m.payload)
	return m, reading("event", err)
}

// Hear adds what only the providers' adapters can read: their own times of events, and what they said of each payment. An
// event that isn't understood adds nothing.
func (in *Intent) Hear(voices map[string]provider.Payments) {
	in.Heard = nil
	for _, p := range in.Payments {
		in.Heard = append(in.Heard, in.journaled(p))
	}
	for _, m := range in.said {
		voice, known := voices[m.provider]
		if !known {
			continue
		}
		said, err := voice.Translate(m.payload)
		if err != nil {
			continue
		}
		if !said.CreatedAt.IsZero() {
			in.dated(m.eventID, said.CreatedAt)
		}
		if said.Object.Payment != nil {
			in.listen(m, *said.Object.Payment, said.CreatedAt)
		}
	}
	for i := range in.Heard {
		in.Heard[i].difference(in.Payments[i])
	}
	in.judge()
}

// dated puts the provider's time of an event to its arrival.
func (in *Intent) dated(eventID uuid.UUID, at time.Time) {
	for i, e := range in.Events {
		if e.ID == eventID {
			in.Events[i].ProviderAt = &at
		}
	}
	for i, e := range in.Timeline {
		if e.EventID.UUID == eventID && (e.Kind == "inbox.received" || e.Kind == "inbox.quarantined") {
			in.Timeline[i].ProviderAt = &at
		}
	}
}

// journaled is what the answers to our own questions said.
func (in *Intent) journaled(p Payment) Heard {
	h := Heard{PaymentID: p.ID, ProviderID: p.ProviderPaymentID, Got: got(p)}
	for _, o := range in.Operations {
		if o.ID == p.OperationID {
			h.Sends = o.Attempt
			if h.Got == "no" && o.SentAt != nil {
				h.Got = "unanswered"
			}
		}
	}
	for _, e := range in.Timeline {
		if e.PaymentID.UUID != p.ID || noun(e.Kind) != "payment" {
			continue
		}
		switch e.Source {
		case "answer", "lookup", "watch", "cancel":
			h.State, h.At, h.Via = e.To, e.At, e.Source
		}
	}
	return h
}

// got reads off a payment whether it reached the provider.
func got(p Payment) string {
	switch {
	case p.ProviderPaymentID != "":
		return "yes"
	case p.FailureCode == "not_at_provider":
		return "absent"
	case p.Status == payment.Failed:
		return "refused"
	case p.Status == payment.Submitting || p.Status == payment.Unknown:
		return "unanswered"
	}
	return "no"
}

// listen takes an event's word if it is later than what was heard before.
func (in *Intent) listen(m message, said provider.Payment, at time.Time) {
	for i := range in.Heard {
		h := &in.Heard[i]
		mine := m.paymentID.UUID == h.PaymentID || said.Reference == h.PaymentID.String() || (h.ProviderID != "" && said.ID == h.ProviderID)
		if !mine || m.receivedAt.Before(h.At) || (h.State == "SUCCEEDED" && said.Status == provider.Pending) {
			continue
		}
		h.State, h.Amount, h.ProviderID = strings.ToUpper(string(said.Status)), amount(said.Amount), said.ID
		h.At, h.Via, h.ProviderAt = m.receivedAt, "event", nil
		if !at.IsZero() {
			h.ProviderAt = &at
		}
		if h.Got != "yes" {
			h.Got = "yes"
		}
		if said.Reference != "" && said.Reference != h.PaymentID.String() {
			h.Differs = append(h.Differs, "reference")
		}
	}
}

// amount writes a sum also in a currency that nobody knows.
func amount(a money.Amount) string {
	if money.Valid(a.Currency) {
		return a.String()
	}
	return strconv.FormatInt(a.Minor, 10) + " " + a.Currency
}

// difference names what the provider says otherwise.
func (h *Heard) difference(p Payment) {
	ours := string(p.Status)
	if p.Status.Captured() || p.OrphanedAt != nil {
		ours = string(payment.Succeeded)
	}
	if h.State != "" && h.State != ours {
		h.Differs = append([]string{"state"}, h.Differs...)
	}
	if h.Amount != "" && h.Amount != p.Amount.String() {
		h.Differs = append(h.Differs, "amount")
	}
}
