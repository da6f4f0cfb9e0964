package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
	"onefold/domain/store"
)

// Words about anything with an ID are always safe; they only add. The state is what the action would replace.
const (
	judgeCase   = `SELECT i.id, o.id, '', ''` + caseOf
	judgeAssign = `SELECT i.id, o.id, coalesce(o.number::text, ''), coalesce((SELECT email FROM users u WHERE u.id = c.assignee), 'UNASSIGNED')` + caseOf
	judgeSnooze = `SELECT i.id, o.id, coalesce(o.number::text, ''), CASE WHEN c.snoozed_until > now() THEN 'SNOOZED' ELSE 'AWAKE' END` + caseOf

	caseOf = `, 'SAFE', 'append_only', NULL::timestamptz, NULL::bigint, NULL::text
		FROM (SELECT id, id::uuid AS key FROM unnest($1::text[]) AS i(id) WHERE id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS i
		LEFT JOIN orders o ON o.id = i.key LEFT JOIN cases c ON c.object_id = i.key`
)

func doNote(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	_, err := tx.Exec(ctx, `INSERT INTO case_notes (id, object_id, user_id, text) VALUES ($1, $2, $3, $4)`, p.op.ID, p.Object, p.Actor.ID, p.Reason)
	if err != nil {
		return fmt.Errorf("store note: %w", err)
	}
	return nil
}

// doAssign gives the case to somebody of the staff, or takes it off.
func doAssign(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return p.upsertCase(ctx, tx, "assignee", p.Input.assignee())
}

func (in Input) assignee() uuid.NullUUID {
	return uuid.NullUUID{UUID: in.Assignee, Valid: in.Assignee != uuid.Nil}
}

func checkAssignee(ctx context.Context, q store.Querier, in Input) error {
	var staff bool
	err := q.QueryRow(ctx, `SELECT $1::uuid IS NULL OR EXISTS (SELECT FROM users WHERE id = $1 AND role IN ('viewer','support','operator','approver','admin'))`,
		in.assignee()).Scan(&staff)
	if err != nil {
		return fmt.Errorf("look for assignee: %w", err)
	}
	if !staff {
		return fault.Validation(fault.Field{Field: "assignee", Rule: "staff", Message: "must be one of the staff"})
	}
	return nil
}

const maxTicket = 100 // characters

func doTicket(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	ticket := operation.Text(p.Input.Text)
	if utf8.RuneCountInString(ticket) > maxTicket || !store.Storable(ticket) {
		return fault.Validation(fault.Field{Field: "ticket", Rule: "max=100", Message: "must have at most 100 characters"})
	}
	return p.upsertCase(ctx, tx, "ticket", ticket)
}

// doTags replaces the tags: words separated by commas or spaces, in lower case, each once.
func doTags(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	tags := strings.FieldsFunc(strings.ToLower(operation.Text(p.Input.Text)), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > 10 || slices.ContainsFunc(tags, func(t string) bool { return utf8.RuneCountInString(t) > 30 || !store.Storable(t) }) {
		return fault.Validation(fault.Field{Field: "tags", Rule: "max=10,dive,max=30", Message: "must be at most 10 words of at most 30 characters"})
	}
	return p.upsertCase(ctx, tx, "tags", tags)
}

const maxSnooze = 30 * 24 * time.Hour

// doSnooze hides the thing from its queues until a time, by the database's clock at most 30 days away; a zero time shows it again. What
// comes into a queue later than that is shown.
func doSnooze(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	if p.Input.Until.IsZero() {
		return p.upsertCase(ctx, tx, "snoozed_until", nil)
	}
	return p.upsertCase(ctx, tx, "snoozed_until", p.Input.Until)
}

func checkUntil(ctx context.Context, q store.Querier, in Input) error {
	if in.Until.IsZero() {
		return nil
	}
	var fits bool
	err := q.QueryRow(ctx, `SELECT $1 BETWEEN clock_timestamp() AND clock_timestamp() + $2::interval`, in.Until, maxSnooze).Scan(&fits)
	if err != nil {
		return fmt.Errorf("look at the clock: %w", err)
	}
	if !fits {
		return fault.Validation(fault.Field{Field: "until", Rule: "next_30d", Message: "must lie in the next 30 days"})
	}
	return nil
}

// caseRow is what people's words about a thing were before a press.
type caseRow struct {
	Assignee uuid.NullUUID
	Ticket   *string
	Tags     []string
}

// said is a column as a form shows it.
func (c caseRow) said(column string) string {
	switch {
	case column == "assignee" && c.Assignee.Valid:
		return c.Assignee.UUID.String()
	case column == "ticket" && c.Ticket != nil:
		return *c.Ticket
	case column == "tags":
		return strings.Join(c.Tags, ", ")
	}
	return ""
}

// upsertCase changes one column and leaves the others to whoever changes them at the same moment. CONFLICT CASE_CHANGED if it isn't
// as the form showed it any more: what somebody else wrote meanwhile isn't overwritten unseen.
func (p *pressing) upsertCase(ctx context.Context, tx pgx.Tx, column string, value any) error {
	made, err := tx.Exec(ctx, `INSERT INTO cases (object_id) VALUES ($1) ON CONFLICT DO NOTHING`, p.Object)
	if err != nil {
		return fmt.Errorf("open case: %w", err)
	}
	var old, now []byte
	if err := tx.QueryRow(ctx, `SELECT to_jsonb(c) FROM cases c WHERE object_id = $1 FOR UPDATE`, p.Object).Scan(&old); err != nil {
		return fmt.Errorf("read case: %w", err)
	}
	var before caseRow
	if err := json.Unmarshal(old, &before); err != nil {
		return fmt.Errorf("read case: %w", err)
	}
	if p.Input.Was != nil && *p.Input.Was != before.said(column) {
		return fault.New(fault.Conflict, "CASE_CHANGED", "Somebody else has changed it meanwhile. Nothing was changed.")
	}
	err = tx.QueryRow(ctx, `UPDATE cases c SET `+column+` = $2, updated_at = now(), snoozed_at = CASE WHEN $3 THEN clock_timestamp() ELSE snoozed_at END
		WHERE object_id = $1 RETURNING to_jsonb(c)`, p.Object, value, column == "snoozed_until").Scan(&now)
	if err != nil {
		return fmt.Errorf("store case: %w", err)
	}
	if made.RowsAffected() == 1 {
		old = nil
	}
	p.audit.rows = append(p.audit.rows, touched{table: "cases", id: p.Object, before: old, after: now})
	return nil
}
