package web

import (
	"github.com/gofiber/fiber/v2"

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
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	o, err := checkout.Find(c.UserContext(), h.DB, currentUser(c).ID, id)
	if err != nil {
		return err
	}
	return c.JSON(o)
}

// apiPaymentRetry: POST /api/orders/{id}/payments.
func (h *Handlers) apiPaymentRetry(c *fiber.Ctx) error {
	key, err := h.key(c)
	if err != nil {
		return err
	}
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	identify(c, operation.Identity{User: currentUser(c).ID, Type: checkout.RetryPayment, Target: "order:" + id.String(), Key: key})
	out, err := h.Desk.Retry(c.UserContext(), currentUser(c).ID, id, key)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}
