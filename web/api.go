package web

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/trace"
)

const localUser = "user"

// requireToken answers 401 unless the bearer token is known.
func (h *Handlers) requireToken(c *fiber.Ctx) error {
	scheme, token, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return fault.New(fault.Forbidden, "UNAUTHENTICATED", "Send your API token as Authorization: Bearer <token>.")
	}
	u, err := h.Tokens.User(c.UserContext(), strings.TrimSpace(token))
	if err != nil {
		return err
	}
	c.Locals(localUser, u)
	return c.Next()
}

func currentUser(c *fiber.Ctx) account.User {
	u, _ := c.Locals(localUser).(account.User)
	return u
}

// readJSON decodes strictly: UTF-8, no duplicate names, nothing after the value; unknown names are ignored.
func readJSON(c *fiber.Ctx, into any) error {
	err := json.Unmarshal(c.BodyRaw(), into)
	if err == nil {
		return nil
	}
	e := &fault.Error{Kind: fault.Invalid, Code: "MALFORMED_BODY", Message: "The body is not the JSON object that this call takes.", Err: err}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		e.Fields = []fault.Field{{Field: fieldPath(semantic.JSONPointer), Rule: "type", Message: "has the wrong JSON type"}}
	case errors.As(err, &syntactic) && errors.Is(err, jsontext.ErrDuplicateName):
		e.Fields = []fault.Field{{Field: fieldPath(syntactic.JSONPointer), Rule: "unique", Message: "occurs twice"}}
	}
	return e
}

// fieldPath writes a JSON pointer as CONTRACT writes fields: /items/0/quantity → items[0].quantity.
func fieldPath(pointer jsontext.Pointer) string {
	var out strings.Builder
	for part := range pointer.Tokens() {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			fmt.Fprintf(&out, "[%s]", part)
		case out.Len() > 0:
			out.WriteString("." + part)
		default:
			out.WriteString(part)
		}
	}
	return out.String()
}

// whole is a JSON number without a fraction, however it is written: 1, 1.0, 1e0. What an int32 can't hold becomes its limit,
// which every rule refuses.
type whole int

// UnmarshalJSON implements json.Unmarshaler.
func (w *whole) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || (f != math.Trunc(f)) {
		return fmt.Errorf("%q is not a whole number", data)
	}
	*w = whole(min(max(f, math.MinInt32), math.MaxInt32))
	return nil
}

func paramID(c *fiber.Ctx, what string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return id, fault.Missing(what)
	}
	trace.Note(c.UserContext(), slog.String(what+"_id", id.String()))
	return id, nil
}

// identify names the command's operation in the answer and the log, whatever the answer will be.
func identify(c *fiber.Ctx, i operation.Identity) {
	id := i.ID().String()
	trace.Note(c.UserContext(), slog.String("operation_id", id))
	c.Set("Operation-Id", id)
}

func (h *Handlers) key(c *fiber.Ctx) (string, error) {
	var lines []string
	c.Request().Header.VisitAll(func(name, value []byte) {
		if strings.EqualFold(string(name), "Idempotency-Key") {
			lines = append(lines, string(value))
		}
	})
	key, err := operation.ParseKey(lines)
	if err == nil {
		trace.Note(c.UserContext(), slog.String("idempotency_key", key))
	}
	return key, err
}

// collections say where a new resource can be read.
var collections = map[string]string{"order": "/api/orders/", "payment": "/api/payments/", "reconciliation": "/api/reconciliations/"} //nolint:gochecknoglobals // a table

// mark says on an answer whose it is and whether it is a repeat; what is new may have made something due.
func (h *Handlers) mark(c *fiber.Ctx, out operation.Outcome) {
	c.Set("Operation-Id", out.ID.String())
	if out.Replayed {
		c.Set("Idempotent-Replayed", "true")
		h.Metrics.absorbed.WithLabelValues("operation").Inc()
	} else {
		h.Wake()
	}
}

// answer writes a command's outcome: the same bytes for every try at the same intent.
func (h *Handlers) answer(c *fiber.Ctx, out operation.Outcome) error {
	h.mark(c, out)
	if out.Failure != nil {
		return writeProblem(c, out.Failure, out.TraceID)
	}
	trace.Note(c.UserContext(), slog.String("order_id", out.Result.OrderID.String()),
		slog.String(out.Result.ResourceType+"_id", out.Result.ResourceID))
	if collection, ok := collections[out.Result.ResourceType]; ok && out.Result.Code != fiber.StatusOK {
		c.Set(fiber.HeaderLocation, collection+out.Result.ResourceID)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(out.Result.Code).SendString(out.Result.Body)
}
