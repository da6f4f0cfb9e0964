package console

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/operation"
	"onefold/domain/store"
)

// Operation is one intent as operators see it.
type Operation struct {
	ID             uuid.UUID
	UserID         uuid.UUID
	Type           operation.Type
	Target         string
	Key            string
	Status         operation.Status
	OrderID        uuid.NullUUID
	OrderNumber    *int64
	Attempt        int // tries that took the lease
	Looks          int // tries that brought no knowledge
	ResourceType   string
	ResourceID     string
	ResponseCode   int // 0 for none
	FailureCode    string
	LastError      string // masked
	TraceID        string
	CreatedAt      time.Time
	SentAt         *time.Time // last time that a call may have reached the outside
	LeaseExpiresAt *time.Time // in the future: somebody works on it
	NextAttemptAt  *time.Time // nil once it has ended
	CompletedAt    *time.Time
	ExpiresAt      *time.Time // when the key may be cleaned away
}

func (o Operation) place() (time.Time, uuid.UUID) { return o.CreatedAt, o.ID }

// System says that nobody outside asked for it.
func (o Operation) System() bool { return o.UserID == operation.System }

const operationColumns = `op.id, op.user_id, op.type, op.target, op.key, op.status, op.order_id, o.number, op.attempt, op.looks,
	coalesce(op.resource_type, ''), coalesce(op.resource_id, ''), coalesce(op.response_code, 0), coalesce(op.failure_code, ''),
	coalesce(op.last_error, ''), op.trace_id, op.created_at, op.sent_at, op.lease_expires_at, op.next_attempt_at, op.completed_at, op.expires_at`

const operationRows = `operations op LEFT JOIN orders o ON o.id = op.order_id`

func scanOperation(row pgx.CollectableRow) (Operation, error) {
	o, err := pgx.RowToStructByPos[Operation](row)
	o.LastError = maskText(o.LastError)
	return o, err
}

// Operations lists intents, newest first. Query.State is an operation's status, Query.Type one of OperationTypes.
func Operations(ctx context.Context, q store.Querier, query Query) (Page[Operation], error) {
	return read(ctx, q, list{
		columns: operationColumns, from: operationRows, at: "op.created_at", id: "op.id",
		states: literally("op.status", OperationStates()), types: OperationTypes(), typeIs: "op.type",
	}, query, scanOperation)
}
