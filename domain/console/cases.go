package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/money"
	"onefold/domain/store"
)

// Case is what people said about a thing that needs attention.
type Case struct {
	AssigneeID   uuid.NullUUID
	Assignee     string // mail address
	Ticket       string
	Tags         []string
	SnoozedUntil *time.Time // in the future
}

// CaseOf reads what people said about an order, or about an operation or event without one. The empty Case if they said nothing.
func CaseOf(ctx context.Context, q store.Querier, id uuid.UUID) (c Case, err error) {
	err = q.QueryRow(ctx, `SELECT c.assignee, coalesce(u.email, ''), coalesce(c.ticket, ''), c.tags, CASE WHEN c.snoozed_until > now() THEN c.snoozed_until END
		FROM cases c LEFT JOIN users u ON u.id = c.assignee WHERE c.object_id = $1`, id).Scan(&c.AssigneeID, &c.Assignee, &c.Ticket, &c.Tags, &c.SnoozedUntil)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return c, fmt.Errorf("read case: %w", err)
	}
	return c, nil
}

// Alike is one of two orders that look alike.
type Alike struct {
	ID        uuid.UUID
	Number    int64
	Status    string
	Total     string // with its code
	Items     string // "2 × Lumen Notes, …"
	Key       string // of the request that placed it; "" once retention has removed it
	CreatedAt time.Time
}

// Alikes reads orders by ID, for comparing them.
func Alikes(ctx context.Context, q store.Querier, ids []uuid.UUID) (map[uuid.UUID]Alike, error) {
	rows, err := q.Query(ctx, `SELECT o.id, o.number, o.status, o.total_minor, o.currency, coalesce((SELECT string_agg(i.quantity || ' × ' || i.name, ', ' ORDER BY i.name)
			FROM order_items i WHERE i.order_id = o.id), ''), coalesce(op.key, ''), o.created_at
		FROM orders o LEFT JOIN operations op ON op.id = o.operation_id WHERE o.id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read orders alike: %w", err)
	}
	found := map[uuid.UUID]Alike{}
	var t Alike
	var minor int64
	var code string
	_, err = pgx.ForEachRow(rows, []any{&t.ID, &t.Number, &t.Status, &minor, &code, &t.Items, &t.Key, &t.CreatedAt}, func() error {
		t.Total = money.Amount{Minor: minor, Currency: code}.String()
		found[t.ID] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read orders alike: %w", err)
	}
	return found, nil
}

// OpenApprovals lists what waits for a second person about an order or something of it.
func OpenApprovals(ctx context.Context, q store.Querier, objects []uuid.UUID) ([]uuid.UUID, error) {
	rows, err := q.Query(ctx, `SELECT id FROM approvals WHERE object_id = ANY($1) AND decision IS NULL ORDER BY requested_at, id LIMIT 20`, objects)
	if err != nil {
		return nil, fmt.Errorf("look for approvals: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("look for approvals: %w", err)
	}
	return ids, nil
}

// Approval is what somebody asked for and a second person decides on.
type Approval struct {
	ID        uuid.UUID
	Action    string
	ObjectID  uuid.UUID
	Reason    string
	By        uuid.UUID
	ByEmail   string
	Amount    string  // "4.00 RUB"; "" if it isn't about a sum
	Expected  string  // what was left when it was asked for
	Evidence  *string // the provider's ID that is proposed; "" says that the provider has none
	AskedAt   time.Time
	Decision  string
	DecidedBy string
}

// ApprovalOf reads one. NOT_FOUND if there is none.
func ApprovalOf(ctx context.Context, q store.Querier, id uuid.UUID) (a Approval, err error) {
	var wish []byte
	err = q.QueryRow(ctx, `SELECT a.id, a.action, a.object_id, a.reason, a.requested_by, coalesce(u.email, ''), a.input, a.requested_at, coalesce(a.decision, ''),
			coalesce(d.email, '')
		FROM approvals a LEFT JOIN users u ON u.id = a.requested_by LEFT JOIN users d ON d.id = a.decided_by WHERE a.id = $1`, id).
		Scan(&a.ID, &a.Action, &a.ObjectID, &a.Reason, &a.By, &a.ByEmail, &wish, &a.AskedAt, &a.Decision, &a.DecidedBy)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, fault.Missing("request")
	}
	if err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	var asked map[string]any
	if err := json.Unmarshal(wish, &asked); err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	a.Amount, a.Expected, a.Evidence = Wish(asked)
	return a, nil
}

// Wish reads what an approval is about: a sum, what was left, a provider's ID.
func Wish(asked map[string]any) (sum, left string, evidence *string) {
	text := func(name string) string {
		m, _ := asked[name].(map[string]any)
		number, _ := m["amount"].(string)
		code, _ := m["currency"].(string)
		return strings.TrimSpace(number + " " + code)
	}
	if id, ok := asked["providerId"].(string); ok {
		evidence = &id
	}
	return text("amount"), text("expected"), evidence
}

// EarlierOf gives for each of two orders that look alike the earlier one, by the later one.
func EarlierOf(ctx context.Context, q store.Querier, later []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := q.Query(ctx, `SELECT order_id, earlier_id FROM possible_duplicates WHERE order_id = ANY($1)`, later)
	if err != nil {
		return nil, fmt.Errorf("read orders alike: %w", err)
	}
	pairs := map[uuid.UUID]uuid.UUID{}
	var id, earlier uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id, &earlier}, func() error {
		pairs[id] = earlier
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read orders alike: %w", err)
	}
	return pairs, nil
}
