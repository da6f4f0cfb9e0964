package simulator

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is RFC 9457 with a code for programs; it is also the stored form of a final refusal.
type problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Code   string       `json:"code"`
	Detail string       `json:"detail"`
	Errors []fieldError `json:"errors,omitempty"`
}

type fieldError struct {
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

func newProblem(status int, code, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func invalid(fields ...fieldError) *problem {
	p := newProblem(http.StatusBadRequest, "invalid_request", "The request breaks a rule.")
	p.Errors = fields
	return p
}

func writeProblem(w http.ResponseWriter, p *problem) {
	writeBody(w, "application/problem+json", p.Status, p)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	writeBody(w, "application/json", status, body)
}

func writeBody(w http.ResponseWriter, kind string, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "cannot write the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller may be gone
}
