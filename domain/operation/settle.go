package operation

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
)

// Settle ends a PROCESSING operation; if it has ended already it does nothing. The executor calls it under its lease, and
// whoever learns the outcome another way (a webhook) calls it too: knowledge is welcome from every side.
func Settle(ctx context.Context, tx pgx.Tx, op Operation, end End) error {
	var failure *string
	if end.Status == Failed {
		failure = &end.FailureCode
	}
	tag, err := tx.Exec(ctx, `UPDATE operations SET status = $2, resource_type = $3, resource_id = $4, failure_code = $5,
		next_attempt_at = NULL, lease_expires_at = NULL, completed_at = now() WHERE id = $1 AND status = 'PROCESSING'`,
		op.ID, end.Status, end.ResourceType, end.ResourceID, failure)
	if err != nil {
		return fmt.Errorf("settle operation: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	kind := "operation.completed"
	if end.Status == Failed {
		kind = "operation.failed"
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: kind, OperationID: op.ID, OrderID: op.OrderID.UUID,
		Detail: map[string]any{"resource": end.ResourceType + " " + end.ResourceID, "code": end.FailureCode, "attempt": op.Attempt},
	})
}
