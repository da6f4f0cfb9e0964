package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Find reads an operation of user, or one of the system's for an order of user; anybody else's is NotFound.
func Find(ctx context.Context, q store.Querier, user, id ID) (Operation, error) {
	op := Operation{ID: id}
	var kind, resource, failure *string
	var code *int
	err := q.QueryRow(ctx, `SELECT user_id, type, target, key, status, order_id, attempt, resource_type, resource_id, response_code,
			failure_code, trace_id, created_at, completed_at, expires_at
		FROM operations p WHERE id = $1 AND (user_id = $2 OR (user_id = $3 AND EXISTS (SELECT FROM orders o WHERE o.id = p.order_id AND o.user_id = $2)))`,
		id, user, System).
		Scan(&op.User, &op.Type, &op.Target, &op.Key, &op.Status, &op.OrderID, &op.Attempt, &kind, &resource, &code, &failure,
			&op.TraceID, &op.CreatedAt, &op.CompletedAt, &op.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return op, fault.Missing("operation")
	}
	if err != nil {
		return op, fmt.Errorf("read operation: %w", err)
	}
	op.FailureCode = value(failure)
	op.Result = Result{OrderID: op.OrderID.UUID, ResourceType: value(kind), ResourceID: value(resource), Code: value(code)}
	return op, nil
}
