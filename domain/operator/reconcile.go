package operator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/reconcile"
)

// What a reconciliation may be about besides one payment, refund or parcel.
const (
	Everything = "all"      // whatever isn't known, of the kind that the input's text names
	Several    = "selected" // the input's objects
)

// judgeReconcile: looking is always safe, because the executor looks before it repeats and repeats only the stored key. What is
// final, or waits for a person because the answers contradict each other, has nothing to look at.
const judgeReconcile = `SELECT t.id::text, t.order_id, t.kind, t.status,
		CASE WHEN t.open AND op.id IS NOT NULL THEN 'SAFE' ELSE 'UNSAFE' END,
		CASE WHEN NOT t.open THEN 'already_final' WHEN op.id IS NULL THEN 'contradiction' ELSE 'lookup_first' END,
		NULL::timestamptz, t.amount_minor, t.currency::text
	FROM (
		SELECT 'payment' AS kind, id, order_id, status, operation_id, attempt, amount_minor, currency, status IN ('CREATED','SUBMITTING','PENDING','UNKNOWN') AS open
			FROM payments WHERE id = ANY(ARRAY(SELECT x::uuid FROM unnest($1::text[]) x WHERE x NOT IN ('all', 'selected')))
		UNION ALL SELECT 'refund', id, order_id, status, operation_id, 0, amount_minor, currency, status IN ('CREATED','SUBMITTING','UNKNOWN')
			FROM refunds WHERE id = ANY(ARRAY(SELECT x::uuid FROM unnest($1::text[]) x WHERE x NOT IN ('all', 'selected')))
		UNION ALL SELECT 'shipment', id, order_id, status, operation_id, 0, NULL, NULL, status IN ('CREATED','SUBMITTING','UNKNOWN')
			FROM shipments WHERE id = ANY(ARRAY(SELECT x::uuid FROM unnest($1::text[]) x WHERE x NOT IN ('all', 'selected')))
	) t LEFT JOIN LATERAL (SELECT op.id FROM operations op WHERE ` + reconcile.Looks + ` LIMIT 1) op ON true
	UNION ALL SELECT x, NULL, x, '', 'SAFE', 'lookup_first', NULL, NULL, NULL FROM unnest($1::text[]) x WHERE x IN ('all', 'selected')`

// doReconcile starts one run for the press.
func doReconcile(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	r := reconcile.Request{ID: p.op.ID, By: p.Actor.ID, Scope: reconcile.One, Kind: p.Input.Text}
	switch p.Object {
	case Everything:
		r.Scope = reconcile.Matching
		switch p.Input.Text {
		case "", "payment", "refund", "shipment":
		default:
			return fault.Validation(fault.Field{Field: "kind", Rule: "oneof=payment refund shipment", Message: "is no kind of thing that can be reconciled"})
		}
	case Several:
		if n := len(p.Input.Objects); n == 0 || n > reconcile.MaxObjects {
			return fault.Validation(fault.Field{Field: "objects", Rule: fmt.Sprintf("min=1,max=%d", reconcile.MaxObjects), Message: "must name something, but not too much"})
		}
		r.Scope, r.Kind, r.Objects = reconcile.Selected, "", p.Input.Objects
	default:
		r.Kind, r.Objects = "", []uuid.UUID{uuid.MustParse(p.Object)}
	}
	total, err := reconcile.Start(ctx, tx, r)
	if err != nil {
		return err
	}
	p.audit.detail = map[string]any{"run": r.ID, "scope": r.Scope, "objects": total}
	body, err := json.Marshal(map[string]any{"runId": r.ID, "total": total})
	if err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	p.result = operation.Result{OrderID: p.result.OrderID, ResourceType: "reconciliation", ResourceID: r.ID.String(), Code: 202, Body: string(body)}
	return nil
}
