package web

import (
	"log/slog"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"onefold/domain/fault"
	"onefold/domain/inbox"
	"onefold/domain/trace"
)

// webhookReceive: authentic? → understood? → inbox row or one more delivery → 200. The work is done by jobs.
func (h *Handlers) webhookReceive(c *fiber.Ctx) error {
	p, ok := h.Providers[c.Params("provider")]
	if !ok {
		return fault.Missing("provider")
	}
	body := c.BodyRaw() // raw, as it was signed; Immutable doesn't matter, nothing keeps it
	if len(body) > maxBody {
		return tooLarge()
	}
	if err := p.Authenticate(http.Header(c.GetReqHeaders()), body, h.Now()); err != nil {
		return &fault.Error{Kind: fault.Forbidden, Code: "UNAUTHENTICATED", Message: "The signature is missing, wrong or too old.", Err: err}
	}
	event, err := p.Translate(body)
	if err != nil {
		h.Logger.LogAttrs(c.UserContext(), slog.LevelWarn, "webhook not understood", slog.String("error", err.Error()))
		return &fault.Error{Kind: fault.Invalid, Code: "MALFORMED_BODY", Message: "The event could not be understood.", Err: err}
	}
	trace.Note(c.UserContext(), slog.String("provider_event_id", event.ID))
	receipt, err := inbox.Receive(c.UserContext(), h.DB, p.Name(), event, body)
	if err != nil {
		return err
	}
	if receipt.Deliveries > 1 {
		h.Metrics.absorbed.WithLabelValues("inbox").Inc()
	}
	h.Wake()
	return c.JSON(fiber.Map{"received": true, "deliveries": receipt.Deliveries})
}
