package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
)

// judgeCase: words about anything with an ID are always safe; they only add.
const judgeCase = `SELECT i.id, o.id, '', '', 'SAFE', 'append_only', NULL::timestamptz, NULL::bigint, NULL::text
	FROM unnest($1::text[]) AS i(id) LEFT JOIN orders o ON o.id::text = i.id WHERE i.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`

func doNote(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	_, err := tx.Exec(ctx, `INSERT INTO case_notes (id, object_id, user_id, text) VALUES ($1, $2, $3, $4)`, p.op.ID, p.Object, p.Actor.ID, p.Reason)
	if err != nil {
		return fmt.Errorf("store note: %w", err)
	}
	return nil
}

// doAssign gives the case to somebody of the staff, or takes it off.
func doAssign(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	to := uuid.NullUUID{UUID: p.Input.Assignee, Valid: p.Input.Assignee != uuid.Nil}
	var staff bool
	err := tx.QueryRow(ctx, `SELECT $1::uuid IS NULL OR EXISTS (SELECT FROM users WHERE id = $1 AND role IN ('viewer','support','operator','approver','admin'))`, to).Scan(&staff)
	if err != nil {
		return fmt.Errorf("look for assignee: %w", err)
	}
	if !staff {
		return fault.Validation(fault.Field{Field: "assignee", Rule: "staff", Message: "must be one of the staff"})
	}
	return p.upsertCase(ctx, tx, "assignee", to)
}

const maxTicket = 100 // characters

func doTicket(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	ticket := operation.Text(p.Input.Text)
	if utf8.RuneCountInString(ticket) > maxTicket {
		return fault.Validation(fault.Field{Field: "ticket", Rule: "max=100", Message: "must have at most 100 characters"})
	}
	return p.upsertCase(ctx, tx, "ticket", ticket)
}

// doTags replaces the tags: words separated by commas or spaces, in lower case, each once.
func doTags(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	tags := strings.FieldsFunc(strings.ToLower(operation.Text(p.Input.Text)), func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > 10 || slices.ContainsFunc(tags, func(t string) bool { return utf8.RuneCountInString(t) > 30 }) {
		return fault.Validation(fault.Field{Field: "tags", Rule: "max=10,dive,max=30", Message: "must be at most 10 words of at most 30 characters"})
	}
	return p.upsertCase(ctx, tx, "tags", tags)
}

const maxSnooze = 30 * 24 * time.Hour

// doSnooze hides the thing from its queue until a time, by the database's clock at most 30 days away; a zero time shows it again.
func doSnooze(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	if p.Input.Until.IsZero() {
		return p.upsertCase(ctx, tx, "snoozed_until", nil)
	}
	if p.Input.Until.Before(p.op.Now) || p.Input.Until.After(p.op.Now.Add(maxSnooze)) {
		return fault.Validation(fault.Field{Field: "until", Rule: "future,max=30d", Message: "must lie in the next 30 days"})
	}
	return p.upsertCase(ctx, tx, "snoozed_until", p.Input.Until)
}

func (p *pressing) upsertCase(ctx context.Context, tx pgx.Tx, column string, value any) error {
	var old, now []byte
	err := tx.QueryRow(ctx, `SELECT (SELECT to_jsonb(c) FROM cases c WHERE object_id = $1)`, p.Object).Scan(&old)
	if err != nil {
		return fmt.Errorf("read case: %w", err)
	}
	err = tx.QueryRow(ctx, `INSERT INTO cases AS c (object_id, `+column+`) VALUES ($1, $2)
		ON CONFLICT (object_id) DO UPDATE SET `+column+` = excluded.`+column+`, updated_at = now() RETURNING to_jsonb(c)`, p.Object, value).Scan(&now)
	if err != nil {
		return fmt.Errorf("store case: %w", err)
	}
	p.audit.rows = append(p.audit.rows, touched{table: "cases", id: p.Object, before: old, after: now})
	return nil
}
