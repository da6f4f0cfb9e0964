package simulator

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"

	bolt "go.etcd.io/bbolt"
)

//go:embed assets
var assets embed.FS

var pages = template.Must(template.ParseFS(assets, "assets/*.html")) //nolint:gochecknoglobals // parsed once, never changed

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// serveAsset serves the two files that pages ask for.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	kinds := map[string]string{"style.css": "text/css; charset=utf-8", "mark.svg": "image/svg+xml"}
	name := r.PathValue("file")
	data, err := assets.ReadFile("assets/" + name)
	if err != nil || kinds[name] == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[name])
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(data) //nolint:gosec // embedded files only: the name was looked up in the table above
}

// render writes a whole page or an error, never half a page. formTarget is one more origin that forms may lead to, "" for none:
// browsers apply form-action to the redirect after a form too.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any, formTarget string) {
	var buffer bytes.Buffer
	if err := pages.ExecuteTemplate(&buffer, name, data); err != nil {
		s.log.Error("render page", "page", name, "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy+" "+formTarget)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write(buffer.Bytes())
}

type payView struct {
	Payment                                  payment
	Heading, Eyebrow, Amount, Refunded, Shop string
	Word, Sentence                           string
	Open                                     bool
}

func viewPayment(p payment) payView {
	v := payView{Payment: p, Amount: p.Amount.Display("en"), Open: p.Status == pending}
	if back, err := url.Parse(p.ReturnURL); err == nil {
		v.Shop = back.Host
	}
	if p.Refunded != nil {
		v.Refunded = p.Refunded.Display("en")
	}
	switch p.Status {
	case succeeded:
		v.Heading, v.Eyebrow, v.Word = "Paid", "You paid", "Paid"
		v.Sentence = "The payment went through. Nothing more to do here."
	case canceled:
		v.Heading, v.Eyebrow, v.Word = "Not paid", "Not paid", "Declined"
		v.Sentence = "No money was taken. The shop can start a new payment."
	default:
		v.Heading, v.Eyebrow = "Pay "+v.Amount, "To pay"
	}
	return v
}

func (s *Server) payShow(w http.ResponseWriter, r *http.Request) {
	var row payment
	var found bool
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		row, found, err = get[payment](tx, bPayments, r.PathValue("id"))
		return err
	})
	switch {
	case err != nil:
		s.unavailable(w, err)
	case !found:
		s.render(w, http.StatusNotFound, "lost", "There is no such payment at this provider.", "")
	default:
		s.render(w, http.StatusOK, "pay", viewPayment(row), originOf(row.ReturnURL))
	}
}

// originOf is safe inside a policy: the address was checked when the payment was made.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// payDecide ends the payment, or finds it ended, and leads the person back to the shop either way.
func (s *Server) payDecide(w http.ResponseWriter, r *http.Request) {
	status, failure, ok := decided(r)
	if !ok {
		s.render(w, http.StatusNotFound, "lost", "A payment can only be paid or declined.", "")
		return
	}
	row, found, err := s.settle(r.PathValue("id"), status, failure)
	switch {
	case err != nil:
		s.unavailable(w, err)
	case !found:
		s.render(w, http.StatusNotFound, "lost", "There is no such payment at this provider.", "")
	default:
		http.Redirect(w, r, row.ReturnURL, http.StatusSeeOther)
	}
}
