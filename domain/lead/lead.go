// Package lead takes enquiries, once per intent.
package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/operation"
)

// CreateLead is the type of the operation that takes an enquiry.
const CreateLead operation.Type = "CREATE_LEAD"

// Enquiry is what somebody wants to tell the shop.
type Enquiry struct {
	Name    string // 1–200 characters
	Email   string
	Message string // 1–5000 characters
}

var rules = validator.New(validator.WithRequiredStructEnabled()) //nolint:gochecknoglobals // caches, safe for concurrent use

// Create stores an enquiry once per (user, key). Errors: VALIDATION_FAILED, IDEMPOTENCY_KEY_EXPIRED (the
// enquiry is there, its operation was cleaned away) and those of operation.Runner.Run.
func Create(ctx context.Context, r *operation.Runner, userID uuid.UUID, key string, e Enquiry) (operation.Outcome, error) {
	e.Name, e.Email, e.Message = operation.Text(e.Name), strings.ToLower(strings.TrimSpace(e.Email)), strings.TrimSpace(e.Message)
	if err := e.check(); err != nil {
		return operation.Outcome{}, err
	}
	normal := e
	normal.Message = operation.Text(e.Message)
	fingerprint, err := operation.Fingerprint(1, normal)
	if err != nil {
		return operation.Outcome{}, err
	}
	claim := operation.Claim{
		Identity: operation.Identity{User: userID, Type: CreateLead, Key: key}, Fingerprint: fingerprint, Describe: normal.describe,
	}
	existing := uuid.Nil // the enquiry that this key made before its operation was cleaned away
	claim.Reads = func(b *pgx.Batch) { queueByOperation(b, claim.Identity.ID(), &existing) }
	return r.Run(ctx, claim, func(tx pgx.Tx, op *operation.Running) (operation.Result, error) {
		if existing != uuid.Nil {
			return operation.Result{}, operation.Expired(op.ID, "enquiry "+existing.String())
		}
		id := uuid.Must(uuid.NewV7())
		body, err := json.Marshal(map[string]uuid.UUID{"leadId": id})
		if err != nil {
			return operation.Result{}, fmt.Errorf("write answer: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO leads (id, user_id, operation_id, name, email, message) VALUES ($1, $2, $3, $4, $5, $6)`,
			id, userID, op.ID, e.Name, e.Email, e.Message)
		if err != nil {
			return operation.Result{}, fmt.Errorf("store enquiry: %w", err)
		}
		return operation.Result{ResourceType: "lead", ResourceID: id.String(), Code: 201, Body: string(body)}, nil
	})
}

// describe takes the enquiry apart for people who compare two requests of one key; all of it is somebody's own.
func (e Enquiry) describe(f *operation.Fields) {
	f.Personal("name", e.Name)
	f.Personal("email", e.Email)
	f.Personal("message", e.Message)
}

func queueByOperation(b *pgx.Batch, id operation.ID, found *uuid.UUID) {
	b.Queue(`SELECT id FROM leads WHERE operation_id = $1`, id).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(found); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("find enquiry: %w", err)
		}
		return nil
	})
}

func (e Enquiry) check() error {
	var broken []fault.Field
	for _, f := range []struct{ field, value, rule string }{
		{"name", e.Name, "required,max=200"}, {"email", e.Email, "required,email,max=254"}, {"message", e.Message, "required,max=5000"},
	} {
		if err := rules.Var(f.value, f.rule); err != nil || strings.ContainsRune(f.value, 0) {
			broken = append(broken, fault.Field{Field: f.field, Rule: f.rule, Message: "must follow the rule " + f.rule})
		}
	}
	if len(broken) > 0 {
		return fault.Validation(broken...)
	}
	return nil
}
