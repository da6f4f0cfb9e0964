package console

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
	"onefold/domain/payment"
	"onefold/domain/store"
)

// Payment is one attempt to take money as operators see it.
type Payment struct {
	ID                uuid.UUID
	OrderID           uuid.UUID
	OrderNumber       int64
	Attempt           int
	OperationID       uuid.UUID
	Status            payment.State
	Amount            money.Amount
	Refunded          money.Amount
	Provider          string
	ProviderKey       string
	ProviderPaymentID string // "" until known
	FailureCode       string
	CreatedAt         time.Time
	UpdatedAt         time.Time
	SucceededAt       *time.Time
	NextLookAt        *time.Time // when its operation looks again; nil when nobody needs to
	OrphanedAt        *time.Time // when money came through it that its order couldn't take
}

func (p Payment) place() (time.Time, uuid.UUID) { return p.CreatedAt, p.ID }

const paymentColumns = `p.id, p.order_id, o.number, p.attempt, p.operation_id, p.status, p.amount_minor, p.refunded_minor, p.currency, p.provider,
	p.provider_key, coalesce(p.provider_payment_id, ''), coalesce(p.failure_code, ''), p.created_at, p.updated_at, p.succeeded_at, op.next_attempt_at,
	p.orphaned_at`

const paymentRows = `payments p JOIN orders o ON o.id = p.order_id LEFT JOIN operations op ON op.id = p.operation_id`

func scanPayment(row pgx.CollectableRow) (p Payment, err error) {
	err = row.Scan(&p.ID, &p.OrderID, &p.OrderNumber, &p.Attempt, &p.OperationID, &p.Status, &p.Amount.Minor, &p.Refunded.Minor, &p.Amount.Currency,
		&p.Provider, &p.ProviderKey, &p.ProviderPaymentID, &p.FailureCode, &p.CreatedAt, &p.UpdatedAt, &p.SucceededAt, &p.NextLookAt, &p.OrphanedAt)
	p.Refunded.Currency = p.Amount.Currency
	return p, reading("payment", err)
}

// Payments lists attempts, newest first. Query.State is a payment's status, Query.Provider one of Providers.
func Payments(ctx context.Context, q store.Querier, query Query) (Page[Payment], error) {
	return read(ctx, q, list{
		columns: paymentColumns, from: paymentRows, at: "p.created_at", id: "p.id",
		states: literally("p.status", PaymentStates()), types: []string{}, providers: "p.provider",
	}, query, scanPayment)
}
