package simulator

import (
	"net/http"

	bolt "go.etcd.io/bbolt"
)

// ledger is the ground truth, oldest first.
type ledger struct {
	Payments  []payment  `json:"payments"`
	Refunds   []refund   `json:"refunds"`
	Shipments []shipment `json:"shipments"`
	Mails     []mail     `json:"mails"`
	Calls     []callRow  `json:"calls"`
}

func (s *Server) controlLedger(w http.ResponseWriter, _ *http.Request) {
	var out ledger
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		if out.Payments, err = all[payment](tx, bPayments); err != nil {
			return err
		}
		if out.Refunds, err = all[refund](tx, bRefunds); err != nil {
			return err
		}
		if out.Shipments, err = all[shipment](tx, bShipments); err != nil {
			return err
		}
		if out.Mails, err = all[mail](tx, bMails); err != nil {
			return err
		}
		out.Calls, err = all[callRow](tx, bCalls)
		return err
	})
	if err != nil {
		s.unavailable(w, err)
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// controlReset empties the ledger, the queue and the faults, and ends nothing that is under way.
func (s *Server) controlReset(w http.ResponseWriter, _ *http.Request) {
	s.faults.remove("")
	s.courier.forget()
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := dropBuckets(tx); err != nil {
			return err
		}
		return makeBuckets(tx)
	})
	if err != nil {
		s.unavailable(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
