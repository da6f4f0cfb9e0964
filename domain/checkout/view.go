package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/catalog"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/refund"
	"onefold/domain/store"
)

// Order is an order as its buyer sees it. It is the result that CREATE_ORDER stores, so its JSON is part of the contract.
type Order struct {
	ID           uuid.UUID     `json:"orderId"`
	Number       int64         `json:"number,omitempty"` // for people; not yet known in the answer that creates the order
	Status       order.State   `json:"status"`
	NeedsReview  bool          `json:"needsReview"`
	ReviewReason string        `json:"reviewReason,omitempty"`
	Subtotal     money.Amount  `json:"subtotal"`
	Discount     money.Amount  `json:"discount"`
	Total        money.Amount  `json:"total"`
	PromoCode    string        `json:"promoCode,omitempty"`
	Items        []OrderedItem `json:"items"`
	OperationID  uuid.UUID     `json:"operationId"`
	Payments     []Payment     `json:"payments"`
	Refunds      []Refund      `json:"refunds"`
	Fulfilment   []Effect      `json:"fulfilment"`
	Shipments    []Shipment    `json:"shipments"`
	CreatedAt    time.Time     `json:"createdAt"`
	PaidAt       *time.Time    `json:"paidAt,omitempty"`
	FulfilledAt  *time.Time    `json:"fulfilledAt,omitempty"`

	UserID uuid.UUID `json:"-"`
	Email  string    `json:"-"`
	Name   string    `json:"-"`

	Delivery *order.Delivery `json:"-"` // nil without one
	NextLook *time.Time      `json:"-"` // when the provider is asked next about the payment; nil when it isn't
}

// OrderedItem is one line; Price is per unit.
type OrderedItem struct {
	ProductID string       `json:"productId"`
	Kind      catalog.Kind `json:"kind"`
	Name      string       `json:"name"`
	Quantity  int          `json:"quantity"`
	Price     money.Amount `json:"price"`
	Licenses  []string     `json:"licenses,omitempty"` // one key per unit, once issued
}

// Payment is an attempt as its payer sees it.
type Payment struct {
	ID                uuid.UUID     `json:"paymentId"`
	OrderID           uuid.UUID     `json:"orderId"`
	Attempt           int           `json:"attempt"`
	Status            payment.State `json:"status"`
	Amount            money.Amount  `json:"amount"`
	ConfirmationURL   string        `json:"confirmationUrl,omitempty"`
	ProviderPaymentID string        `json:"providerPaymentId,omitempty"`
	Failure           string        `json:"failure,omitempty"`
	CreatedAt         time.Time     `json:"createdAt"`
	UpdatedAt         time.Time     `json:"updatedAt"`
}

// Refund is money on its way back to the payer, or there.
type Refund struct {
	ID        uuid.UUID    `json:"refundId"`
	PaymentID uuid.UUID    `json:"paymentId"`
	Status    refund.State `json:"status"`
	Amount    money.Amount `json:"amount"`
	CreatedAt time.Time    `json:"createdAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
}

// Effect is one consequence of a payment.
type Effect struct {
	Type        operation.Type   `json:"type"`
	Status      operation.Status `json:"status"`
	Failure     string           `json:"failure,omitempty"`
	CompletedAt *time.Time       `json:"completedAt,omitempty"`
}

// Shipment is a parcel as its recipient sees it.
type Shipment struct {
	Parcel      int                      `json:"parcel"` // from 1
	Status      fulfilment.ShipmentState `json:"status"`
	Tracking    string                   `json:"tracking,omitempty"`
	UpdatedAt   time.Time                `json:"updatedAt"`
	DeliveredAt *time.Time               `json:"deliveredAt,omitempty"`
}

// fresh is the order at the moment it is made.
func fresh(o order.New, p payment.New) Order {
	out := Order{
		ID: o.ID, Status: order.AwaitingPayment, Subtotal: o.Subtotal, Discount: o.Discount, Total: o.Total, PromoCode: o.PromoCode,
		OperationID: o.OperationID, CreatedAt: o.CreatedAt, Refunds: []Refund{}, Fulfilment: []Effect{}, Shipments: []Shipment{},
		Payments: []Payment{{
			ID: p.ID, OrderID: o.ID, Attempt: p.Attempt, Status: payment.Created, Amount: p.Amount, CreatedAt: o.CreatedAt, UpdatedAt: o.CreatedAt,
		}},
	}
	for _, l := range o.Lines {
		out.Items = append(out.Items, OrderedItem{ProductID: l.ProductID, Kind: catalog.Kind(l.Kind), Name: l.Name, Quantity: l.Quantity, Price: l.Price})
	}
	return out
}

const orderSQL = `SELECT jsonb_build_object('items', (
		SELECT coalesce(jsonb_agg(jsonb_build_object('productId', i.product_id, 'kind', i.kind, 'name', i.name, 'quantity', i.quantity, 'minor', i.price_minor,
			'licenses', (SELECT jsonb_agg(l.license_key ORDER BY l.unit) FROM licenses l WHERE l.order_item_id = i.id AND l.revoked_at IS NULL))
			ORDER BY i.id), '[]') FROM order_items i WHERE i.order_id = o.id)),
	o.id, o.number, o.user_id, o.status, o.needs_review, coalesce(o.review_reason, ''), o.currency, o.subtotal_minor, o.discount_minor,
	o.total_minor, coalesce(o.promo_code, ''), o.operation_id, o.created_at, o.paid_at, o.fulfilled_at, coalesce(o.email, ''), coalesce(o.customer_name, ''), o.delivery
	FROM orders o `

// effectSQL lists the effects by their operations; those that retention has removed, by what they made.
const effectSQL = `WITH ops AS (
		SELECT type, status, coalesce(failure_code, '') AS failure, completed_at, key FROM operations op
		WHERE order_id = $1 AND type = ANY($2) AND NOT ` + fulfilment.Superseded + `
	), made(type, at, key) AS (
		SELECT 'ISSUE_LICENSES', max(issued_at), '' FROM licenses WHERE order_id = $1
		UNION ALL SELECT 'ACCRUE_BONUS', created_at, '' FROM bonus_entries WHERE order_id = $1 AND kind = 'ACCRUAL'
		UNION ALL SELECT 'SHIP_PARCEL', updated_at, provider_key FROM shipments WHERE order_id = $1 AND status = 'SUCCEEDED'
		UNION ALL SELECT 'SEND_NOTIFICATION', sent_at, '' FROM notifications WHERE order_id = $1 AND kind = 'order-paid'
	), effects AS (
		SELECT type, status, failure, completed_at, key FROM ops
		UNION ALL SELECT type, 'COMPLETED', '', at, key FROM made WHERE at IS NOT NULL AND type NOT IN (SELECT type FROM ops)
	)
	SELECT type, status, failure, completed_at FROM effects ORDER BY array_position($2, type), key`

// Find reads one order of a user; anybody else's is NotFound.
func Find(ctx context.Context, q store.Querier, userID, id uuid.UUID) (Order, error) {
	b := &pgx.Batch{}
	b.Queue(orderSQL+`WHERE o.id = $1 AND o.user_id = $2`, id, userID)
	b.Queue(paymentSQL+`JOIN orders o ON o.id = p.order_id WHERE p.order_id = $1 AND o.user_id = $2 ORDER BY p.attempt`, id, userID)
	b.Queue(`SELECT r.id, r.payment_id, r.status, r.amount_minor, r.currency, r.created_at, r.updated_at FROM refunds r JOIN orders o ON o.id = r.order_id
		WHERE r.order_id = $1 AND o.user_id = $2 ORDER BY r.id`, id, userID)
	b.Queue(effectSQL, id, fulfilment.Types())
	b.Queue(`SELECT s.parcel, s.status, coalesce(s.tracking, ''), s.updated_at, s.delivered_at FROM shipments s JOIN orders o ON o.id = s.order_id
		WHERE s.order_id = $1 AND o.user_id = $2 ORDER BY s.parcel`, id, userID)
	b.Queue(`SELECT min(next_attempt_at) FROM operations WHERE order_id = $1 AND type = ANY($2) AND status = 'PROCESSING'`,
		id, []operation.Type{payment.CreatePayment, payment.WatchPayment})
	results := q.SendBatch(ctx, b)
	defer results.Close()
	o, err := scanOrder(results.QueryRow())
	if errors.Is(err, pgx.ErrNoRows) {
		return o, fault.Missing("order")
	}
	if err != nil {
		return o, fmt.Errorf("read order: %w", err)
	}
	if o.Payments, err = collect(results, scanPayment); err != nil {
		return o, fmt.Errorf("read payments: %w", err)
	}
	if o.Refunds, err = collect(results, scanRefund); err != nil {
		return o, fmt.Errorf("read refunds: %w", err)
	}
	if o.Fulfilment, err = collect(results, pgx.RowToStructByPos[Effect]); err != nil {
		return o, fmt.Errorf("read effects: %w", err)
	}
	if o.Shipments, err = collect(results, pgx.RowToStructByPos[Shipment]); err != nil {
		return o, fmt.Errorf("read shipments: %w", err)
	}
	if err := results.QueryRow().Scan(&o.NextLook); err != nil {
		return o, fmt.Errorf("read next look: %w", err)
	}
	return o, nil
}

func collect[T any](results pgx.BatchResults, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	out, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("collect rows: %w", err)
	}
	return out, nil
}

func scanOrder(row pgx.Row) (o Order, err error) {
	var raw []byte
	var currency string
	err = row.Scan(&raw, &o.ID, &o.Number, &o.UserID, &o.Status, &o.NeedsReview, &o.ReviewReason, &currency, &o.Subtotal.Minor, &o.Discount.Minor,
		&o.Total.Minor, &o.PromoCode, &o.OperationID, &o.CreatedAt, &o.PaidAt, &o.FulfilledAt, &o.Email, &o.Name, &o.Delivery)
	if err != nil {
		return o, err
	}
	o.Subtotal.Currency, o.Discount.Currency, o.Total.Currency = currency, currency, currency
	var lists struct {
		Items []struct {
			ProductID, Kind, Name string
			Quantity              int
			Minor                 int64
			Licenses              []string
		}
	}
	if err := json.Unmarshal(raw, &lists); err != nil {
		return o, fmt.Errorf("read lines: %w", err)
	}
	for _, i := range lists.Items {
		o.Items = append(o.Items, OrderedItem{
			ProductID: i.ProductID, Kind: catalog.Kind(i.Kind), Name: i.Name, Quantity: i.Quantity,
			Price: money.Amount{Minor: i.Minor, Currency: currency}, Licenses: i.Licenses,
		})
	}
	return o, nil
}

const paymentSQL = `SELECT p.id, p.order_id, p.attempt, p.status, p.amount_minor, p.currency, coalesce(p.confirmation_url, ''),
	coalesce(p.provider_payment_id, ''), coalesce(p.failure_code, ''), p.created_at, p.updated_at FROM payments p `

func scanPayment(row pgx.CollectableRow) (p Payment, err error) {
	err = row.Scan(&p.ID, &p.OrderID, &p.Attempt, &p.Status, &p.Amount.Minor, &p.Amount.Currency, &p.ConfirmationURL, &p.ProviderPaymentID,
		&p.Failure, &p.CreatedAt, &p.UpdatedAt)
	return p, err
}

func scanRefund(row pgx.CollectableRow) (r Refund, err error) {
	err = row.Scan(&r.ID, &r.PaymentID, &r.Status, &r.Amount.Minor, &r.Amount.Currency, &r.CreatedAt, &r.UpdatedAt)
	return r, err
}

// FindPayment reads one payment of a user; anybody else's is NotFound.
func FindPayment(ctx context.Context, q store.Querier, userID, id uuid.UUID) (Payment, error) {
	rows, err := q.Query(ctx, paymentSQL+`JOIN orders o ON o.id = p.order_id WHERE p.id = $1 AND o.user_id = $2`, id, userID)
	if err != nil {
		return Payment{}, fmt.Errorf("read payment: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPayment)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fault.Missing("payment")
	}
	if err != nil {
		return p, fmt.Errorf("read payment: %w", err)
	}
	return p, nil
}

// Listed is a line of a shopper's list of orders.
type Listed struct {
	ID        uuid.UUID
	Number    int64
	Status    order.State
	Total     money.Amount
	CreatedAt time.Time
	Units     int      // in all lines together
	Products  []string // at most three
}

// ListOrders reads a page of a user's orders, newest first. before is the last order of the page before; the zero UUID starts
// at the newest.
func ListOrders(ctx context.Context, q store.Querier, userID, before uuid.UUID, limit int) ([]Listed, error) {
	rows, err := q.Query(ctx, `SELECT id, number, status, total_minor, currency, created_at,
			(SELECT coalesce(sum(quantity), 0) FROM order_items i WHERE i.order_id = o.id),
			ARRAY(SELECT product_id FROM order_items i WHERE i.order_id = o.id ORDER BY i.id LIMIT 3)
		FROM orders o WHERE user_id = $1 AND ($2 = '00000000-0000-0000-0000-000000000000'::uuid OR id < $2)
		ORDER BY id DESC LIMIT $3`, userID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Listed, err error) {
		err = row.Scan(&l.ID, &l.Number, &l.Status, &l.Total.Minor, &l.Total.Currency, &l.CreatedAt, &l.Units, &l.Products)
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return list, nil
}
