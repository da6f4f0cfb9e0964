package web

import (
	"github.com/gofiber/fiber/v2"

	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/refund"
)

type refundBody struct {
	Amount *struct {
		Amount   string `json:"amount"`
		Currency string `json:"currency"`
	} `json:"amount"`
	Reason string `json:"reason"`
}

// parse reads the amount by the currency's own rules; nil means all that is left.
func (b refundBody) parse() (*money.Amount, error) {
	if b.Amount == nil {
		return nil, nil //nolint:nilnil // no amount is an amount
	}
	amount, err := money.Parse(b.Amount.Amount, b.Amount.Currency)
	if err != nil {
		return nil, fault.Validation(fault.Field{Field: "amount", Rule: "money", Message: "must be a decimal with the currency's own digits, and a currency code"})
	}
	return &amount, nil
}

// apiRefund: POST /api/orders/{id}/refunds, for operators and any order.
func (h *Handlers) apiRefund(c *fiber.Ctx) error {
	actor := currentUser(c)
	if !actor.Role.AtLeast(account.Operator) {
		return fault.New(fault.Forbidden, "FORBIDDEN", "Only operators may send money back.")
	}
	key, err := h.key(c)
	if err != nil {
		return err
	}
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	identify(c, operation.Identity{User: actor.ID, Type: refund.RefundOrder, Target: "order:" + id.String(), Key: key})
	var body refundBody
	if err := readJSON(c, &body); err != nil {
		return err
	}
	amount, err := body.parse()
	if err != nil {
		return err
	}
	out, err := refund.Create(c.UserContext(), h.Desk.Operations, actor.ID, id, key, amount, body.Reason, h.Operator.Alone)
	if err != nil {
		return err
	}
	return h.answer(c, out)
}
