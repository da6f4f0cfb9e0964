package simulator

import (
	"net/http"

	bolt "go.etcd.io/bbolt"

	"onefold/domain/money"
)

type paymentInput struct {
	Amount      wireMoney         `json:"amount"`
	Reference   string            `json:"reference"`
	ReturnURL   string            `json:"returnUrl"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
}

func (in paymentInput) check() (money.Amount, *problem) {
	var b rules
	amount := b.money(in.Amount, "amount")
	b.text(in.Reference, "reference", referenceLimit, true)
	b.text(in.Description, "description", textLimit, false)
	b.link(in.ReturnURL, "returnUrl")
	b.must(len(in.Metadata) <= metadataLimit, "metadata", "max=50", "Too many entries.")
	for name, value := range in.Metadata {
		b.text(name, "metadata", referenceLimit, true)
		b.text(value, "metadata."+name, textLimit, false)
	}
	return amount, b.problem()
}

func (s *Server) paymentCreate(w http.ResponseWriter, r *http.Request) {
	var in paymentInput
	c := call{on: "payments.create", load: s.loadPayment}
	var p *problem
	if c.key, p = readKey(r, true); p == nil {
		c.hash, p = readBody(w, r, &in)
	}
	var amount money.Amount
	if p == nil {
		amount, p = in.check()
	}
	if p != nil {
		s.turnAway(w, c, "invalid", p)
		return
	}
	c.references = []string{in.Reference}
	s.exchange(w, r, c, func(tx *bolt.Tx, _ fault) (reply, error) {
		row := payment{
			ID: newID("pay_"), Status: pending, Amount: amount, Reference: in.Reference, Description: in.Description,
			ReturnURL: in.ReturnURL, Metadata: in.Metadata, CreatedAt: s.now().UTC(), Key: c.key,
		}
		if err := index(tx, bPaymentsBy, row.Reference, row.ID); err != nil {
			return reply{}, err
		}
		event, err := s.savePayment(tx, row)
		return reply{
			status: http.StatusOK, body: s.showPayment(row), outcome: "booked", id: row.ID, booked: true, events: event,
		}, err
	})
}

// savePayment writes the row and the event that tells of its present status.
func (s *Server) savePayment(tx *bolt.Tx, row payment) ([]delivery, error) {
	if err := put(tx, bPayments, row.ID, row); err != nil {
		return nil, err
	}
	return s.courier.emit(tx, "payment."+row.Status, row.ID, []string{row.Reference}, s.showPayment(row))
}

func (s *Server) loadPayment(tx *bolt.Tx, id string) (any, error) {
	row, _, err := get[payment](tx, bPayments, id)
	return s.showPayment(row), err
}

func (s *Server) paymentGet(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c := call{on: "payments.get", references: s.referencesOf(id)}
	s.exchange(w, r, c, func(tx *bolt.Tx, _ fault) (reply, error) {
		row, found, err := get[payment](tx, bPayments, id)
		return lookup(s.showPayment(row), id, found), err
	})
}

// referencesOf finds the reference of a payment, for fault filters and the call row; none when it is unknown.
func (s *Server) referencesOf(id string) (out []string) {
	_ = s.db.View(func(tx *bolt.Tx) error {
		row, found, err := get[payment](tx, bPayments, id)
		if found {
			out = []string{row.Reference}
		}
		return err
	})
	return out
}

func lookup(body any, id string, found bool) reply {
	if !found {
		return refuse("not_found", newProblem(http.StatusNotFound, "not_found", "There is no such object."))
	}
	return reply{status: http.StatusOK, body: body, outcome: "found", id: id}
}

func (s *Server) paymentFind(w http.ResponseWriter, r *http.Request) {
	find(s, w, r, "payments.get", bPaymentsBy, bPayments, s.showPayment)
}

// find answers a query by reference.
func find[T any](s *Server, w http.ResponseWriter, r *http.Request, on, by, bucket string, show func(T) T) {
	reference := r.URL.Query().Get("reference")
	var b rules
	b.text(reference, "reference", referenceLimit, true)
	c := call{on: on, references: []string{reference}}
	if p := b.problem(); p != nil {
		s.turnAway(w, c, "invalid", p)
		return
	}
	s.exchange(w, r, c, func(tx *bolt.Tx, _ fault) (reply, error) {
		rows, err := indexed[T](tx, by, bucket, reference)
		for i := range rows {
			rows[i] = show(rows[i])
		}
		outcome := "found"
		if len(rows) == 0 {
			outcome = "not_found"
		}
		return reply{status: http.StatusOK, body: items(rows), outcome: outcome}, err
	})
}

func items[T any](rows []T) map[string][]T { return map[string][]T{"items": rows} }

func (s *Server) paymentCancel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c := call{on: "payments.cancel", hash: id, load: s.loadPayment, references: s.referencesOf(id)}
	var p *problem
	if c.key, p = readKey(r, false); p != nil {
		s.turnAway(w, c, "invalid", p)
		return
	}
	s.exchange(w, r, c, func(tx *bolt.Tx, _ fault) (reply, error) {
		row, found, events, err := s.settlePayment(tx, id, canceled, "canceled_by_merchant")
		out := lookup(s.showPayment(row), id, found)
		if len(events) > 0 {
			out.outcome, out.booked, out.events = "booked", true, events
		}
		return out, err
	})
}

// settlePayment moves a pending payment to its end. One that has an end keeps it: no error, no event.
func (s *Server) settlePayment(tx *bolt.Tx, id, status, failure string) (row payment, found bool, events []delivery, err error) {
	row, found, err = get[payment](tx, bPayments, id)
	if err != nil || !found || row.Status != pending {
		return row, found, nil, err
	}
	row.Status = status
	row.Failure = failure
	events, err = s.savePayment(tx, row)
	return row, true, events, err
}

// settle is settlePayment for people and tests.
func (s *Server) settle(id, status, failure string) (row payment, found bool, err error) {
	var events []delivery
	err = s.db.Batch(func(tx *bolt.Tx) error {
		var err error
		row, found, events, err = s.settlePayment(tx, id, status, failure)
		return err
	})
	if err == nil {
		s.courier.accept(events)
	}
	return row, found, err //nolint:wrapcheck // wrapped where it arises
}
