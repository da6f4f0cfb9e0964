package operation

import (
	"context"
	"errors"
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
	var attempt int
	err := tx.QueryRow(ctx, `UPDATE operations SET status = $2, resource_type = $3, resource_id = $4, failure_code = $5,
			response_code = nullif($6, 0), response_body = nullif($7, ''), expires_at = now() + nullif($8::interval, '0'),
			next_attempt_at = NULL, lease_expires_at = NULL, completed_at = now()
		WHERE id = $1 AND status = 'PROCESSING' RETURNING attempt`,
		op.ID, end.Status, end.ResourceType, end.ResourceID, failure, end.Code, end.Body, end.Keep).Scan(&attempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("settle operation: %w", err)
	}
	kind := "operation.completed"
	if end.Status == Failed {
		kind = "operation.failed"
	}
	return journal.Append(ctx, tx, journal.Entry{
		Kind: kind, OperationID: op.ID, OrderID: op.OrderID.UUID,
		Detail: map[string]any{"resource": end.ResourceType + " " + end.ResourceID, "code": end.FailureCode, "attempt": attempt},
	})
}
