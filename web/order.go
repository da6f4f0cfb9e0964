package web

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"onefold/components/path"
	"onefold/components/shop"
	"onefold/components/ui"
	"onefold/domain/account"
	"onefold/domain/cart"
	"onefold/domain/catalog"
	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

// order: GET /orders/{id} is the only place that tells the truth about an order.
func (h *Handlers) order(c *fiber.Ctx) error {
	o, err := h.ownOrder(c)
	if fault.KindOf(err) == fault.NotFound && err != nil && currentUser(c).Email == "" {
		return h.askForEmail(c, fiber.StatusNotFound, shop.FindOrderModel{})
	}
	if err != nil {
		return err
	}
	return h.render(c, fiber.StatusOK, shop.Order(h.page(c), h.orderModel(c, o)))
}

// ownOrder is the order that the address names, if it is the visitor's.
func (h *Handlers) ownOrder(c *fiber.Ctx) (checkout.Order, error) {
	id, err := paramID(c, "order")
	if err != nil {
		return checkout.Order{}, err
	}
	return checkout.Find(c.UserContext(), h.DB, currentUser(c).ID, id)
}

func (h *Handlers) orderModel(c *fiber.Ctx, o checkout.Order) shop.OrderModel {
	lang, last := h.lang(c), o.Payments[len(o.Payments)-1]
	now := h.Now()
	state := shop.StateOf(string(o.Status), string(last.Status), last.ConfirmationURL != "", now.Sub(last.UpdatedAt))
	m := shop.OrderModel{
		ID: o.ID.String(), Number: strconv.FormatInt(o.Number, 10), PlacedAt: o.CreatedAt, Reference: o.OperationID.String(),
		RetryKey: "retry-" + last.ID.String(), // one per attempt: every tab and reload sends the same
		Progress: progress(o, last),
		Totals:   shop.Totals{Total: o.Total.Display(lang)},
		Status: shop.StatusCard{
			State: state, Amount: o.Total.Display(lang), Mail: account.MaskEmail(o.Email), CheckedAt: now,
			PollEvery: shop.PollEvery(state, now.Sub(lastChange(o, last))), PaysAt: hostOf(last.ConfirmationURL),
			CanCancel: o.Status == order.AwaitingPayment && last.Status != payment.Unknown, NextCheck: orZero(o.NextLook),
			Reason: shop.ReasonOf(string(last.Status), last.Failure),
		},
	}
	if h.OrderTTL > 0 && o.Status == order.AwaitingPayment {
		m.Status.Until = o.CreatedAt.Add(h.OrderTTL)
	}
	if o.Discount.Minor > 0 {
		m.Totals.Subtotal, m.Totals.Discount, m.Totals.Promo = o.Subtotal.Display(lang), "−"+o.Discount.Display(lang), o.PromoCode
	}
	for _, i := range o.Items {
		sum := i.Price
		sum.Minor *= int64(i.Quantity)
		m.Lines = append(m.Lines, shop.Line{
			ID: i.ProductID, Kind: string(i.Kind), Name: i.Name, Quantity: i.Quantity, Each: i.Price.Display(lang), Sum: sum.Display(lang),
		})
		for _, key := range i.Licenses {
			m.Keys = append(m.Keys, shop.LicenseKey{Product: i.Name, Key: key})
		}
	}
	for _, p := range o.Shipments {
		m.Parcels = append(m.Parcels, shop.Parcel{Number: p.Parcel, State: parcelState(p), Tracking: p.Tracking})
	}
	if o.Delivery != nil && has(o, catalog.Physical) {
		m.Address = h.addressLines(c, o.Delivery.Address)
		if currentUser(c).Email == "" { // whoever finds this browser isn't told where the guest lives
			m.Address = h.addressLines(c, masked(o.Delivery.Address))
		}
	}
	if o.PaidAt != nil {
		m.Receipt = shop.Receipt{Number: m.Number, PaidAt: *o.PaidAt, Amount: m.Status.Amount, Email: m.Status.Mail, Refunded: refunded(o, lang)}
	}
	return m
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// refunded is what has gone back of what paid the order; "" for nothing.
func refunded(o checkout.Order, lang string) string {
	if o.Status != order.PartiallyRefunded && o.Status != order.Refunded {
		return ""
	}
	sum := money.Amount{Currency: o.Total.Currency}
	for _, r := range o.Refunds {
		if r.Status == refund.Succeeded {
			sum.Minor += r.Amount.Minor
		}
	}
	return sum.Display(lang)
}

// lastChange is when the order last moved: from then on the page looks less and less often.
func lastChange(o checkout.Order, last checkout.Payment) time.Time {
	if o.PaidAt != nil && o.PaidAt.After(last.UpdatedAt) {
		return *o.PaidAt
	}
	return last.UpdatedAt
}

func progress(o checkout.Order, last checkout.Payment) []shop.Step {
	steps := []shop.Step{{Key: "placed", At: o.CreatedAt}}
	switch {
	case o.Status == order.Canceled:
		return append(steps, shop.Step{Key: "canceled", At: last.UpdatedAt, Tone: ui.Neutral})
	case o.Status == order.Expired:
		return append(steps, shop.Step{Key: "expired", At: last.UpdatedAt, Tone: ui.Neutral})
	case o.PaidAt == nil && last.Status == payment.Unknown:
		steps = append(steps, shop.Step{Key: "unknown", At: last.UpdatedAt, Tone: ui.Unknown})
	case o.PaidAt == nil && (last.Status == payment.Failed || last.Status == payment.Canceled):
		return append(steps, shop.Step{Key: "declined", At: last.UpdatedAt, Tone: ui.Bad})
	case last.ConfirmationURL != "" || o.PaidAt != nil:
		steps = append(steps, shop.Step{Key: "payment", At: last.CreatedAt})
	default:
		steps = append(steps, shop.Step{Key: "payment"})
	}
	steps = append(steps, shop.Step{Key: "paid", At: orZero(o.PaidAt)})
	if has(o, catalog.License) {
		steps = append(steps, shop.Step{Key: "keys", At: effectAt(o, fulfilment.IssueLicenses)})
	}
	if has(o, catalog.Physical) {
		steps = append(steps, shop.Step{Key: "shipped", At: effectAt(o, fulfilment.ShipParcel)})
	}
	return append(steps, shop.Step{Key: "fulfilled", At: orZero(o.FulfilledAt)})
}

// effectAt is when the last operation of an effect ended; the zero time while one is open.
func effectAt(o checkout.Order, t operation.Type) (at time.Time) {
	for _, e := range o.Fulfilment {
		switch {
		case e.Type != t:
		case e.Status != operation.Completed:
			return time.Time{}
		case e.CompletedAt.After(at):
			at = *e.CompletedAt
		}
	}
	return at
}

func orZero(t *time.Time) (zero time.Time) {
	if t != nil {
		return *t
	}
	return zero
}

// orderPay: GET /orders/{id}/pay leads to the hosted page while there is something to pay; it changes nothing.
func (h *Handlers) orderPay(c *fiber.Ctx) error {
	o, err := h.ownOrder(c)
	if err != nil {
		return err
	}
	if last := o.Payments[len(o.Payments)-1]; last.Status == payment.Pending && last.ConfirmationURL != "" {
		return c.Redirect(last.ConfirmationURL, fiber.StatusSeeOther)
	}
	return c.Redirect(path.Order(o.ID.String()), fiber.StatusSeeOther)
}

// payReturn: GET /pay/return believes nothing that stands in the address; the order's page shows what is known.
func (h *Handlers) payReturn(c *fiber.Ctx) error {
	id, err := uuid.Parse(c.Query("order"))
	if err != nil {
		return c.Redirect(path.Orders(), fiber.StatusSeeOther)
	}
	return c.Redirect(path.Order(id.String()), fiber.StatusSeeOther)
}

// orderRetry: POST /orders/{id}/payments starts another attempt for the same order.
func (h *Handlers) orderRetry(c *fiber.Ctx) error {
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	key, err := operation.ParseKey([]string{c.FormValue("key")})
	if err != nil {
		return err
	}
	if _, err := h.Desk.Retry(c.UserContext(), currentUser(c).ID, id, key); err != nil {
		return err
	}
	h.Wake()
	return redirect(c, path.Order(id.String()))
}

// orderCancel: POST /orders/{id}/cancel. The key is the order's own: canceling twice is one intent.
func (h *Handlers) orderCancel(c *fiber.Ctx) error {
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	_, err = h.Desk.Cancel(c.UserContext(), currentUser(c).ID, id, "cancel-"+id.String())
	if err != nil && fault.KindOf(err) != fault.InProgress { // the page shows how it goes on
		return err
	}
	if err == nil && c.FormValue("change") != "" { // the same things, in the basket again, to be ordered otherwise
		return h.orderBuyAgain(c)
	}
	return redirect(c, path.Order(id.String()))
}

// orderBuyAgain: POST /orders/{id}/buy-again fills the open basket, which has its own key: a new purchase on purpose.
func (h *Handlers) orderBuyAgain(c *fiber.Ctx) error {
	id, err := paramID(c, "order")
	if err != nil {
		return err
	}
	user := currentUser(c)
	if user.ID == (account.ID{}) { // a visitor has no order, and there is nobody whose basket could be filled
		return fault.Missing("order")
	}
	if err := cart.Copy(c.UserContext(), h.DB, user.ID, id); err != nil {
		return err
	}
	return redirect(c, path.Cart())
}

const ordersPerPage = 20

// orders: GET /orders.
func (h *Handlers) orders(c *fiber.Ctx) error {
	before, _ := uuid.Parse(c.Query("before"))
	list, err := checkout.ListOrders(c.UserContext(), h.DB, currentUser(c).ID, before, ordersPerPage+1)
	if err != nil {
		return err
	}
	m := shop.OrdersModel{}
	if len(list) > ordersPerPage {
		list = list[:ordersPerPage]
		m.Pager.Older = path.WithQuery(path.Orders(), "before", list[ordersPerPage-1].ID.String())
	}
	if before != uuid.Nil {
		m.Pager.Newer = path.Orders()
	}
	for _, o := range list {
		row := shop.OrderRow{
			ID: o.ID.String(), Number: fmt.Sprint(o.Number), PlacedAt: o.CreatedAt, Total: o.Total.Display(h.lang(c)), Status: string(o.Status), Count: o.Units,
		}
		for _, p := range o.Products {
			row.Items = append(row.Items, shop.Line{ID: p})
		}
		m.Orders = append(m.Orders, row)
	}
	return h.render(c, fiber.StatusOK, shop.Orders(h.page(c), m))
}
