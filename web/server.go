// Package web is HTTP: parse → one domain call → view model → render. It never sees SQL and never meets jobs.
package web

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"onefold/domain/account"
	"onefold/domain/alarm"
	"onefold/domain/checkout"
	"onefold/domain/operator"
	"onefold/domain/provider"
	"onefold/domain/store"
)

// Config of the web tier.
type Config struct {
	PublicURL   string        // scheme and host as browsers see it; https makes cookies Secure
	PayOrigins  []string      // origins of hosted payment pages, for the CSP's form-action
	Environment string        // "DEMO", "PROD"…: the badge of the console
	SessionKey  []byte        // signs CSRF tokens
	Retention   time.Duration // of operations, for people to read
	OrderTTL    time.Duration // how long an order waits for its payment, for people to read; 0 isn't shown
	Logger      *slog.Logger
}

// Handlers holds what requests need.
type Handlers struct {
	Config
	DB        store.DB
	Desk      *checkout.Desk
	Operator  *operator.Desk // where operators press
	Tokens    *account.Tokens
	Providers map[string]provider.Payments
	Wake      func()       // tells the relay that something is due; never blocks
	Ready     func() error // nil when the database is there and migrated
	River     http.Handler // the job pages of the console; nil shows none
	Metrics   *Metrics
	Now       func() time.Time

	Limits alarm.Limits    // of the alarms; nil means alarm.DefaultLimits
	Drills *Drills         // nil: there are none here
	Done   <-chan struct{} // closed when the process is about to end; nil never is

	StreamLife time.Duration // how long a page is told of news before it has to ask again; 0 means five minutes

	presses presses
	streams streams
	drills  drillRuns
}

const (
	maxBody    = 256 << 10 // bytes of an API body, form or webhook
	bodyLimit  = 8 << 20   // what is read at all: up to here an oversized body gets a proper 413
	headerSize = 16 << 10
)

// New builds the app with every route.
func New(h *Handlers) *fiber.App {
	app := fiber.New(fiber.Config{
		AppName: "onefold", DisableStartupMessage: true, Immutable: true, StrictRouting: true, CaseSensitive: true,
		BodyLimit: bodyLimit, ReadBufferSize: headerSize, ReadTimeout: 10 * time.Second, IdleTimeout: 60 * time.Second,
		ErrorHandler: h.fail,
	})
	h.routes(app)
	app.Server().Handler = h.knownMethods(app)
	return app
}
