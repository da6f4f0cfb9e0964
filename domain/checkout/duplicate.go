package checkout

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/account"
	"onefold/domain/outbox"
)

// What a person may find about two orders that look alike.
const (
	TechnicalRetry = "technical_retry" // one intent, ordered twice
	OnPurpose      = "on_purpose"      // two intents
)

// duplicateWindow is how far apart two orders may be that are shown as possible duplicates; only the duplicateDepth orders before
// one are compared with it, so that somebody who orders all day costs no more than others.
const (
	duplicateWindow = 24 * time.Hour
	duplicateDepth  = 5
)

// NoteDuplicates follows ORDER_PLACED: an order with the same content as an earlier one of the same person (the same user, or the
// same mail address) inside the window is shown to support. Equal content with another key is another intent (DESIGN rule 1), so
// nothing is blocked. Drills order the same all day, so theirs are left out. It runs in the relay, off the request's path.
func NoteDuplicates(ctx context.Context, tx pgx.Tx, events []outbox.Event) error {
	ids := make([]uuid.UUID, len(events))
	for i, e := range events {
		ids[i] = e.OrderID
	}
	_, err := tx.Exec(ctx, `INSERT INTO possible_duplicates (order_id, earlier_id)
		SELECT o.id, earlier.id FROM orders o JOIN operations op ON op.id = o.operation_id CROSS JOIN LATERAL (
			SELECT e.id FROM (
				(SELECT id, operation_id, created_at, status FROM orders WHERE user_id = o.user_id AND id < o.id ORDER BY id DESC LIMIT $3)
				UNION (SELECT id, operation_id, created_at, status FROM orders WHERE email = o.email AND id < o.id ORDER BY id DESC LIMIT $3)) e
			JOIN operations eop ON eop.id = e.operation_id
			WHERE e.created_at > o.created_at - $2::interval AND e.status <> 'CANCELED' AND eop.request_hash = op.request_hash
			ORDER BY e.id DESC LIMIT 1) earlier
		WHERE o.id = ANY($1) AND o.user_id NOT IN (SELECT id FROM users WHERE email = $4) ON CONFLICT (order_id) DO NOTHING`,
		ids, duplicateWindow, duplicateDepth, account.DrillEmail)
	if err != nil {
		return fmt.Errorf("look for possible duplicates: %w", err)
	}
	return nil
}
