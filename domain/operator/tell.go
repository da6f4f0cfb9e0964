package operator

import (
	"context"

	"github.com/google/uuid"

	"onefold/domain/account"
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
	r := record{outcome: done, operationID: uuid.Must(uuid.NewV7()), detail: t.Detail}
	return r.write(ctx, d.Operations.DB, Press{Actor: t.Actor, Action: t.What, Object: t.Object}, t.ObjectType, uuid.NullUUID{})
}

// Refused writes into the audit that somebody tried what their role doesn't allow.
func (d *Desk) Refused(ctx context.Context, t Told, code string) error {
	r := record{outcome: refused, code: code, operationID: uuid.Must(uuid.NewV7()), detail: t.Detail}
	return r.write(ctx, d.Operations.DB, Press{Actor: t.Actor, Action: t.What, Object: t.Object}, t.ObjectType, uuid.NullUUID{})
}
