package operator

import (
	"context"

	"github.com/google/uuid"

	"onefold/domain/account"
	"onefold/domain/store"
)

// Told is something a person did that isn't an action of the table, but has to be told: an export.
type Told struct {
	Actor      account.User
	What       Name
	ObjectType string
	Object     string
	Detail     map[string]any
}

// Tell writes it into the audit.
func (d *Desk) Tell(ctx context.Context, t Told) error {
	return d.tell(ctx, t, done, "")
}

// Repeated writes into the audit that it was pressed again, and that nothing came of it.
func (d *Desk) Repeated(ctx context.Context, t Told) error {
	return d.tell(ctx, t, replayed, "")
}

// Refused writes into the audit that somebody tried what their role doesn't allow.
func (d *Desk) Refused(ctx context.Context, t Told, code string) error {
	return d.tell(ctx, t, refused, code)
}

func (d *Desk) tell(ctx context.Context, t Told, what outcome, code string) error {
	return tellIn(ctx, d.Operations.DB, t, what, code)
}

func tellIn(ctx context.Context, q store.Querier, t Told, what outcome, code string) error {
	r := record{outcome: what, code: code, operationID: uuid.Must(uuid.NewV7()), detail: t.Detail}
	return r.write(ctx, q, Press{Actor: t.Actor, Action: t.What, Object: t.Object}, t.ObjectType, uuid.NullUUID{})
}
