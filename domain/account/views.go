package account

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// View is an address of the console under a name of somebody's own.
type View struct {
	ID      uuid.UUID
	Name    string
	Address string // path and query, below /console/
	Shared  bool   // everybody of the console sees it
	Mine    bool
	Owner   string // address of who made it
}

const (
	maxViews       = 50 // per person
	maxViewName    = 60 // characters
	maxViewAddress = 2000
)

// Views lists somebody's own and everybody's shared views, by name.
func Views(ctx context.Context, q store.Querier, id ID) ([]View, error) {
	rows, err := q.Query(ctx, `SELECT v.id, v.name, v.address, v.shared, v.user_id = $1, coalesce(u.email, '')
		FROM saved_views v JOIN users u ON u.id = v.user_id WHERE v.user_id = $1 OR v.shared ORDER BY lower(v.name), v.id LIMIT 100`, id)
	if err != nil {
		return nil, fmt.Errorf("list views: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[View])
	if err != nil {
		return nil, fmt.Errorf("list views: %w", err)
	}
	return list, nil
}

// SaveView keeps an address under a name; the same name again replaces it. Returns VALIDATION_FAILED (name, address), and Conflict
// TOO_MANY_VIEWS at the fifty-first.
func SaveView(ctx context.Context, q store.Querier, id ID, name, address string, shared bool) error {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > maxViewName || !store.Storable(name) {
		return fault.Validation(fault.Field{Field: "name", Rule: "required,max=60", Message: "must have 1 to 60 characters"})
	}
	if !viewable(address) {
		return fault.Validation(fault.Field{Field: "address", Rule: "console", Message: "is no page of the console"})
	}
	tag, err := q.Exec(ctx, `INSERT INTO saved_views (id, user_id, name, address, shared)
		SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM saved_views WHERE user_id = $2 AND name <> $3) < $6
		ON CONFLICT (user_id, name) DO UPDATE SET address = excluded.address, shared = excluded.shared`, uuid.Must(uuid.NewV7()), id, name, address, shared, maxViews)
	if err != nil {
		return fmt.Errorf("save view: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.New(fault.Conflict, "TOO_MANY_VIEWS", "There are 50 saved views already. Remove one first.")
	}
	return nil
}

// viewable: a page of ours, and nothing that a browser would read as another host.
func viewable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxViewAddress && u.Host == "" && u.Scheme == "" && strings.HasPrefix(u.Path, "/console/") &&
		store.Storable(address) && !strings.ContainsAny(address, "\\\r\n") && u.Path == path.Clean(u.Path)
}

// RemoveView removes one of somebody's own; one that isn't there is a success, and removed says so.
func RemoveView(ctx context.Context, q store.Querier, owner ID, id uuid.UUID) (removed bool, err error) {
	tag, err := q.Exec(ctx, `DELETE FROM saved_views WHERE id = $1 AND user_id = $2`, id, owner)
	if err != nil {
		return false, fmt.Errorf("remove view: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}
