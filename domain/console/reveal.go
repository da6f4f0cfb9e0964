package console

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// RevealedFor is how long what was masked stays open to the person who asked to see it.
const RevealedFor = 10 * time.Minute

// Personal is what an intent's page masks.
type Personal struct {
	Name  string // email, name, address, recipient, message, license
	Value string
}

// Reveal reads what the pages of an order or enquiry mask, if this person has lately said why (operator.Reveal) and still may; until is
// when that ends. Otherwise there is nothing.
func Reveal(ctx context.Context, q store.Querier, user, id uuid.UUID) (list []Personal, until time.Time, err error) {
	rows, err := q.Query(ctx, `WITH asked AS (SELECT max(at) + $3::interval AS until FROM audit_actions
			WHERE object_id = $1::uuid::text AND user_id = $2 AND action = 'reveal' AND outcome = 'DONE' AND at > clock_timestamp() - $3::interval
				AND EXISTS (SELECT FROM users WHERE id = $2 AND role IN ('support','operator','approver','admin')))
		SELECT p.name, p.value, asked.until FROM asked CROSS JOIN LATERAL (
			SELECT 1, 'name', customer_name FROM orders WHERE id = $1
			UNION ALL SELECT 2, 'email', email FROM orders WHERE id = $1
			UNION ALL SELECT 3, 'address', concat_ws(', ', d.a ->> 'name', d.a ->> 'line1', d.a ->> 'line2', d.a ->> 'postcode', d.a ->> 'city', d.a ->> 'country')
				FROM (SELECT delivery -> 'address' FROM orders WHERE id = $1 UNION SELECT address FROM shipments WHERE order_id = $1) AS d(a)
			UNION ALL SELECT 4, 'recipient', n.recipient FROM notifications n JOIN orders o ON o.id = n.order_id
				WHERE o.id = $1 AND n.recipient IS DISTINCT FROM o.email
			UNION ALL SELECT 5, 'license', license_key FROM licenses WHERE order_id = $1
			UNION ALL SELECT 1, 'name', name FROM leads WHERE id = $1
			UNION ALL SELECT 2, 'email', email FROM leads WHERE id = $1
			UNION ALL SELECT 6, 'message', message FROM leads WHERE id = $1
		) AS p(place, name, value) WHERE asked.until IS NOT NULL AND p.value <> '' ORDER BY p.place, p.value LIMIT 200`, id, user, RevealedFor)
	if err != nil {
		return nil, until, fmt.Errorf("read personal data: %w", err)
	}
	list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Personal, err error) {
		err = row.Scan(&p.Name, &p.Value, &until)
		return p, reading("personal data", err)
	})
	return list, until, reading("personal data", err)
}
