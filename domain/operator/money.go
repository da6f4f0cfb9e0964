package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/payment"
	"onefold/domain/refund"
)

// judgeRefund: what went back and what is on its way counts, so together they never exceed the capture. While the outcome of one
// isn't known another is not forbidden by that, but unwise: a person can't know what is left.
const judgeRefund = `SELECT o.id::text, o.id, o.status, o.status,
	CASE WHEN m.id IS NULL OR m.left_minor <= 0 THEN 'UNSAFE' WHEN m.unknown THEN 'WAIT' ELSE 'SAFE' END,
	CASE WHEN m.id IS NULL THEN 'no_money' WHEN m.left_minor <= 0 THEN 'nothing_left' WHEN m.unknown THEN 'refund_unknown' ELSE 'refunds_within_capture' END,
	NULL::timestamptz, m.left_minor, m.currency::text
	FROM orders o LEFT JOIN LATERAL (
		SELECT p.id, p.currency, (p.amount_minor - coalesce(sum(r.amount_minor) FILTER (WHERE r.status <> 'FAILED'), 0))::bigint AS left_minor,
			coalesce(bool_or(r.status = 'UNKNOWN'), false) AS unknown
		FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id
		WHERE p.order_id = o.id AND (p.status IN ('SUCCEEDED', 'PARTIALLY_REFUNDED', 'REFUNDED') OR p.orphaned_at IS NOT NULL)
		GROUP BY p.id ORDER BY p.orphaned_at IS NOT NULL, p.refunded_minor = p.amount_minor, p.attempt LIMIT 1) m ON true
	WHERE o.id = ANY($1::text[]::uuid[])`

// wish is what an approval decides on, exactly.
type wish struct {
	Amount     *money.Amount `json:"amount,omitempty"`     // refund
	Expected   *money.Amount `json:"expected,omitempty"`   // refund
	ProviderID *string       `json:"providerId,omitempty"` // settle_payment; "" says that the provider has none
}

// errTwoPeople says that a refund takes a second person, who is found in the console.
var errTwoPeople error = fault.New(fault.Forbidden, "FORBIDDEN", "So much of one payment takes two people: ask for it in the console, and somebody else approves it.")

// Alone is the rule (refund.May) that one person may send back no more of one payment than the limit of its currency.
func (d *Desk) Alone(together money.Amount) error {
	if limit, known := d.Limits[together.Currency]; known && together.Minor <= limit {
		return nil
	}
	return errTwoPeople
}

// doRefund sends money back at once, or asks for a second person above the limit.
func doRefund(ctx context.Context, tx pgx.Tx, d *Desk, p *pressing) error {
	amount := p.Input.Amount
	if amount == nil {
		amount = &money.Amount{Minor: *p.found.Minor, Currency: *p.found.Money}
	}
	r, err := refund.Decide(ctx, tx, p.op.ID, uuid.MustParse(p.Object), amount, p.Input.Expected, p.Reason, d.Alone)
	if errors.Is(err, errTwoPeople) {
		return p.ask(ctx, tx, wish{Amount: amount, Expected: p.Input.Expected})
	}
	if err != nil {
		return err
	}
	p.audit.detail = map[string]any{"refund": r.ID, "amount": r.Amount}
	p.audit.rows = append(p.audit.rows, touched{table: "refunds", id: r.ID.String(), after: fmt.Appendf(nil, `{"status":"CREATED","amount_minor":%d}`, r.Amount.Minor)})
	p.result.ResourceType, p.result.ResourceID, p.result.Code = "refund", r.ID.String(), 202
	return nil
}

// judgeSettlePayment: an unknown payment becomes known by itself; only one that stays unknown, or whose answers contradict each
// other, is a matter for people. One proposal at a time.
const judgeSettlePayment = `SELECT p.id::text, p.order_id, p.provider, p.status,
	CASE WHEN p.status <> 'UNKNOWN' THEN 'UNSAFE' WHEN a.id IS NOT NULL OR (op.status = 'PROCESSING' AND p.created_at > now() - interval '15 minutes') THEN 'WAIT' ELSE 'SAFE' END,
	CASE WHEN p.status <> 'UNKNOWN' THEN 'already_final' WHEN a.id IS NOT NULL THEN 'waits_for_approval'
		WHEN op.status = 'PROCESSING' AND p.created_at > now() - interval '15 minutes' THEN 'finds_out_by_itself' ELSE 'provider_asked_first' END,
	CASE WHEN p.status = 'UNKNOWN' AND a.id IS NULL AND op.status = 'PROCESSING' THEN p.created_at + interval '15 minutes' END, p.amount_minor, p.currency::text
	FROM payments p LEFT JOIN operations op ON op.id = p.operation_id
	LEFT JOIN approvals a ON a.object_id = p.id AND a.action = 'settle_payment' AND a.decision IS NULL
	WHERE p.id = ANY($1::text[]::uuid[])`

const maxProviderID = 200 // characters

// doSettlePayment proposes how the payment ended: the provider's ID of it, or that the provider has none. A second person decides.
func doSettlePayment(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	id := strings.TrimSpace(p.Input.Text)
	if len(id) > maxProviderID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fault.Validation(fault.Field{Field: "providerId", Rule: "printascii,max=200", Message: "must be an ID of the provider, or empty"})
	}
	return p.ask(ctx, tx, wish{ProviderID: &id})
}

// ask stores a wish that a second person has to decide on.
func (p *pressing) ask(ctx context.Context, tx pgx.Tx, w wish) error {
	input, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("write wish: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO approvals (id, action, object_id, order_id, input, reason, requested_by) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.op.ID, p.Action, p.Object, p.found.OrderID, input, p.Reason, p.Actor.ID)
	if err != nil {
		return fmt.Errorf("ask for approval: %w", err)
	}
	p.audit.detail = map[string]any{"approval": p.op.ID, "wish": w}
	p.result.ResourceType, p.result.ResourceID, p.result.Code = "approval", p.op.ID.String(), 202
	return nil
}

const judgeApproval = `SELECT id::text, order_id, action, coalesce(decision, 'OPEN'), CASE WHEN decision IS NULL THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN decision IS NULL THEN 'four_eyes' ELSE 'decided' END, NULL::timestamptz,
	NULL::bigint, input -> 'amount' ->> 'currency' FROM approvals WHERE id = ANY($1::text[]::uuid[])`

func doApprove(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	if err := p.decide(ctx, tx, "APPROVED"); err != nil {
		return err
	}
	var action Name
	var object, by uuid.UUID
	var input []byte
	var reason string
	err := tx.QueryRow(ctx, `SELECT action, object_id, input, reason, requested_by FROM approvals WHERE id = $1::text::uuid`, p.Object).
		Scan(&action, &object, &input, &reason, &by)
	if err != nil {
		return fmt.Errorf("read approval: %w", err)
	}
	var w wish
	if err := json.Unmarshal(input, &w); err != nil {
		return fmt.Errorf("read wish: %w", err)
	}
	p.audit.detail = map[string]any{"action": action, "wish": w, "requested_by": by}
	if action == Refund {
		r, err := refund.Decide(ctx, tx, uuid.MustParse(p.Object), object, w.Amount, w.Expected, reason, nil)
		if err != nil {
			return err
		}
		p.audit.detail["refund"] = r.ID
		p.result.ResourceType, p.result.ResourceID = "refund", r.ID.String()
		return nil
	}
	b := &pgx.Batch{}
	id := payment.PlanSettlement(ctx, b, uuid.MustParse(p.Object), object, p.found.OrderID.UUID, *w.ProviderID)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("plan settlement: %w", err)
	}
	p.result.ResourceType, p.result.ResourceID = "operation", id.String()
	return nil
}

func doReject(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.decide(ctx, tx, "REJECTED")
}

// decide closes an approval. four_eyes refuses whoever asked; it is asked here so that the refusal has words.
func (p *pressing) decide(ctx context.Context, tx pgx.Tx, decision string) error {
	var own bool
	if err := tx.QueryRow(ctx, `SELECT requested_by = $2 FROM approvals WHERE id = $1::text::uuid`, p.Object, p.Actor.ID).Scan(&own); err != nil {
		return fmt.Errorf("read approval: %w", err)
	}
	if own {
		return fault.New(fault.Forbidden, "FOUR_EYES", "Somebody else has to decide on what you asked for.")
	}
	return p.changing(ctx, tx, "approvals", p.Object, func() error {
		return change(ctx, tx, `UPDATE approvals SET decision = $2, decided_by = $3, decided_at = now() WHERE id = $1::text::uuid AND decision IS NULL`,
			p.Object, decision, p.Actor.ID)
	})
}
