package fulfilment

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
)

// Bonus accrues one point per whole unit of the order's currency. The balance is the sum of the ledger, never a counter.
func Bonus() operation.Handler { return operation.Handler{Local: accrue} }

func accrue(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.End, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return operation.End{}, err
	}
	if o.State == order.Refunded {
		return needless(ctx, tx, op)
	}
	points := o.Total.Whole()
	tag, err := tx.Exec(ctx, `INSERT INTO bonus_entries (order_id, kind, user_id, points) SELECT id, 'ACCRUAL', user_id, $2 FROM orders WHERE id = $1
		ON CONFLICT (order_id, kind) DO NOTHING`, o.ID, points)
	if err != nil {
		return operation.End{}, fmt.Errorf("accrue bonus: %w", err)
	}
	if tag.RowsAffected() == 1 {
		if err := journal.Append(ctx, tx, journal.Entry{
			Kind: "bonus.accrued", OperationID: op.ID, OrderID: o.ID, Detail: map[string]any{"points": points},
		}); err != nil {
			return operation.End{}, err
		}
	}
	return operation.Done("order", o.ID.String()), completing(ctx, tx, op)
}
