package operator

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/checkout"
	"onefold/domain/fault"
	"onefold/domain/fulfilment"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// judgeCancelOrder: the provider is asked before an order is closed, so a payment that succeeds meanwhile wins.
const judgeCancelOrder = `SELECT o.id::text, o.id, o.status, o.status,
	CASE WHEN o.status <> 'AWAITING_PAYMENT' THEN 'UNSAFE' WHEN p.status = 'UNKNOWN' THEN 'WAIT' ELSE 'SAFE' END,
	CASE WHEN o.status <> 'AWAITING_PAYMENT' THEN 'order_state' WHEN p.status = 'UNKNOWN' THEN 'payment_unknown' ELSE 'provider_asked_first' END,
	NULL::timestamptz, o.total_minor, o.currency::text
	FROM orders o LEFT JOIN LATERAL (SELECT status FROM payments WHERE order_id = o.id ORDER BY attempt DESC LIMIT 1) p ON true
	WHERE o.id = ANY($1::text[]::uuid[])`

// cancelOrder is the one action that waits for the outside: the same operation as a shopper's, in the operator's name. Its audit
// line is written in the transaction that begins it.
func (d *Desk) cancelOrder(ctx context.Context, p Press, a action) (operation.Outcome, error) {
	id, err := uuid.Parse(p.Object)
	if err != nil {
		return operation.Outcome{}, fault.Missing("order")
	}
	return d.Checkout.CancelFor(ctx, p.Actor.ID, id, p.Key, func(tx pgx.Tx, wish operation.ID) error {
		pr := &pressing{Press: p, op: &operation.Running{ID: wish}}
		if err := pr.judge(ctx, tx, a); err != nil {
			return err
		}
		return pr.close(ctx, tx, a)
	})
}

// judgeResendMail: each wish is a notification of its own, so one press is one mail; nothing is sent while another is on its way.
const judgeResendMail = `SELECT o.id::text, o.id, o.status, o.status,
	CASE WHEN o.paid_at IS NULL OR o.status = 'REFUNDED' OR o.email IS NULL THEN 'UNSAFE' WHEN op.id IS NOT NULL THEN 'WAIT' ELSE 'SAFE' END,
	CASE WHEN o.paid_at IS NULL THEN 'not_paid' WHEN o.status = 'REFUNDED' THEN 'refunded' WHEN o.email IS NULL THEN 'no_address' WHEN op.id IS NOT NULL THEN 'mail_under_way' ELSE 'message_id' END,
	op.next_attempt_at, NULL::bigint, NULL::text
	FROM orders o LEFT JOIN LATERAL (SELECT id, next_attempt_at FROM operations WHERE order_id = o.id AND status = 'PROCESSING'
		AND type IN ('SEND_NOTIFICATION', 'RESEND_NOTIFICATION') LIMIT 1) op ON true
	WHERE o.id = ANY($1::text[]::uuid[])`

func doResendMail(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	b := &pgx.Batch{}
	id := fulfilment.Resend(ctx, b, p.op.ID, uuid.MustParse(p.Object))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("plan mail: %w", err)
	}
	p.audit.detail = map[string]any{"operation": id}
	p.result.ResourceType, p.result.ResourceID, p.result.Code = "operation", id.String(), 202
	return nil
}

// judgeCorrectAddress: a new attempt has a new key, and starts only where it is certain that no label was bought.
const judgeCorrectAddress = `SELECT o.id::text, o.id, o.status, o.status,
	CASE WHEN o.status = 'REFUNDED' THEN 'UNSAFE' WHEN s.failed THEN 'SAFE' WHEN s.unknown THEN 'WAIT' ELSE 'UNSAFE' END,
	CASE WHEN o.status = 'REFUNDED' THEN 'refunded' WHEN s.failed THEN 'parcel_key' WHEN s.unknown THEN 'parcel_unknown' ELSE 'no_failed_parcel' END,
	NULL::timestamptz, NULL::bigint, NULL::text
	FROM orders o CROSS JOIN LATERAL (SELECT coalesce(bool_or(status = 'FAILED'), false) AS failed, coalesce(bool_or(status IN ('UNKNOWN', 'SUBMITTING')), false) AS unknown
		FROM shipments WHERE order_id = o.id) s
	WHERE o.id = ANY($1::text[]::uuid[])`

func doCorrectAddress(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	if p.Input.Address == nil {
		return fault.Validation(fault.Field{Field: "address", Rule: "required", Message: "is missing"})
	}
	return fulfilment.Correct(ctx, inTx{tx}, uuid.MustParse(p.Object), *p.Input.Address)
}

// inTx lets a use case run inside a transaction that is open already: it begins a savepoint.
type inTx struct{ pgx.Tx }

var _ store.DB = inTx{}

// judgeDuplicate is about the later of two orders that look alike.
const judgeDuplicate = `SELECT order_id::text, order_id, 'possible_duplicate', coalesce(verdict, 'OPEN'), CASE WHEN settled_at IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN settled_at IS NULL THEN 'audit' ELSE 'settled' END, NULL::timestamptz, NULL::bigint, NULL::text
	FROM possible_duplicates WHERE order_id = ANY($1::text[]::uuid[])`

func doJudgeDuplicate(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	verdict := p.Input.Text
	if verdict != checkout.TechnicalRetry && verdict != checkout.OnPurpose {
		return fault.Validation(fault.Field{Field: "verdict", Rule: "oneof=technical_retry on_purpose", Message: "must be one of the two"})
	}
	p.audit.detail = map[string]any{"verdict": verdict}
	return change(ctx, tx, `UPDATE possible_duplicates SET verdict = $2, note = $3, settled_by = $4, settled_at = now()
		WHERE order_id = $1::text::uuid AND settled_at IS NULL`, p.Object, verdict, p.Reason, p.Actor.ID)
}
