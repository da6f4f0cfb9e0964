package simulator

import (
	"net/http"

	bolt "go.etcd.io/bbolt"

	"onefold/domain/money"
)

type refundInput struct {
	PaymentID string    `json:"paymentId"`
	Amount    wireMoney `json:"amount"`
	Reference string    `json:"reference"`
}

func (in refundInput) check() (money.Amount, *problem) {
	var b rules
	amount := b.money(in.Amount, "amount")
	b.text(in.PaymentID, "paymentId", referenceLimit, true)
	b.text(in.Reference, "reference", referenceLimit, false)
	return amount, b.problem()
}

func (s *Server) refundCreate(w http.ResponseWriter, r *http.Request) {
	var in refundInput
	c := call{on: "refunds.create", load: s.loadRefund}
	var p *problem
	if c.key, p = readKey(r, false); p == nil {
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
	c.references = append([]string{in.Reference}, s.referencesOf(in.PaymentID)...)
	s.exchange(w, r, c, func(tx *bolt.Tx, f fault) (reply, error) {
		row := refund{
			ID: newID("ref_"), Status: succeeded, PaymentID: in.PaymentID, Amount: amount, Reference: in.Reference,
			CreatedAt: s.now().UTC(), Key: c.key,
		}
		if f.Do == stayPending {
			row.Status = pending
		}
		return s.bookRefund(tx, row)
	})
}

// bookRefund writes the refund and takes it from what is left of the payment, or refuses.
func (s *Server) bookRefund(tx *bolt.Tx, row refund) (reply, error) {
	paid, found, err := get[payment](tx, bPayments, row.PaymentID)
	if err != nil {
		return reply{}, err
	}
	if p := refusedRefund(paid, found, row.Amount); p != nil {
		return refuse("rejected", p), nil
	}
	paid.Refunded = &money.Amount{Minor: refundedOf(paid) + row.Amount.Minor, Currency: paid.Amount.Currency}
	if err := put(tx, bPayments, paid.ID, paid); err != nil {
		return reply{}, err
	}
	if err := index(tx, bRefundsOf, row.PaymentID, row.ID); err != nil {
		return reply{}, err
	}
	if row.Reference != "" {
		if err := index(tx, bRefundsBy, row.Reference, row.ID); err != nil {
			return reply{}, err
		}
	}
	events, err := s.saveRefund(tx, row, paid.Reference)
	return reply{
		status: http.StatusOK, body: showRefund(row), outcome: "booked", id: row.ID, booked: true, events: events,
	}, err
}

func refusedRefund(paid payment, found bool, amount money.Amount) *problem {
	refused := func(code, detail string) *problem { return newProblem(http.StatusUnprocessableEntity, code, detail) }
	switch {
	case !found:
		return refused("payment_unknown", "There is no such payment.")
	case paid.Status != succeeded:
		return refused("payment_not_captured", "Only a succeeded payment can be refunded.")
	case paid.Amount.Currency != amount.Currency:
		return refused("currency_mismatch", "A refund has the payment's currency.")
	case amount.Minor > paid.Amount.Minor-refundedOf(paid):
		return refused("refund_exceeds_payment", "That is more than is left of the payment.")
	}
	return nil
}

func refundedOf(p payment) int64 {
	if p.Refunded == nil {
		return 0
	}
	return p.Refunded.Minor
}

// saveRefund writes the row and, once it has an end, the event that tells so.
func (s *Server) saveRefund(tx *bolt.Tx, row refund, paymentReference string) ([]delivery, error) {
	if err := put(tx, bRefunds, row.ID, row); err != nil {
		return nil, err
	}
	if row.Status == pending {
		return nil, nil
	}
	return s.courier.emit(tx, "refund."+row.Status, row.PaymentID, []string{row.Reference, paymentReference}, showRefund(row))
}

// settleRefund ends a pending refund; a failed one gives the money back to what is left of the payment.
func (s *Server) settleRefund(tx *bolt.Tx, id, status string) (row refund, found bool, events []delivery, err error) {
	row, found, err = get[refund](tx, bRefunds, id)
	if err != nil || !found || row.Status != pending {
		return row, found, nil, err
	}
	paid, _, err := get[payment](tx, bPayments, row.PaymentID)
	if err != nil {
		return row, true, nil, err
	}
	row.Status = status
	if status == failed {
		row.Failure = "refund_failed"
		paid.Refunded = &money.Amount{Minor: refundedOf(paid) - row.Amount.Minor, Currency: paid.Amount.Currency}
		if paid.Refunded.Minor == 0 {
			paid.Refunded = nil
		}
		if err := put(tx, bPayments, paid.ID, paid); err != nil {
			return row, true, nil, err
		}
	}
	events, err = s.saveRefund(tx, row, paid.Reference)
	return row, true, events, err
}

func (s *Server) loadRefund(tx *bolt.Tx, id string) (any, error) {
	row, _, err := get[refund](tx, bRefunds, id)
	return showRefund(row), err
}

func (s *Server) refundGet(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.exchange(w, r, call{on: "refunds.get"}, func(tx *bolt.Tx, _ fault) (reply, error) {
		row, found, err := get[refund](tx, bRefunds, id)
		return lookup(showRefund(row), id, found), err
	})
}

// refundFind lists refunds by reference, or those of one payment, dashboard ones too.
func (s *Server) refundFind(w http.ResponseWriter, r *http.Request) {
	if id := r.URL.Query().Get("paymentId"); id != "" {
		s.exchange(w, r, call{on: "refunds.get", references: s.referencesOf(id)}, func(tx *bolt.Tx, _ fault) (reply, error) {
			rows, err := indexed[refund](tx, bRefundsOf, bRefunds, id)
			for i := range rows {
				rows[i] = showRefund(rows[i])
			}
			return reply{status: http.StatusOK, body: items(rows), outcome: "found"}, err
		})
		return
	}
	find(s, w, r, "refunds.get", bRefundsBy, bRefunds, showRefund)
}
