package web

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/domain/checkout"
	"onefold/domain/operation"
	"onefold/domain/order"
)

type orderBody struct {
	Items []struct {
		ProductID string `json:"productId"`
		Quantity  whole  `json:"quantity"`
	} `json:"items"`
	Currency  string          `json:"currency"`
	PromoCode string          `json:"promoCode"`
	Delivery  *order.Delivery `json:"delivery"`
}

// apiOrderPlace: POST /api/orders.
func (h *Handlers) apiOrderPlace(c *fiber.Ctx) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	user := currentUser(c)
	identify(c, operation.Identity{User: user.ID, Type: checkout.CreateOrder, Key: key})
	var body orderBody
	if err := readJSON(c, &body); err != nil {
		return err
	}
	cmd := checkout.Command{
		UserID: user.ID, Key: key, Currency: body.Currency, PromoCode: body.PromoCode, Delivery: body.Delivery, Email: user.Email, Locale: "en",
	}
	for _, item := range body.Items {
		cmd.Items = append(cmd.Items, checkout.Item{ProductID: item.ProductID, Quantity: int(item.Quantity)})
	}
	out, err := h.Desk.Place(c.UserContext(), cmd)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}

// apiOrder: GET /api/orders/{id}.
func (h *Handlers) apiOrder(c *fiber.Ctx) error {
	o, err := h.ownOrder(c)
	if err != nil {
		return err
	}
	return c.JSON(o)
}

// apiPaymentRetry: POST /api/orders/{id}/payments.
func (h *Handlers) apiPaymentRetry(c *fiber.Ctx) error {
	return h.orderCommand(c, checkout.RetryPayment, h.Desk.Retry)
}

// apiOrderCancel: POST /api/orders/{id}/cancel.
func (h *Handlers) apiOrderCancel(c *fiber.Ctx) error {
	return h.orderCommand(c, checkout.CancelOrder, h.Desk.Cancel)
}

// orderCommand runs a command that needs nothing but an order and a key.
func (h *Handlers) orderCommand(
	c *fiber.Ctx, t operation.Type, run func(ctx context.Context, userID, orderID uuid.UUID, key string) (operation.Outcome, error),
) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	user := currentUser(c).ID
	identify(c, operation.Identity{User: user, Type: t, Target: "order:" + id.String(), Key: key})
	out, err := run(c.UserContext(), user, id, key)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}
