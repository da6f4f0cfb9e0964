package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	maxDeliveries = 1000
	oldSignature  = 10 * time.Minute // how far behind an "old" signature lies; receivers tolerate five
)

func (s *Server) faultCreate(w http.ResponseWriter, r *http.Request) {
	f := fault{Times: 1}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	decoder.DisallowUnknownFields() // a misspelt filter must not hit every call
	if err := decoder.Decode(&f); err != nil {
		writeProblem(w, invalid(fieldError{fieldOf(err), "form", err.Error()}))
		return
	}
	if p := f.problem(); p != nil {
		writeProblem(w, p)
		return
	}
	f.ID, f.Used = newID("flt_"), 0
	s.faults.add(f)
	w.Header().Set("Location", "/control/faults/"+f.ID)
	writeJSON(w, http.StatusCreated, f)
}

func (s *Server) faultList(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, items(s.faults.all()))
}

func (s *Server) faultGet(w http.ResponseWriter, r *http.Request) {
	for _, f := range s.faults.all() {
		if f.ID == r.PathValue("id") {
			writeJSON(w, http.StatusOK, f)
			return
		}
	}
	writeProblem(w, newProblem(http.StatusNotFound, "not_found", "There is no such fault."))
}

func (s *Server) faultDelete(w http.ResponseWriter, r *http.Request) {
	if !s.faults.remove(r.PathValue("id")) {
		writeProblem(w, newProblem(http.StatusNotFound, "not_found", "There is no such fault."))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

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

type eventInput struct {
	Event      json.RawMessage `json:"event"`      // sent byte for byte; a JSON string is sent as its content, for broken bodies
	Deliveries *int            `json:"deliveries"` // in parallel; default 1
	Signature  string          `json:"signature"`  // good (default), bad, old, none
}

func (in *eventInput) check() *problem {
	var b rules
	if in.Deliveries == nil {
		one := 1
		in.Deliveries = &one
	}
	if in.Signature == "" {
		in.Signature = "good"
	}
	b.must(len(in.Event) > 0, "event", "required", "Give the event to send.")
	b.must(*in.Deliveries >= 1 && *in.Deliveries <= maxDeliveries, "deliveries", "range=1..1000", "Give a number of deliveries.")
	b.must(in.Signature == "good" || in.Signature == "bad" || in.Signature == "old" || in.Signature == "none",
		"signature", "one_of=good|bad|old|none", "There is no such signature.")
	return b.problem()
}

func (in *eventInput) body() []byte {
	var text string
	if json.Unmarshal(in.Event, &text) == nil {
		return []byte(text)
	}
	return bytes.Clone(in.Event)
}

// controlEvent sends any event and answers with the statuses received, 0 for none. Nothing is repeated.
func (s *Server) controlEvent(w http.ResponseWriter, r *http.Request) {
	var in eventInput
	_, p := readBody(w, r, &in)
	if p == nil {
		p = in.check()
	}
	if p == nil && s.courier.url == "" {
		p = newProblem(http.StatusConflict, "no_webhook_url", "The simulator was started without a webhook URL.")
	}
	if p != nil {
		writeProblem(w, p)
		return
	}
	statuses := make([]int, *in.Deliveries)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i], _ = s.courier.post(r.Context(), in.body(), s.signatureAsked(in)) })
	}
	wg.Wait()
	if err := s.logEvents(in, statuses); err != nil {
		s.unavailable(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string][]int{"statuses": statuses})
}

func (s *Server) signatureAsked(in eventInput) string {
	switch in.Signature {
	case "bad":
		return sign("not "+s.courier.secret, s.now(), in.body())
	case "old":
		return sign(s.courier.secret, s.now().Add(-oldSignature), in.body())
	case "none":
		return ""
	}
	return sign(s.courier.secret, s.now(), in.body())
}

func (s *Server) logEvents(in eventInput, statuses []int) error {
	var e event
	_ = json.Unmarshal(in.Event, &e)            // it may be anything
	return s.db.Batch(func(tx *bolt.Tx) error { //nolint:wrapcheck // wrapped where it arises
		for _, status := range statuses {
			c := call{on: webhooksSend, key: e.ID}
			if err := s.logCall(tx, c, reply{outcome: "control_" + in.Signature, status: status}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Server) controlRelease(w http.ResponseWriter, _ *http.Request) {
	count, err := s.courier.release()
	if err != nil {
		s.unavailable(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"released": count})
}

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
