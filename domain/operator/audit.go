package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
	"onefold/domain/trace"
)

type outcome string

const (
	done     outcome = "DONE"
	replayed outcome = "REPLAYED"
	refused  outcome = "REFUSED"
)

// record is a line of the audit in the making, with the rows that its action touched.
type record struct {
	outcome     outcome
	code        string
	operationID uuid.UUID
	detail      map[string]any
	rows        []touched
}

type touched struct {
	table, id     string
	before, after []byte // JSON; before is nil for a row that the action made
}

// touch remembers a row as it is before an action changes it; called again after the change, it remembers that. Payloads and
// stored answers are left out: they are large, and nobody changes them.
func (p *pressing) touch(ctx context.Context, tx pgx.Tx, table, id string) error {
	var row []byte
	err := tx.QueryRow(ctx, `SELECT to_jsonb(t) - '{payload,response_body,request_fields,delivery,email,customer_name}'::text[] FROM `+table+` t WHERE t.id = $1::text::uuid`, id).Scan(&row)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read %s for the audit: %w", table, err)
	}
	for i, t := range p.audit.rows {
		if t.table == table && t.id == id {
			p.audit.rows[i].after = row
			return nil
		}
	}
	p.audit.rows = append(p.audit.rows, touched{table: table, id: id, before: row})
	return nil
}

// changing runs a change of one row between two looks at it.
func (p *pressing) changing(ctx context.Context, tx pgx.Tx, table, id string, change func() error) error {
	if err := p.touch(ctx, tx, table, id); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return p.touch(ctx, tx, table, id)
}

// write appends the line and, for each touched row, the columns that differ.
func (r record) write(ctx context.Context, q store.Querier, p Press, object string, orderID uuid.NullUUID) error {
	id := uuid.Must(uuid.NewV7())
	detail, err := json.Marshal(r.detail)
	if err != nil || r.detail == nil {
		detail = []byte("{}")
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO audit_actions (id, user_id, role, action, object_type, object_id, order_id, reason, outcome, code, operation_id, trace_id, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''), $9, nullif($10, ''), $11, $12, $13)`,
		id, p.Actor.ID, p.Actor.Role, p.Action, object, p.Object, orderID, p.Reason, r.outcome, r.code,
		uuid.NullUUID{UUID: r.operationID, Valid: r.operationID != uuid.Nil}, trace.ID(ctx), detail)
	for i, t := range r.rows {
		b.Queue(`INSERT INTO audit_rows (action_id, line, table_name, row_id, before, after)
			SELECT $1, $2, $3, $4, (SELECT jsonb_object_agg(key, value) FROM jsonb_each($5::jsonb) WHERE value IS DISTINCT FROM $6::jsonb -> key),
				(SELECT jsonb_object_agg(key, value) FROM jsonb_each($6::jsonb) WHERE value IS DISTINCT FROM $5::jsonb -> key)`,
			id, i+1, t.table, t.id, t.before, t.after)
	}
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	return nil
}

// note writes the line of a press that did nothing: it was refused, or its form had been pressed before.
func (d *Desk) note(ctx context.Context, p Press, a action, operationID uuid.UUID, what outcome, code string) error {
	return record{outcome: what, code: code, operationID: operationID}.write(ctx, d.Operations.DB, p, a.object, uuid.NullUUID{})
}
