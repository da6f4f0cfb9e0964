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
	LeaseOwner     string     // the process that took it last
}

func (o Operation) place() (time.Time, uuid.UUID) { return o.CreatedAt, o.ID }

// System says that nobody outside asked for it.
func (o Operation) System() bool { return o.UserID == operation.System }

const operationColumns = `op.id, op.user_id, op.type, op.target, op.key, op.status, op.order_id, o.number, op.attempt, op.looks,
	coalesce(op.resource_type, ''), coalesce(op.resource_id, ''), coalesce(op.response_code, 0), coalesce(op.failure_code, ''),
	coalesce(op.last_error, ''), op.trace_id, op.created_at, op.sent_at, op.lease_expires_at, op.next_attempt_at, op.completed_at, op.expires_at,
	coalesce(op.lease_owner, '')`

const operationRows = `operations op LEFT JOIN orders o ON o.id = op.order_id`

func scanOperation(row pgx.CollectableRow) (Operation, error) {
	o, err := pgx.RowToStructByPos[Operation](row)
	o.LastError = maskText(o.LastError)
	return o, err
}

// stuckSQL: for five minutes without an end. Some may wait longer: those that make a payment, which has its own queue while it is
// unknown, watch one, or expire an order. Such a one is stuck when nobody took it at its time.
// Two halves for two indexes, operations_waiting and operations_due.
const stuckSQL = `(op.status = 'PROCESSING' AND op.type NOT IN ` + patientSQL + `
		AND op.created_at < now() - interval '5 minutes'
	OR op.status = 'PROCESSING' AND op.next_attempt_at < now() - interval '5 minutes' AND op.created_at < now() - interval '5 minutes')`

// patientSQL are the types that may wait long; the index operations_waiting names them, too.
const patientSQL = `('CREATE_PAYMENT', 'WATCH_PAYMENT', 'EXPIRE_ORDER')`

// stuckSinceSQL is when stuckSQL began to be true.
const stuckSinceSQL = `CASE WHEN op.type IN ` + patientSQL + ` THEN greatest(op.created_at, op.next_attempt_at)
	ELSE op.created_at END + interval '5 minutes'`

// Questions about operations that their status alone doesn't answer.
const (
	viewStuck        = "STUCK"
	viewEffectFailed = "EFFECT_FAILED"
	viewInReview     = "IN_REVIEW"
)

// OperationViews lists what the state filter of operations may name besides OperationStates: those that a queue counts.
func OperationViews() []string { return []string{viewStuck, viewEffectFailed, viewInReview} }

// ViewOfQueue is the view that shows what a queue of operations or orders counts; "" for other queues.
func ViewOfQueue(name string) string {
	return map[string]string{"stuck_operations": viewStuck, "failed_effects": viewEffectFailed, "orders_in_review": viewInReview}[name]
}

// operationConditions gives each state and view its condition.
func operationConditions() map[string]string {
	conditions := literally("op.status", OperationStates())
	conditions[viewStuck] = stuckSQL
	conditions[viewEffectFailed] = brokenSQL
	conditions[viewInReview] = "o.needs_review AND op.id = o.operation_id"
	return conditions
}

// Operations lists intents, newest first. Query.State is an operation's status or one of OperationViews, Query.Type one of
// OperationTypes.
func Operations(ctx context.Context, q store.Querier, query Query) (Page[Operation], error) {
	return read(ctx, q, list{
		columns: operationColumns, from: operationRows, at: "op.created_at", id: "op.id",
		states: operationConditions(), types: OperationTypes(), typeIs: "op.type",
	}, query, scanOperation)
}
