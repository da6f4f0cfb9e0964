package simulator

import (
	"encoding/json"
	"net/http"
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
