package web

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/components/ui"
	"onefold/domain/console"
)

// consoleOperations: GET /console/operations.
func (h *Handlers) consoleOperations(c *fiber.Ctx) error {
	q, err := listQuery(c, "type", "format")
	if err != nil {
		return err
	}
	if c.Query("format") != "" {
		return exported(h, c, "operations", q, console.Operations, operationNames, operationCells)
	}
	list, err := console.Operations(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	p, _ := h.consolePage(c, "operations")
	return h.render(c, fiber.StatusOK, view.Operations(p, view.OperationsModel{
		Filter: filterOf(q, append(console.OperationStates(), console.OperationViews()...), console.OperationTypes(), nil),
		Rows:   operationRows(list.Rows), Pager: pager(path.ConsoleOperations(), q, list.Newer, list.Older),
	}))
}

func operationRows(list []console.Operation) (rows []view.OperationRow) {
	for _, o := range list {
		r := view.OperationRow{
			ID: o.ID.String(), Type: string(o.Type), Key: o.Key, State: string(o.Status), OrderID: optional(o.OrderID), Order: number(o.OrderNumber),
			Attempts: o.Attempt, Result: outcome(o), NextAt: orZero(o.NextAttemptAt), CreatedAt: o.CreatedAt,
		}
		rows = append(rows, r)
	}
	return rows
}

// outcome is what came of an operation, in a few words.
func outcome(o console.Operation) string {
	switch {
	case o.FailureCode != "":
		return o.FailureCode
	case o.NextAttemptAt != nil:
		return o.LastError
	case o.ResourceID != "":
		return o.ResourceType + " " + ui.Middle(o.ResourceID)
	}
	return ""
}

// consolePayments: GET /console/payments.
func (h *Handlers) consolePayments(c *fiber.Ctx) error {
	q, err := listQuery(c, "provider", "format")
	if err != nil {
		return err
	}
	if c.Query("format") != "" {
		return exported(h, c, "payments", q, console.Payments, paymentNames, paymentCells)
	}
	list, err := console.Payments(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	p, _ := h.consolePage(c, "payments")
	m := view.PaymentsModel{
		Filter: filterOf(q, console.PaymentStates(), nil, console.Providers()), Pager: pager(path.ConsolePayments(), q, list.Newer, list.Older),
	}
	for _, r := range list.Rows {
		m.Rows = append(m.Rows, view.PaymentRow{
			ID: r.ID.String(), OrderID: r.OrderID.String(), Order: number(&r.OrderNumber), Attempt: r.Attempt, State: string(r.Status),
			Amount: r.Amount.Listed(h.lang(c)), Provider: r.Provider, ProviderRef: r.ProviderPaymentID, UpdatedAt: r.UpdatedAt,
		})
	}
	return h.render(c, fiber.StatusOK, view.Payments(p, m))
}

// consoleOrders: GET /console/orders.
func (h *Handlers) consoleOrders(c *fiber.Ctx) error {
	q, err := listQuery(c, "format")
	if err != nil {
		return err
	}
	if c.Query("format") != "" {
		return exported(h, c, "orders", q, console.Orders, orderNames, orderCells)
	}
	list, err := console.Orders(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	p, _ := h.consolePage(c, "orders")
	m := view.OrdersModel{
		Filter: filterOf(q, append(console.OrderStates(), console.OrderViews()...), nil, nil), Pager: pager(path.ConsoleOrders(), q, list.Newer, list.Older),
	}
	for _, r := range list.Rows {
		m.Rows = append(m.Rows, view.OrderRow{
			ID: r.ID.String(), Number: number(&r.Number), State: string(r.Status), Review: r.ReviewReason, Email: r.Email, Total: r.Total.Listed(h.lang(c)),
			Units: r.Units, CreatedAt: r.CreatedAt,
		})
	}
	return h.render(c, fiber.StatusOK, view.Orders(p, m))
}

// consoleInbox: GET /console/inbox.
func (h *Handlers) consoleInbox(c *fiber.Ctx) error {
	q, err := listQuery(c, "type", "provider", "format")
	if err != nil {
		return err
	}
	if c.Query("format") != "" {
		return exported(h, c, "inbox", q, console.IncomingEvents, incomingEventNames, incomingEventCells)
	}
	list, err := console.IncomingEvents(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	p, _ := h.consolePage(c, "inbox")
	m := view.InboxModel{
		Filter: filterOf(q, console.EventStates(), nil, console.Providers()), Pager: pager(path.ConsoleInbox(), q, list.Newer, list.Older),
	}
	for _, r := range list.Rows {
		m.Rows = append(m.Rows, view.InboxRow{
			ID: r.ID.String(), EventID: r.EventID, Provider: r.Provider, Type: r.Type, State: string(r.Status), Deliveries: r.Deliveries,
			OrderID: optional(r.OrderID), Order: number(r.OrderNumber), Reason: r.Reason, ReceivedAt: r.ReceivedAt,
		})
	}
	return h.render(c, fiber.StatusOK, view.Inbox(p, m))
}

// consoleOutbox: GET /console/outbox.
func (h *Handlers) consoleOutbox(c *fiber.Ctx) error {
	q, err := listQuery(c, "type", "format")
	if err != nil {
		return err
	}
	if c.Query("format") != "" {
		return exported(h, c, "outbox", q, console.OutboxEvents, outboxEventNames, outboxEventCells)
	}
	list, err := console.OutboxEvents(c.UserContext(), h.DB, q)
	if err != nil {
		return badAddress(err)
	}
	p, _ := h.consolePage(c, "outbox")
	m := view.OutboxModel{
		Filter: filterOf(q, console.OutboxStates(), console.OutboxTypes(), nil), Pager: pager(path.ConsoleOutbox(), q, list.Newer, list.Older),
	}
	for _, r := range list.Rows {
		m.Rows = append(m.Rows, view.OutboxRow{
			ID: r.ID.String(), Type: r.Type, State: r.State, OrderID: r.OrderID.String(), Order: number(r.OrderNumber), Attempts: r.Attempts,
			Lag: lag(r, h.Now()), Error: r.LastError, CreatedAt: r.CreatedAt,
		})
	}
	return h.render(c, fiber.StatusOK, view.Outbox(p, m))
}

// lag is how long a fact waited for its consequences, or waits until now.
func lag(e console.OutboxEvent, now time.Time) time.Duration {
	if e.DispatchedAt != nil {
		now = *e.DispatchedAt
	}
	return max(now.Sub(e.CreatedAt), 0)
}

func optional(id uuid.NullUUID) string {
	if !id.Valid {
		return ""
	}
	return id.UUID.String()
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

var operationNames = []string{"id", "type", "key", "state", "order_id", "order", "attempts", "result", "failure", "error", "created", "next", "completed"} //nolint:gochecknoglobals // a table

func operationCells(o console.Operation) []string {
	return []string{
		o.ID.String(), string(o.Type), o.Key, string(o.Status), optional(o.OrderID), number(o.OrderNumber), strconv.Itoa(o.Attempt), o.ResourceType + " " + o.ResourceID, o.FailureCode, o.LastError, stamp(&o.CreatedAt), stamp(o.NextAttemptAt), stamp(o.CompletedAt),
	}
}

var paymentNames = []string{"id", "order_id", "order", "attempt", "state", "amount", "refunded", "currency", "provider", "provider_id", "failure", "created", "updated"} //nolint:gochecknoglobals // a table

func paymentCells(o console.Payment) []string {
	return []string{
		o.ID.String(), o.OrderID.String(), number(&o.OrderNumber), strconv.Itoa(o.Attempt), string(o.Status), o.Amount.Decimal(), o.Refunded.Decimal(), o.Amount.Currency, o.Provider, o.ProviderPaymentID, o.FailureCode, stamp(&o.CreatedAt), stamp(&o.UpdatedAt),
	}
}

var orderNames = []string{"id", "order", "state", "review", "email", "total", "currency", "units", "created", "paid", "fulfilled", "closed"} //nolint:gochecknoglobals // a table

func orderCells(o console.OrderRow) []string {
	return []string{
		o.ID.String(), number(&o.Number), string(o.Status), o.ReviewReason, o.Email, o.Total.Decimal(), o.Total.Currency, strconv.Itoa(o.Units), stamp(&o.CreatedAt), stamp(o.PaidAt), stamp(o.FulfilledAt), stamp(o.ClosedAt),
	}
}

var incomingEventNames = []string{"id", "provider", "event_id", "type", "state", "reason", "deliveries", "attempts", "order_id", "order", "received", "processed"} //nolint:gochecknoglobals // a table

func incomingEventCells(o console.IncomingEvent) []string {
	return []string{
		o.ID.String(), o.Provider, o.EventID, o.Type, string(o.Status), o.Reason, strconv.Itoa(o.Deliveries), strconv.Itoa(o.Attempts), optional(o.OrderID), number(o.OrderNumber), stamp(&o.ReceivedAt), stamp(o.ProcessedAt),
	}
}

var outboxEventNames = []string{"id", "type", "state", "order_id", "order", "attempts", "error", "created", "dispatched", "parked"} //nolint:gochecknoglobals // a table

func outboxEventCells(o console.OutboxEvent) []string {
	return []string{
		o.ID.String(), o.Type, o.State, o.OrderID.String(), number(o.OrderNumber), strconv.Itoa(o.Attempts), o.LastError, stamp(&o.CreatedAt), stamp(o.DispatchedAt), stamp(o.ParkedAt),
	}
}
