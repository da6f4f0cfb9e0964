package simulator

import (
	"net/http"
	"time"

	bolt "go.etcd.io/bbolt"
)

// call is one API request, understood.
type call struct {
	on         string
	key        string // "" = none
	hash       string // of the inputs
	references []string
	trace      string
	load       func(tx *bolt.Tx, id string) (any, error) // shows the object a key stands for
}

// reply is what the caller is to be told.
type reply struct {
	status   int
	body     any
	refusal  *problem // instead of body
	outcome  string
	id       string
	replayed bool
	booked   bool
	wait     time.Duration // Retry-After
	events   []delivery
}

func refuse(outcome string, p *problem) reply {
	return reply{status: p.Status, refusal: p, outcome: outcome}
}

type effect func(tx *bolt.Tx, f fault) (reply, error)

// exchange is the frame of every API call: claim the key, choose a fault, commit effect and call row, answer.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, c call, run effect) {
	c.trace = traceOf(r)
	release, free := s.keys.claim(c)
	if !free {
		s.turnAway(w, c, "busy", newProblem(http.StatusConflict, "busy", "A call with this key is still running."))
		return
	}
	defer release()
	f := s.faults.take(c.on, c.references...)
	out, err := s.commit(c, f, run)
	if err != nil {
		s.unavailable(w, err)
		return
	}
	s.courier.accept(out.events)
	s.answer(w, r, f, out, release)
}

// turnAway answers a call that had no chance of an effect, and books that it came.
func (s *Server) turnAway(w http.ResponseWriter, c call, outcome string, p *problem) {
	out := refuse(outcome, p)
	if err := s.db.Batch(func(tx *bolt.Tx) error { return s.logCall(tx, c, out) }); err != nil {
		s.unavailable(w, err)
		return
	}
	writeReply(w, out)
}

func (s *Server) unavailable(w http.ResponseWriter, err error) {
	s.log.Error("simulator ledger", "error", err)
	writeProblem(w, newProblem(http.StatusServiceUnavailable, "ledger", "The ledger is not available."))
}

func (s *Server) commit(c call, f fault, run effect) (out reply, err error) {
	err = s.db.Batch(func(tx *bolt.Tx) error { // may run more than once
		var err error
		if out, err = s.decide(tx, c, f, run); err != nil {
			return err
		}
		return s.logCall(tx, c, out)
	})
	return out, err //nolint:wrapcheck // what the closure returns is wrapped where it arises
}

func (s *Server) decide(tx *bolt.Tx, c call, f fault, run effect) (reply, error) {
	row, known, err := c.storedKey(tx)
	if err != nil {
		return reply{}, err
	}
	if known && row.Hash != c.hash {
		return refuse("key_reused", newProblem(http.StatusConflict, "key_reused", "This key belongs to another request.")), nil
	}
	if out, stop := refusedBefore(f); stop {
		return out, nil
	}
	if known && row.Problem != nil {
		out := refuse("replayed", row.Problem)
		out.replayed = true
		return out, nil
	}
	switch {
	case f.Do == errorSticky:
		return s.stick(tx, c, f, row, run)
	case known:
		body, err := c.load(tx, row.ID)
		out := reply{status: http.StatusOK, body: body, outcome: outcomeOf(f, "replayed"), id: row.ID, replayed: true}
		if f.Do == reject {
			out.outcome = "replayed" // what the key stands for can't be refused any more
		}
		return out, err
	case f.Do == reject:
		out := refuse(reject, rejection(c.on, f))
		return out, c.storeKey(tx, keyRow{Problem: out.refusal})
	}
	out, err := run(tx, f)
	if err != nil {
		return reply{}, err
	}
	out.outcome = outcomeOf(f, out.outcome)
	return out, c.storeKey(tx, keyRow{ID: out.id, Problem: out.refusal})
}

// refusedBefore covers the faults that answer before anything is looked at.
func refusedBefore(f fault) (out reply, stop bool) {
	switch f.Do {
	case errorBefore:
		return refuse(f.Do, newProblem(f.anyStatus(), "server_error", "Something went wrong before the work began.")), true
	case busy:
		return refuse(f.Do, newProblem(http.StatusConflict, "busy", "A call with this key is still running.")), true
	case notFound:
		return refuse(f.Do, newProblem(http.StatusNotFound, "not_found", "There is no such object.")), true
	case rateLimit:
		out = refuse(f.Do, newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests."))
		out.wait = max(f.delay(), time.Second)
		return out, true
	}
	return reply{}, false
}

// stick makes the key answer one error for ever. What it booked before, or books now, stays booked.
func (s *Server) stick(tx *bolt.Tx, c call, f fault, row keyRow, run effect) (reply, error) {
	out := reply{}
	if f.Booked && row.ID == "" {
		done, err := run(tx, f)
		if err != nil {
			return reply{}, err
		}
		row.ID, out.booked, out.events = done.id, done.booked, done.events
	}
	p := newProblem(f.anyStatus(), "server_error", "Something went wrong, and this key will not say more.")
	out.status, out.refusal, out.outcome, out.id = p.Status, p, f.Do, row.ID
	return out, c.storeKey(tx, keyRow{ID: row.ID, Problem: p})
}

func (f fault) anyStatus() int {
	if f.Status == 0 {
		return http.StatusInternalServerError
	}
	return f.Status
}

func rejection(on string, f fault) *problem {
	switch on {
	case "payments.create":
		return newProblem(f.statusOr(400, http.StatusPaymentRequired), "card_declined", "The card was declined.")
	case "shipments.create":
		return newProblem(f.statusOr(400, http.StatusUnprocessableEntity), "address_rejected", "The carrier does not serve this address.")
	default:
		return newProblem(f.statusOr(400, http.StatusUnprocessableEntity), "rejected", "The request was refused.")
	}
}

func outcomeOf(f fault, normal string) string {
	if f.Do != "" {
		return f.Do
	}
	return normal
}

func (s *Server) logCall(tx *bolt.Tx, c call, out reply) error {
	row := callRow{
		At: s.now().UTC(), On: c.on, Key: c.key, Outcome: out.outcome, Booked: out.booked, ID: out.id, Status: out.status, TraceID: c.trace,
	}
	if len(c.references) > 0 {
		row.Reference = c.references[0]
	}
	_, err := add(tx, bCalls, row)
	return err
}
