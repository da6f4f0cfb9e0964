package simulator

import (
	"net/http"

	bolt "go.etcd.io/bbolt"
)

// decided reads the last part of a control or pay address; ok is false for an unknown word.
func decided(r *http.Request) (status, failure string, ok bool) {
	switch r.PathValue("decision") {
	case "succeed":
		return succeeded, "", true
	case "cancel":
		return canceled, "card_declined", true
	}
	return "", "", false
}

func (s *Server) controlPayment(w http.ResponseWriter, r *http.Request) {
	status, failure, ok := decided(r)
	if !ok {
		writeProblem(w, newProblem(http.StatusNotFound, "not_found", "Say succeed or cancel."))
		return
	}
	row, found, err := s.settle(r.PathValue("id"), status, failure)
	s.showSettled(w, s.showPayment(row), row.Status, status, found, err)
}

// showSettled answers the object; 409 when it had another end before.
func (s *Server) showSettled(w http.ResponseWriter, body any, is, wanted string, found bool, err error) {
	switch {
	case err != nil:
		s.unavailable(w, err)
	case !found:
		writeProblem(w, newProblem(http.StatusNotFound, "not_found", "There is no such object."))
	case is != wanted:
		writeProblem(w, newProblem(http.StatusConflict, "already_"+is, "It is "+is+" already, and stays so."))
	default:
		writeJSON(w, http.StatusOK, body)
	}
}

func (s *Server) controlRefund(w http.ResponseWriter, r *http.Request) {
	status := map[string]string{"succeed": succeeded, "fail": failed}[r.PathValue("decision")]
	if status == "" {
		writeProblem(w, newProblem(http.StatusNotFound, "not_found", "Say succeed or fail."))
		return
	}
	var row refund
	var found bool
	var events []delivery
	err := s.db.Batch(func(tx *bolt.Tx) error {
		var err error
		row, found, events, err = s.settleRefund(tx, r.PathValue("id"), status)
		return err
	})
	if err == nil {
		s.courier.accept(events)
	}
	s.showSettled(w, showRefund(row), row.Status, status, found, err)
}

func (s *Server) controlShipment(w http.ResponseWriter, r *http.Request) {
	var row shipment
	var found bool
	var events []delivery
	err := s.db.Batch(func(tx *bolt.Tx) error {
		var err error
		row, found, events, err = s.deliverShipment(tx, r.PathValue("id"))
		return err
	})
	if err == nil {
		s.courier.accept(events)
	}
	s.showSettled(w, showShipment(row), row.Status, delivered, found, err)
}

func (s *Server) controlRelease(w http.ResponseWriter, _ *http.Request) {
	count, err := s.courier.release()
	if err != nil {
		s.unavailable(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"released": count})
}
