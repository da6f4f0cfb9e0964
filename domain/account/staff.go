package account

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Person is somebody of the console.
type Person struct {
	User
	LastSeen *time.Time // within a minute; nil if there is no session
	Sessions int
}

// Staff lists who may enter the console, the highest role first.
func Staff(ctx context.Context, q store.Querier) ([]Person, error) {
	rows, err := q.Query(ctx, `SELECT u.id, u.email, u.role, max(s.last_seen_at), count(s.token_hash)::int
		FROM users u LEFT JOIN sessions s ON s.user_id = u.id AND s.expires_at > now()
		WHERE u.role NOT IN ('shopper', 'guest') AND u.role = ANY($1) GROUP BY u.id ORDER BY array_position($1, u.role) DESC, u.email LIMIT $2`,
		[]string{string(Viewer), string(Support), string(Operator), string(Approver), string(Admin)}, maxListed)
	if err != nil {
		return nil, fmt.Errorf("list staff: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Person, err error) {
		err = row.Scan(&p.ID, &p.Email, &p.Role, &p.LastSeen, &p.Sessions)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list staff: %w", err)
	}
	return list, nil
}
