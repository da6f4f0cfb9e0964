package console

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
	"onefold/domain/order"
	"onefold/domain/store"
)

// OrderRow is an order as a list shows it.
type OrderRow struct {
	ID           uuid.UUID
	Number       int64
	Status       order.State
	ReviewReason string // "" unless it needs review
	Email        string // masked
	Total        money.Amount
	Units        int
	CreatedAt    time.Time
	PaidAt       *time.Time
	FulfilledAt  *time.Time
	ClosedAt     *time.Time
}

func (o OrderRow) place() (time.Time, uuid.UUID) { return o.CreatedAt, o.ID }

func scanOrderRow(row pgx.CollectableRow) (o OrderRow, err error) {
	err = row.Scan(&o.ID, &o.Number, &o.Status, &o.ReviewReason, &o.Email, &o.Total.Minor, &o.Total.Currency, &o.Units, &o.CreatedAt, &o.PaidAt,
		&o.FulfilledAt, &o.ClosedAt)
	o.Email = maskEmail(o.Email)
	return o, reading("order", err)
}

// Orders lists them, newest first. Query.State is one of OrderStates or IN_REVIEW.
func Orders(ctx context.Context, q store.Querier, query Query) (Page[OrderRow], error) {
	states := literally("o.status", OrderStates())
	states[viewInReview] = "o.needs_review"
	return read(ctx, q, list{
		columns: `o.id, o.number, o.status, coalesce(o.review_reason, ''), coalesce(o.email, ''), o.total_minor, o.currency,
			(SELECT coalesce(sum(quantity), 0)::int FROM order_items i WHERE i.order_id = o.id), o.created_at, o.paid_at, o.fulfilled_at, o.closed_at`,
		from: "orders o", at: "o.created_at", id: "o.id", states: states, types: []string{},
	}, query, scanOrderRow)
}

// OrderViews lists what the state filter of orders may name besides OrderStates.
func OrderViews() []string { return []string{viewInReview} }
