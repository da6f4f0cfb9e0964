package web

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// problem is RFC 9457's document with our members (CONTRACT section 2).
type problem struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Code        string        `json:"code"`
	Detail      string        `json:"detail"`
	OperationID string        `json:"operationId,omitempty"`
	TraceID     string        `json:"traceId"`
	Errors      []fault.Field `json:"errors,omitempty"`
}

// statusOfKind and statusOfCode are the one table from errors to HTTP; a code's own status wins.
var (
	statusOfKind = map[fault.Kind]int{ //nolint:gochecknoglobals // a table
		fault.Invalid: 422, fault.NotFound: 404, fault.Forbidden: 403, fault.Conflict: 409, fault.KeyReused: 409,
		fault.InProgress: 409, fault.Gone: 410, fault.Unavailable: 503, fault.Internal: 500,
	}
	statusOfCode = map[string]int{ //nolint:gochecknoglobals // a table
		"MALFORMED_BODY": 400, "IDEMPOTENCY_KEY_MISSING": 400, "IDEMPOTENCY_KEY_INVALID": 400, "BAD_REQUEST": 400, "UNAUTHENTICATED": 401,
		"REQUEST_TIMEOUT": 408, "PAYLOAD_TOO_LARGE": 413, "RATE_LIMITED": 429,
	}
)

func statusOf(e *fault.Error) int {
	if status, ok := statusOfCode[e.Code]; ok {
		return status
	}
	return statusOfKind[e.Kind]
}

// understand turns any error into a domain error. What isn't one is a defect or an outage: its text goes to the log only.
func understand(err error) *fault.Error {
	if e, ok := fault.Of(err); ok {
		return e
	}
	if fe, ok := errors.AsType[*fiber.Error](err); ok {
		switch fe.Code {
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			return fault.Missing("page")
		case http.StatusRequestTimeout: // also said to a connection that never sent anything, which clients know how to take
			return fault.New(fault.Invalid, "REQUEST_TIMEOUT", "The request did not arrive in time. Please send the same request again.")
		case http.StatusRequestEntityTooLarge:
			return tooLarge()
		}
		if fe.Code < http.StatusInternalServerError {
			return fault.New(fault.Invalid, "BAD_REQUEST", "The request could not be read.")
		}
	}
	if store.IsTransient(err) {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "TEMPORARILY_UNAVAILABLE", Message: "Please send the same request again.", RetryAfter: time.Second, Err: err,
		}
	}
	return &fault.Error{Kind: fault.Internal, Code: "INTERNAL", Message: "Something went wrong on our side. Sending the same request again is safe.", Err: err}
}

// fail is Fiber's error handler: one line in the log, then a problem document or a page. Nothing above it catches a panic, so
// a page that can't be shown is replaced by a line of text.
func (h *Handlers) fail(c *fiber.Ctx, err error) (failed error) {
	defer func() {
		if r := recover(); r != nil {
			h.Logger.LogAttrs(c.UserContext(), slog.LevelError, "error page failed", slog.Any("panic", r))
			failed = c.Status(fiber.StatusInternalServerError).SendString("Something went wrong on our side.\n")
		}
	}()
	if len(c.Response().Header.Peek("Trace-Id")) == 0 { // refused before any middleware ran
		c.SetUserContext(trace.Start(c.UserContext(), c.Get("traceparent")))
		c.Set("Trace-Id", trace.ID(c.UserContext()))
		h.setSecureHeaders(c)
	}
	e := understand(err)
	if e.Kind == fault.Internal || e.Kind == fault.Unavailable {
		h.Logger.LogAttrs(c.UserContext(), slog.LevelError, "request failed", slog.String("code", e.Code), slog.String("error", err.Error()))
	}
	if isMachine(c.Path()) {
		return writeProblem(c, e, trace.ID(c.UserContext()))
	}
	return h.errorPage(c, e)
}

func isMachine(path string) bool {
	for _, prefix := range []string{"/api/", "/webhooks/", "/healthz/", "/readyz/", "/metrics/", "/console/river/api/"} {
		if strings.HasPrefix(path+"/", prefix) {
			return true
		}
	}
	return false
}

func writeProblem(c *fiber.Ctx, e *fault.Error, traceID string) error {
	status := statusOf(e)
	setErrorHeaders(c, e)
	body, err := json.Marshal(problem{
		Type: "urn:onefold:problem:" + strings.ToLower(strings.ReplaceAll(e.Code, "_", "-")), Title: http.StatusText(status), Status: status,
		Code: e.Code, Detail: e.Message, OperationID: e.OperationID, TraceID: traceID, Errors: e.Fields,
	})
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "application/problem+json")
	return c.Status(status).Send(body)
}

func setErrorHeaders(c *fiber.Ctx, e *fault.Error) {
	if e.OperationID != "" {
		c.Set("Operation-Id", e.OperationID)
	}
	if e.Kind == fault.InProgress {
		c.Set(fiber.HeaderLocation, "/api/operations/"+e.OperationID)
	}
	retry := e.RetryAfter
	if retry == 0 && e.Kind == fault.Unavailable {
		retry = time.Second
	}
	if retry > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(retry.Seconds()))))
	}
	if e.Code == "UNAUTHENTICATED" {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	}
}

func tooLarge() *fault.Error {
	return fault.New(fault.Invalid, "PAYLOAD_TOO_LARGE", "A body has at most 256 KiB.")
}
