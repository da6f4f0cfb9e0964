package operator

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/store"
)

// SaveView is account.SaveView with a line of the audit: a shared view is what others find in their menu. The line, which stays for
// ever, tells the page and not what was asked of it: that may be somebody's mail address.
func (d *Desk) SaveView(ctx context.Context, who account.User, name, address string, shared bool) error {
	return store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		if err := account.SaveView(ctx, tx, who.ID, name, address, shared); err != nil {
			return err
		}
		page, _, _ := strings.Cut(address, "?")
		detail := map[string]any{"address": page, "shared": shared}
		return tellIn(ctx, tx, Told{Actor: who, What: "view_save", ObjectType: "view", Object: name, Detail: detail}, done, "")
	})
}

// RemoveView is account.RemoveView with a line of the audit.
func (d *Desk) RemoveView(ctx context.Context, who account.User, id uuid.UUID) error {
	return store.InTx(ctx, d.Operations.DB, func(tx pgx.Tx) error {
		removed, err := account.RemoveView(ctx, tx, who.ID, id)
		if err != nil {
			return err
		}
		what := done
		if !removed {
			what = replayed
		}
		return tellIn(ctx, tx, Told{Actor: who, What: "view_remove", ObjectType: "view", Object: id.String()}, what, "")
	})
}
