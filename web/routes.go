package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/domain/account"
)

// routes lists every route of onefold, grouped by who calls it.
func (h *Handlers) routes(app *fiber.App) {
	app.Use(h.observe, recoverPanics, h.secure)

	// Operators' machines.
	app.Get("/healthz", h.healthz)
	app.Get("/readyz", h.readyz)
	app.Get("/metrics", h.metrics)

	// Providers.
	app.Post("/webhooks/:provider", h.webhookReceive)
	app.Use("/webhooks/", nowhere)

	// API clients.
	app.Get("/api/openapi.yaml", h.apiDescription)
	api := app.Group("/api", limitBody, h.requireToken)
	api.Get("/products", h.apiProducts)
	api.Post("/orders", h.apiOrderPlace)
	api.Get("/orders/:id", h.apiOrder)
	api.Post("/orders/:id/payments", h.apiPaymentRetry)
	api.Post("/orders/:id/cancel", h.apiOrderCancel)
	api.Post("/orders/:id/refunds", h.apiRefund)
	api.Post("/leads", h.apiLead)
	api.Post("/reconciliations", h.apiReconcile)
	api.Get("/reconciliations/:id", h.apiReconciliation)
	api.Get("/payments/:id", h.apiPayment)
	api.Get("/operations/:id", h.apiOperation)
	api.Use(nowhere)

	// Shoppers.
	app.Get("/assets/:name", h.asset)
	app.Use(limitBody, h.visitor)
	app.Use("/console", h.auditRefusals)
	app.Use("/console/river", h.requireRole(account.Operator), h.riverGuard, h.riverPages) // its requests carry no form token
	app.Use(h.ownForms)
	app.Get("/", h.catalogue)
	app.Get("/products/:id", h.product)
	app.Get("/cart", h.cart)
	app.Post("/cart/items", h.cartAdd)
	app.Post("/cart/items/:id", h.cartSet)
	app.Get("/checkout", h.checkoutStart)
	app.Get("/checkout/:key", h.checkout)
	app.Post("/checkout/:key", h.checkoutPlace)
	app.Get("/checkout/:key/status", h.checkoutStatus)
	app.Get("/pay/return", h.payReturn)
	app.Get("/orders", h.orders)
	app.Get("/orders/:id", h.order)
	app.Get("/orders/:id/pay", h.orderPay)
	app.Post("/orders/:id/payments", h.orderRetry)
	app.Post("/orders/:id/cancel", h.orderCancel)
	app.Post("/orders/:id/buy-again", h.orderBuyAgain)
	app.Post("/orders/:id/find", h.orderFind)
	app.Get("/sign-in", h.signInPage)
	app.Post("/sign-in", h.signIn)
	app.Post("/sign-out", h.signOut)
	app.Post("/prefs", h.prefs)

	// Operators.
	app.Get("/console/sign-in", h.consoleSignInPage)
	app.Post("/console/sign-in", h.consoleSignIn)
	app.Get("/go/*", h.requireRole(account.Viewer), h.preferred, h.consoleGo)
	console := app.Group("/console", h.requireRole(account.Viewer), h.preferred, h.dated)
	console.Get("", knows("range"), h.consoleOverview)
	console.Get("/operations", h.consoleOperations)
	console.Get("/payments", h.consolePayments)
	console.Get("/orders", h.consoleOrders)
	console.Get("/inbox", h.consoleInbox)
	console.Get("/outbox", h.consoleOutbox)
	console.Get("/search", knows("q"), h.consoleSearch)
	console.Get("/intents/:id.json", h.consoleIntentJSON)
	console.Get("/intents/:id.txt", h.consoleIntentText)
	console.Get("/intents/:id", h.consoleIntent)
	console.Get("/work/:queue", h.consoleWork)
	console.Get("/act/:action/:object", h.consoleActPage)
	console.Post("/act/:action/:object", h.consoleAct)
	console.Get("/reconcile", h.consoleRuns)
	console.Get("/reconcile/:id", h.consoleRun)
	console.Post("/bulk/preview", h.bulkPreview)
	console.Post("/bulk", h.bulk)
	console.Get("/batches", h.consoleBatches)
	console.Get("/batches/:id", h.consoleBatch)
	console.Post("/batches/:id/move", h.batchMove)
	console.Post("/batches/:id/retry", h.batchRetry)
	console.Get("/audit", h.consoleAudit)
	console.Get("/stream", h.consoleStream)
	console.Get("/alarms", knows("alarm"), h.consoleAlarms)
	console.Post("/alarms/:name/:what", h.requireRole(answersAlarms), h.consoleAlarmAnswer)
	console.Get("/drills", knows(), h.consoleDrills)
	console.Post("/drills", h.requireRole(runsDrills), h.consoleDrillStart)
	console.Get("/drills/:id", h.consoleDrill)
	console.Get("/prefs", knows(), h.consolePrefs)
	console.Post("/prefs", h.consolePrefsSave)
	console.Get("/views", knows(), h.consoleViews)
	console.Post("/views", h.consoleViewSave)
	console.Post("/views/:id/remove", h.consoleViewRemove)
	console.Get("/retention", knows(), h.consoleRetention)
	console.Get("/users", knows(), h.consoleUsers)
	console.Get("/help", knows(), h.consoleHelp)
}

// nowhere ends what only machines call: no cookie, no form token, no page.
func nowhere(*fiber.Ctx) error { return fiber.ErrNotFound }
