package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
	bolt "go.etcd.io/bbolt"
)

// Config is what a simulator needs to start.
type Config struct {
	DataFile   string           // the ledger; created when absent
	WebhookURL string           // where events go; "" sends none
	Secret     string           // signs webhooks; required with WebhookURL
	PublicURL  string           // base of confirmationUrl, e.g. http://127.0.0.1:8081
	Logger     *slog.Logger     // nil logs nothing
	Now        func() time.Time // nil is the system clock
	NoSync     bool             // for tests: fast, and a power cut may lose what was answered
}

// Server is a running simulator. Its methods are safe for concurrent use.
type Server struct {
	db      *bolt.DB
	log     *slog.Logger
	now     func() time.Time
	public  string
	faults  *faults
	keys    *keys
	courier *courier
	smtp    *smtp.Server

	closeOnce sync.Once
	closing   chan struct{} // ends hanging answers
}

// Open opens or creates the ledger. It fails when another process has it open.
func Open(cfg Config) (*Server, error) {
	if cfg.WebhookURL != "" && cfg.Secret == "" {
		return nil, errors.New("simulator: webhooks need a secret")
	}
	if !strings.HasPrefix(cfg.PublicURL, "http") {
		return nil, fmt.Errorf("simulator: public URL %q is no web address", cfg.PublicURL)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	db, err := openLedger(cfg.DataFile, cfg.NoSync)
	if err != nil {
		return nil, err
	}
	s := &Server{
		db: db, log: cfg.Logger, now: cfg.Now, public: strings.TrimRight(cfg.PublicURL, "/"),
		faults: &faults{}, keys: &keys{running: map[string]bool{}}, closing: make(chan struct{}),
	}
	s.courier = newCourier(s, cfg.WebhookURL, cfg.Secret)
	if err := s.courier.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.smtp = newMailServer(s)
	return s, nil
}

// Run delivers webhooks until ctx ends, then waits for those under way. Undelivered ones stay in the ledger.
func (s *Server) Run(ctx context.Context) {
	s.courier.run(ctx)
	s.unhang()
}

// Close ends hanging answers and the mail server and closes the ledger. Stop the HTTP server first, or at the same time.
func (s *Server) Close() error {
	s.unhang()
	if err := s.smtp.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, smtp.ErrServerClosed) {
		s.log.Warn("close mail server", "error", err)
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close simulator: %w", err)
	}
	return nil
}

func (s *Server) unhang() { s.closeOnce.Do(func() { close(s.closing) }) }

// Handler serves the provider's API, its pages and the control API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

	mux.HandleFunc("POST /v1/payments", s.paymentCreate)
	mux.HandleFunc("GET /v1/payments", s.paymentFind)
	mux.HandleFunc("GET /v1/payments/{id}", s.paymentGet)
	mux.HandleFunc("POST /v1/payments/{id}/cancel", s.paymentCancel)
	mux.HandleFunc("POST /v1/refunds", s.refundCreate)
	mux.HandleFunc("GET /v1/refunds", s.refundFind)
	mux.HandleFunc("GET /v1/refunds/{id}", s.refundGet)
	mux.HandleFunc("POST /v1/shipments", s.shipmentCreate)
	mux.HandleFunc("GET /v1/shipments", s.shipmentFind)
	mux.HandleFunc("GET /v1/shipments/{id}", s.shipmentGet)

	mux.HandleFunc("GET /pay/{id}", s.payShow)
	mux.HandleFunc("POST /pay/{id}/{decision}", s.payDecide)
	mux.HandleFunc("GET /mailbox", s.mailboxList)
	mux.HandleFunc("GET /mailbox/{id}", s.mailboxShow)
	mux.HandleFunc("GET /assets/{file}", serveAsset)
	mux.Handle("GET /{$}", http.RedirectHandler("/mailbox", http.StatusSeeOther))

	mux.HandleFunc("POST /control/faults", s.faultCreate)
	mux.HandleFunc("GET /control/faults", s.faultList)
	mux.HandleFunc("GET /control/faults/{id}", s.faultGet)
	mux.HandleFunc("DELETE /control/faults", s.faultDelete)
	mux.HandleFunc("DELETE /control/faults/{id}", s.faultDelete)
	mux.HandleFunc("POST /control/payments/{id}/{decision}", s.controlPayment)
	mux.HandleFunc("POST /control/refunds/{id}/{decision}", s.controlRefund)
	mux.HandleFunc("POST /control/shipments/{id}/deliver", s.controlShipment)
	mux.HandleFunc("POST /control/events", s.controlEvent)
	mux.HandleFunc("POST /control/release", s.controlRelease)
	mux.HandleFunc("GET /control/ledger", s.controlLedger)
	mux.HandleFunc("POST /control/reset", s.controlReset)

	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusNotFound, "not_found", "There is no such address."))
	})
	// A page somewhere on the web must not be able to press Pay or set faults on a developer's machine.
	return http.NewCrossOriginProtection().Handler(mux)
}
