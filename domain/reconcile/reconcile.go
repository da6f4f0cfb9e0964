package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/trace"
)

// Scope says how the objects of a run were chosen.
type Scope string

// The scopes. The first two name their objects; the others take whatever isn't known.
const (
	One      Scope = "one"
	Selected Scope = "selected"
	Matching Scope = "matching"
	Schedule Scope = "schedule"
)

// MaxObjects bounds a run; what is left is due by itself.
const MaxObjects = 10_000

// Request asks for a run.
type Request struct {
	ID      uuid.UUID // of the intent that asks: the run's ID
	By      uuid.UUID // who; operation.System for the schedule
	Scope   Scope
	Objects []uuid.UUID // payments, refunds or parcels, for One and Selected
	Kind    string      // for Matching: "payment", "refund" or "shipment"; "" means all
}

// Start stores a run with its items and makes the operations that look due at once. An operation that somebody is carrying on at
// this moment is left alone: its answer counts. The caller wakes the relay.
//
// Errors: NOT_FOUND when One or Selected names nothing that is a payment, refund or parcel.
func Start(ctx context.Context, tx pgx.Tx, r Request) (total int, err error) {
	_, err = tx.Exec(ctx, `INSERT INTO reconcile_runs (id, started_by, scope, filter, total, trace_id) VALUES ($1, $2, $3, $4, 0, $5)`,
		r.ID, r.By, r.Scope, r.Kind, trace.ID(ctx))
	if err != nil {
		return 0, fmt.Errorf("store run: %w", err)
	}
	named := r.Scope == One || r.Scope == Selected
	which := `status = 'UNKNOWN' AND $2::uuid[] IS NULL`
	if named {
		which = `id = ANY($2)`
	} else {
		r.Objects = nil
	}
	tag, err := tx.Exec(ctx, fmt.Sprintf(itemsSQL, which, Looks), r.ID, r.Objects, r.Kind, MaxObjects)
	if err != nil {
		return 0, fmt.Errorf("store items of run: %w", err)
	}
	total = int(tag.RowsAffected())
	if named && total < len(distinct(r.Objects)) {
		return 0, fault.Missing("payment, refund or parcel")
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE reconcile_runs SET total = $2, finished_at = CASE WHEN $2 = 0 THEN now() END WHERE id = $1`, r.ID, total)
	// Locked rows are skipped, not waited for: whoever holds one is looking, and nobody waits for another in a different order.
	b.Queue(`WITH free AS MATERIALIZED (
			SELECT op.id FROM operations op JOIN reconcile_items i ON i.operation_id = op.id
			WHERE i.run_id = $1 AND op.status = 'PROCESSING' AND (op.lease_expires_at IS NULL OR op.lease_expires_at <= clock_timestamp())
			ORDER BY op.id FOR UPDATE OF op SKIP LOCKED)
		UPDATE operations op SET next_attempt_at = now() FROM free WHERE op.id = free.id`, r.ID)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return 0, fmt.Errorf("make operations due: %w", err)
	}
	return total, nil
}

func distinct(ids []uuid.UUID) map[uuid.UUID]bool {
	set := map[uuid.UUID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// Looks is the SQL condition that operation op looks at object t (kind, order_id, operation_id, attempt): the one that makes it, or the
// watch on a pending payment.
const Looks = `op.order_id = t.order_id AND op.status = 'PROCESSING' AND (op.id = t.operation_id
		OR (t.kind = 'payment' AND op.type = 'WATCH_PAYMENT' AND op.key = 'payment:watch:order:' || t.order_id || ':' || t.attempt))`

// itemsSQL chooses the objects and, for each, the operation that looks.
// The attempt is the last one that may have begun before this moment; a running one is still to answer, so it isn't counted.
const itemsSQL = `INSERT INTO reconcile_items (run_id, object_type, object_id, order_id, operation_id, attempt, before)
	SELECT DISTINCT ON (t.id) $1, t.kind, t.id, t.order_id, op.id,
		coalesce(op.attempt - coalesce(op.lease_expires_at > clock_timestamp(), false)::int, 0), t.status
	FROM (
		SELECT 'payment' AS kind, id, order_id, status, operation_id, attempt FROM payments WHERE %[1]s
		UNION ALL SELECT 'refund', id, order_id, status, operation_id, 0 FROM refunds WHERE %[1]s
		UNION ALL SELECT 'shipment', id, order_id, status, operation_id, 0 FROM shipments WHERE %[1]s
	) t LEFT JOIN operations op ON %[2]s
	WHERE $3 = '' OR t.kind = $3 ORDER BY t.id LIMIT $4`

// ScheduleEvery is how often everything unknown is looked at again however old it is. Its operations look by themselves at a
// growing interval; this bounds the interval and leaves a row that says so.
const ScheduleEvery = time.Hour

// ScheduledID names the run of the period that now lies in, so that any number of processes start it once.
func ScheduledID(now time.Time) uuid.UUID {
	return uuid.NewSHA1(operation.System, []byte("reconcile:"+now.UTC().Truncate(ScheduleEvery).Format(time.RFC3339)))
}
