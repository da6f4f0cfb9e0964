package paymenttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
	"onefold/domain/operation"
	"onefold/domain/order"
	"onefold/domain/payment"
	"onefold/domain/store"
	"onefold/domain/trace"
)

// Order is an order with its first attempt, as checkout leaves it.
type Order struct {
	ID        uuid.UUID
	UserID    uuid.UUID
	PaymentID uuid.UUID
	Payment   operation.ID // the external operation of the attempt
	Total     money.Amount
}

// Reference is what the provider knows the attempt by.
func (o Order) Reference() string { return o.PaymentID.String() }

// Wish describes an order. The zero value is three licences at 49.90 RUB for somebody without an address.
type Wish struct {
	Units int
	Email string
}

// NewOrder stores an order that awaits its payment. Its product is its own, so that tests can share a database.
func NewOrder(t testing.TB, db store.DB, w Wish) Order {
	t.Helper()
	if w.Units == 0 {
		w.Units = 3
	}
	price := money.Amount{Minor: 4990, Currency: "RUB"}
	o := Order{
		ID: uuid.Must(uuid.NewV7()), UserID: uuid.Must(uuid.NewV7()), PaymentID: uuid.Must(uuid.NewV7()),
		Total: money.Amount{Minor: price.Minor * int64(w.Units), Currency: price.Currency},
	}
	product := "product-" + o.ID.String()
	attempt := payment.New{ID: o.PaymentID, OrderID: o.ID, Attempt: 1, Amount: o.Total, Provider: Name}
	o.Payment = attempt.OperationID()

	ctx := trace.Start(t.Context(), "")
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, on_hand, reserved)
		VALUES ($1, 'license', 'Lumen', 'Люмен', '', '', $2, $2)`, product, w.Units)
	order.QueueCreate(b, order.New{
		ID: o.ID, UserID: o.UserID, OperationID: uuid.New(), Email: w.Email, Locale: "en", Subtotal: o.Total,
		Discount: money.Amount{Currency: o.Total.Currency}, Total: o.Total, CreatedAt: time.Now().UTC(),
		Lines: []order.Line{{ID: uuid.New(), ProductID: product, Kind: "license", Name: "Lumen", Quantity: w.Units, Price: price}},
	})
	payment.QueueCreate(ctx, b, attempt)
	if err := db.SendBatch(ctx, b).Close(); err != nil {
		t.Fatalf("store order: %v", err)
	}
	return o
}

// Creator carries payments on with the double.
func Creator(p *Provider) payment.Creator {
	return payment.Creator{Provider: p, ReturnURL: func(id uuid.UUID) string { return "https://shop.example/orders/" + id.String() }}
}

// MakeDue ends every lease and wait, as if their time had passed.
func MakeDue(t testing.TB, db store.DB) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `UPDATE operations SET next_attempt_at = now() - interval '1 second',
		lease_expires_at = CASE WHEN lease_expires_at IS NOT NULL THEN now() - interval '1 second' END WHERE status = 'PROCESSING'`); err != nil {
		t.Fatalf("make operations due: %v", err)
	}
}

// Read scans one row, for assertions.
func Read(t testing.TB, db store.Querier, sql string, args []any, into ...any) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql, args...).Scan(into...); err != nil {
		t.Fatalf("read %q: %v", sql, err)
	}
}

// Count runs a SELECT count(*).
func Count(t testing.TB, db store.Querier, sql string, args ...any) (n int) {
	t.Helper()
	Read(t, db, sql, args, &n)
	return n
}
