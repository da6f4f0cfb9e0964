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
