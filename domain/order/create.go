package order

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
)

// Line is one product of an order; price is per unit.
type Line struct {
	ID        uuid.UUID
	ProductID string
	Kind      string
	Name      string
	Quantity  int
	Price     money.Amount
}

// New is an order to be inserted. Total = Subtotal − Discount, all in one currency.
type New struct {
	ID          uuid.UUID
	UserID      uuid.UUID
	CartID      uuid.UUID // uuid.Nil if it wasn't made from a cart
	OperationID uuid.UUID
	Email       string
	Name        string
	Locale      string
	Delivery    []byte // JSON; nil for none
	PromoCode   string
	Subtotal    money.Amount
	Discount    money.Amount
	Total       money.Amount
	CreatedAt   time.Time
	Lines       []Line
}

// QueueCreate adds the order and its lines to a batch: two command tags.
func QueueCreate(b *pgx.Batch, n New) {
	b.Queue(`INSERT INTO orders (id, user_id, cart_id, operation_id, status, email, customer_name, locale, delivery, currency,
			subtotal_minor, discount_minor, total_minor, promo_code, created_at)
		VALUES ($1, $2, $3, $4, 'AWAITING_PAYMENT', nullif($5, ''), nullif($6, ''), $7, $8, $9, $10, $11, $12, nullif($13, ''), $14)`,
		n.ID, n.UserID, uuid.NullUUID{UUID: n.CartID, Valid: n.CartID != uuid.Nil}, n.OperationID, n.Email, n.Name, n.Locale, n.Delivery,
		n.Total.Currency, n.Subtotal.Minor, n.Discount.Minor, n.Total.Minor, n.PromoCode, n.CreatedAt)
	size := len(n.Lines)
	ids, products, kinds, names := make([]uuid.UUID, size), make([]string, size), make([]string, size), make([]string, size)
	quantities, prices := make([]int, size), make([]int64, size)
	for i, l := range n.Lines {
		ids[i], products[i], kinds[i], names[i], quantities[i], prices[i] = l.ID, l.ProductID, l.Kind, l.Name, l.Quantity, l.Price.Minor
	}
	b.Queue(`INSERT INTO order_items (id, order_id, product_id, kind, name, quantity, price_minor)
		SELECT i, $1, p, k, n, q, m FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[]) AS t(i, p, k, n, q, m)`,
		n.ID, ids, products, kinds, names, quantities, prices)
}
