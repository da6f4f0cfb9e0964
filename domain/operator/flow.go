package operator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
)

// judgeRecover: a live lease means that somebody is calling out at this moment; after its end the next owner fences the last.
const judgeRecover = `SELECT id::text, order_id, type, status,
	CASE WHEN status <> 'PROCESSING' THEN 'UNSAFE' WHEN lease_expires_at > clock_timestamp() THEN 'WAIT' ELSE 'SAFE' END,
	CASE WHEN status <> 'PROCESSING' THEN 'finished' WHEN lease_expires_at > clock_timestamp() THEN 'lease' ELSE 'fencing' END,
	CASE WHEN status = 'PROCESSING' AND lease_expires_at > clock_timestamp() THEN lease_expires_at END, NULL::bigint, NULL::text
	FROM operations WHERE id = ANY($1::text[]::uuid[])`

func doRecover(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.changing(ctx, tx, "operations", p.Object, func() error {
		return change(ctx, tx, `UPDATE operations SET next_attempt_at = now(), lease_expires_at = NULL WHERE id = $1::text::uuid AND status = 'PROCESSING'`, p.Object)
	})
}

const judgeSettleFailure = `SELECT id::text, order_id, type, status,
	CASE WHEN status = 'FAILED' AND settled_at IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN status <> 'FAILED' THEN 'not_failed' WHEN settled_at IS NOT NULL THEN 'settled' ELSE 'audit' END, NULL::timestamptz, NULL::bigint, NULL::text
	FROM operations WHERE id = ANY($1::text[]::uuid[])`

// judgeReprocess: an event is applied by guarded moves, so once more is harmless; another payload under a known ID never is applied.
const judgeReprocess = `SELECT id::text, order_id, event_type, status,
	CASE WHEN contradicts IS NULL AND status IN ('RECEIVED','QUARANTINED') THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN contradicts IS NOT NULL THEN 'contradiction' WHEN status IN ('RECEIVED','QUARANTINED') THEN 'guarded_moves' ELSE 'already_processed' END,
	NULL::timestamptz, NULL::bigint, NULL::text FROM incoming_events WHERE id = ANY($1::text[]::uuid[])`

func doReprocess(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.changing(ctx, tx, "incoming_events", p.Object, func() error {
		return change(ctx, tx, `UPDATE incoming_events SET status = 'RECEIVED', reason = NULL, attempts = 0, processed_at = NULL, settled_at = NULL,
			next_attempt_at = now() WHERE id = $1::text::uuid AND status IN ('RECEIVED','QUARANTINED') AND contradicts IS NULL`, p.Object)
	})
}

const judgeSettleEvent = `SELECT id::text, order_id, event_type, status,
	CASE WHEN status = 'QUARANTINED' AND settled_at IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN status <> 'QUARANTINED' THEN 'not_quarantined' WHEN settled_at IS NOT NULL THEN 'settled' ELSE 'audit' END,
	NULL::timestamptz, NULL::bigint, NULL::text FROM incoming_events WHERE id = ANY($1::text[]::uuid[])`

// judgeRedispatch: the consequences of an event have keys of their own, so a second dispatch finds them.
const judgeRedispatch = `SELECT id::text, order_id, event_type, CASE WHEN parked_at IS NOT NULL THEN 'PARKED' WHEN dispatched_at IS NOT NULL THEN 'DISPATCHED' ELSE 'DUE' END,
	CASE WHEN parked_at IS NOT NULL THEN 'SAFE' WHEN dispatched_at IS NOT NULL THEN 'UNSAFE' ELSE 'WAIT' END,
	CASE WHEN parked_at IS NOT NULL THEN 'effect_keys' WHEN dispatched_at IS NOT NULL THEN 'already_dispatched' ELSE 'due_by_itself' END,
	CASE WHEN parked_at IS NULL AND dispatched_at IS NULL THEN next_attempt_at END, NULL::bigint, NULL::text FROM outbox_events WHERE id = ANY($1::text[]::uuid[])`

func doRedispatch(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.changing(ctx, tx, "outbox_events", p.Object, func() error {
		return change(ctx, tx, `UPDATE outbox_events SET parked_at = NULL, settled_at = NULL, attempts = 0, next_attempt_at = now()
			WHERE id = $1::text::uuid AND parked_at IS NOT NULL`, p.Object)
	})
}

const judgeSettleOutbox = `SELECT id::text, order_id, event_type, CASE WHEN parked_at IS NOT NULL THEN 'PARKED' ELSE 'DISPATCHED' END,
	CASE WHEN parked_at IS NOT NULL AND settled_at IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN parked_at IS NULL THEN 'not_parked' WHEN settled_at IS NOT NULL THEN 'settled' ELSE 'audit' END,
	NULL::timestamptz, NULL::bigint, NULL::text FROM outbox_events WHERE id = ANY($1::text[]::uuid[])`

const judgeSettleOrphan = `SELECT id::text, order_id, provider, status,
	CASE WHEN orphaned_at IS NOT NULL AND settled_at IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN orphaned_at IS NULL THEN 'not_orphaned' WHEN settled_at IS NOT NULL THEN 'settled' ELSE 'audit' END,
	NULL::timestamptz, amount_minor - refunded_minor, currency::text FROM payments WHERE id = ANY($1::text[]::uuid[])`

// settleRow takes a row out of its queue for good; it is kept, and a new failure brings it back.
func settleRow(table string) func(context.Context, pgx.Tx, *Desk, *pressing) error {
	return func(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
		return p.changing(ctx, tx, table, p.Object, func() error {
			return change(ctx, tx, `UPDATE `+table+` SET settled_at = now() WHERE id = $1::text::uuid`, p.Object)
		})
	}
}

const judgeSettleReview = `SELECT id::text, id, coalesce(review_reason, ''), status,
	CASE WHEN needs_review THEN 'SAFE' ELSE 'UNSAFE' END, CASE WHEN needs_review THEN 'audit' ELSE 'settled' END,
	NULL::timestamptz, total_minor, currency::text FROM orders WHERE id = ANY($1::text[]::uuid[])`

func doSettleReview(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.changing(ctx, tx, "orders", p.Object, func() error {
		return change(ctx, tx, `UPDATE orders SET needs_review = false, review_reason = NULL WHERE id = $1::text::uuid`, p.Object)
	})
}

// Jobs are River's. A row is due again whatever becomes of its job, so both actions only change when.
const (
	job = `FROM river_job j WHERE j.id = ANY($1::text[]::bigint[])`
	// twin: a newer job carries on the same row.
	twin = `EXISTS (SELECT FROM river_job t WHERE t.id > j.id AND t.kind = j.kind AND t.args = j.args AND t.state IN ('available','pending','retryable','running','scheduled'))`

	judgeRetryJob = `SELECT j.id::text, NULL::uuid, j.kind, j.state::text,
		CASE WHEN j.state = 'running' THEN 'WAIT' WHEN j.state = 'completed' OR ` + twin + ` THEN 'UNSAFE' ELSE 'SAFE' END,
		CASE WHEN j.state = 'running' THEN 'running' WHEN j.state = 'completed' THEN 'finished' WHEN ` + twin + ` THEN 'newer_twin' ELSE 'row_decides' END,
		NULL::timestamptz, NULL::bigint, NULL::text ` + job
	judgeCancelJob = `SELECT j.id::text, NULL::uuid, j.kind, j.state::text,
		CASE WHEN j.state = 'running' THEN 'WAIT' WHEN j.finalized_at IS NOT NULL THEN 'UNSAFE' ELSE 'SAFE' END,
		CASE WHEN j.state = 'running' THEN 'running' WHEN j.finalized_at IS NOT NULL THEN 'finished' ELSE 'row_decides' END,
		NULL::timestamptz, NULL::bigint, NULL::text ` + job
)

func doRetryJob(ctx context.Context, tx pgx.Tx, d *Desk, p *pressing) error {
	return p.onJob(ctx, tx, d, Jobs.Retry)
}

func doCancelJob(ctx context.Context, tx pgx.Tx, d *Desk, p *pressing) error {
	return p.onJob(ctx, tx, d, Jobs.Cancel)
}

func (p *pressing) onJob(ctx context.Context, tx pgx.Tx, d *Desk, do func(Jobs, context.Context, pgx.Tx, int64) error) error {
	id, err := strconv.ParseInt(p.Object, 10, 64)
	if err != nil || d.Jobs == nil {
		return fault.Missing("job")
	}
	p.audit.detail = map[string]any{"kind": p.found.Label, "state": p.found.State}
	return do(d.Jobs, ctx, tx, id)
}

// change insists that the judged row was there to change.
func change(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	tag, err := tx.Exec(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("change row: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.New(fault.Conflict, "ACTION_UNSAFE", "Nothing was changed: it has changed meanwhile.")
	}
	return nil
}
