package web

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"onefold/domain/fault"
	"onefold/domain/trace"
)

// requestLimit ends a request's own work; it never depends on the client staying connected.
const requestLimit = 10 * time.Second

// observe gives the request its trace and its one line in the log, and counts it.
func (h *Handlers) observe(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	ctx = trace.Gather(trace.Start(ctx, c.Get("traceparent")))
	c.SetUserContext(ctx)
	c.Set("Trace-Id", trace.ID(ctx))
	start := time.Now() //nolint:forbidigo // it measures this process
	if err := c.Next(); err != nil {
		if err := h.fail(c, err); err != nil {
			return err
		}
	}
	elapsed := time.Since(start)
	route := c.Route().Path
	h.Metrics.count(c.Method(), route, c.Response().StatusCode(), elapsed)
	h.Logger.LogAttrs(c.UserContext(), slog.LevelInfo, "request",
		slog.String("method", c.Method()), slog.String("path", c.Path()), slog.Int("status", c.Response().StatusCode()),
		slog.Float64("ms", float64(elapsed.Microseconds())/1000))
	return nil
}

// knownMethods refuses other methods as everything else is refused; Fiber would answer before any middleware.
func (h *Handlers) knownMethods(app *fiber.App) fasthttp.RequestHandler {
	next := app.Server().Handler
	return func(request *fasthttp.RequestCtx) {
		if slices.Contains(fiber.DefaultMethods, string(request.Method())) {
			next(request)
			return
		}
		c := app.AcquireCtx(request)
		defer app.ReleaseCtx(c)
		_ = h.fail(c, fiber.ErrBadRequest)
	}
}

// recoverPanics makes a panic an error of this one request.
func recoverPanics(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &fault.Error{
				Kind: fault.Internal, Code: "INTERNAL", Message: "Something went wrong on our side. Sending the same request again is safe.",
				Err: fmt.Errorf("panic: %v\n%s", r, debug.Stack()),
			}
		}
	}()
	return c.Next()
}

// secure sets the headers that every answer carries.
func (h *Handlers) secure(c *fiber.Ctx) error {
	h.setSecureHeaders(c)
	return c.Next()
}

// setSecureHeaders (UX A.4): nothing inline, nothing from elsewhere; forms may only lead to us and to the hosted payment pages.
// Nothing is stored on the way unless a handler says otherwise.
func (h *Handlers) setSecureHeaders(c *fiber.Ctx) {
	formAction := strings.Join(append([]string{"'self'"}, h.PayOrigins...), " ")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action "+formAction+"; base-uri 'none'; frame-ancestors 'none'")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	if strings.HasPrefix(h.PublicURL, "https:") {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
}

// limitBody refuses what is too large or compressed (a small gzip can be a gigabyte).
func limitBody(c *fiber.Ctx) error {
	if c.Get(fiber.HeaderContentEncoding) != "" {
		return fault.New(fault.Invalid, "MALFORMED_BODY", "Content-Encoding is not supported; send the body as it is.")
	}
	if len(c.BodyRaw()) > maxBody {
		return tooLarge()
	}
	return c.Next()
}
