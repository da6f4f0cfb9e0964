package web

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
)

type productJSON struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Kind        catalog.Kind `json:"kind"`
	Description string       `json:"description"`
	Price       money.Amount `json:"price"`
	Stock       int          `json:"stock"`
}

// apiProducts: GET /api/products[?currency=…].
func (h *Handlers) apiProducts(c *fiber.Ctx) error {
	currency := strings.ToUpper(strings.TrimSpace(c.Query("currency", catalog.DefaultCurrency)))
	if !money.Valid(currency) {
		return fault.Validation(fault.Field{Field: "currency", Rule: "iso4217", Message: "must be a currency code such as RUB"})
	}
	products, err := catalog.List(c.UserContext(), h.DB, currency, "en")
	if err != nil {
		return err
	}
	out := make([]productJSON, len(products))
	for i, p := range products {
		out[i] = productJSON{ID: p.ID, Name: p.Name, Kind: p.Kind, Description: p.Blurb, Price: p.Price, Stock: p.Stock}
	}
	return c.JSON(out)
}

// apiPayment: GET /api/payments/{id}.
func (h *Handlers) apiPayment(c *fiber.Ctx) error {
	id, err := paramID(c, "payment")
	if err != nil {
		return err
	}
	p, err := checkout.FindPayment(c.UserContext(), h.DB, currentUser(c).ID, id)
	if err != nil {
		return err
	}
	return c.JSON(p)
}

type operationJSON struct {
	ID          uuid.UUID        `json:"operationId"`
	Type        operation.Type   `json:"type"`
	Status      operation.Status `json:"status"`
	Resource    *resourceJSON    `json:"resource"`
	Response    *responseJSON    `json:"response,omitempty"`
	Failure     string           `json:"failure,omitempty"`
	Attempts    int              `json:"attempts"`
	CreatedAt   time.Time        `json:"createdAt"`
	CompletedAt *time.Time       `json:"completedAt,omitempty"`
	ExpiresAt   *time.Time       `json:"expiresAt"` // null while it is running: it is never removed unfinished
}

type resourceJSON struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type responseJSON struct {
	Code int `json:"code"`
}

// apiOperation: GET /api/operations/{id}.
func (h *Handlers) apiOperation(c *fiber.Ctx) error {
	id, err := paramID(c, "operation")
	if err != nil {
		return err
	}
	op, err := operation.Find(c.UserContext(), h.DB, currentUser(c).ID, id)
	if err != nil {
		return err
	}
	out := operationJSON{
		ID: op.ID, Type: op.Type, Status: op.Status, Failure: op.FailureCode, Attempts: op.Attempt, CreatedAt: op.CreatedAt,
		CompletedAt: op.CompletedAt, ExpiresAt: op.ExpiresAt,
	}
	if op.Result.ResourceID != "" {
		out.Resource = &resourceJSON{Type: op.Result.ResourceType, ID: op.Result.ResourceID}
	}
	if op.Result.Code != 0 {
		out.Response = &responseJSON{Code: op.Result.Code}
	}
	return c.JSON(out)
}
