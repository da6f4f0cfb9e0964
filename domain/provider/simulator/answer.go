package simulator

import (
	"net/http"
	"strconv"
	"time"
)

// answer sends the reply, or does to it what the fault says. By now everything is committed.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f fault, out reply, release func()) {
	switch f.Do {
	case hang:
		limit := maxDelay
		if f.DelayMs > 0 {
			limit = f.delay()
		}
		s.pause(r, limit)
		release()
		panic(http.ErrAbortHandler) // closes the socket without an answer
	case dropAfter:
		release()
		panic(http.ErrAbortHandler)
	case delay:
		s.pause(r, f.delay())
	case errorAfter:
		out = refuse(f.Do, newProblem(f.anyStatus(), "server_error", "Something went wrong after the work was done."))
	case garbage:
		release()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"pay_` + "\x00\xff"))
		return
	}
	release() // first, so that a caller who has the answer never finds its own key busy
	writeReply(w, out)
}

func (s *Server) pause(r *http.Request, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-s.closing:
	}
}

func writeReply(w http.ResponseWriter, out reply) {
	if out.replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	if out.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((out.wait+time.Second-1)/time.Second)))
	}
	if out.refusal != nil {
		writeProblem(w, out.refusal)
		return
	}
	writeJSON(w, out.status, out.body)
}
