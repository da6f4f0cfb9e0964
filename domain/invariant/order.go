package invariant

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// ofOrder stands in front of an invariant's query: the names of the tables mean the rows of one order (@order), so the very same
// query judges it alone, by indexes. A CTE's own query still sees the table.
//
//nolint:unqueryvet // whichever columns the queries read
const ofOrder = `WITH orders AS MATERIALIZED (SELECT t.* FROM orders t WHERE t.id = @order),
	order_items AS MATERIALIZED (SELECT t.* FROM order_items t WHERE t.order_id = @order),
	payments AS MATERIALIZED (SELECT t.* FROM payments t WHERE t.order_id = @order),
	refunds AS MATERIALIZED (SELECT t.* FROM refunds t WHERE t.order_id = @order),
	shipments AS MATERIALIZED (SELECT t.* FROM shipments t WHERE t.order_id = @order),
	licenses AS MATERIALIZED (SELECT t.* FROM licenses t WHERE t.order_id = @order),
	bonus_entries AS MATERIALIZED (SELECT t.* FROM bonus_entries t WHERE t.order_id = @order),
	notifications AS MATERIALIZED (SELECT t.* FROM notifications t WHERE t.order_id = @order),
	outbox_events AS MATERIALIZED (SELECT t.* FROM outbox_events t WHERE t.order_id = @order),
	operations AS MATERIALIZED (SELECT t.* FROM operations t WHERE t.order_id = @order),
	incoming_events AS MATERIALIZED (SELECT t.* FROM incoming_events t WHERE t.order_id = @order),
	leads AS MATERIALIZED (SELECT t.* FROM leads t WHERE false),
	journal AS MATERIALIZED (SELECT t.* FROM journal t WHERE t.order_id = @order
		UNION ALL SELECT t.* FROM journal t WHERE t.order_id IS NULL AND t.operation_id IN (SELECT id FROM operations)
		UNION ALL SELECT t.* FROM journal t WHERE t.order_id IS NULL AND t.operation_id IS NULL AND t.incoming_event_id IN (SELECT id FROM incoming_events))
`

// stockInvariant is about products, not about any one order.
const stockInvariant = 8

// Of lists the invariants that one order violates, in one round trip; none for an order that keeps them all. Stock belongs to no
// single order and is left out.
func Of(ctx context.Context, q store.Querier, orderID uuid.UUID, cfg Config) ([]Finding, error) {
	args := cfg.arguments()
	args["order"] = orderID
	var broken []Finding
	b := &pgx.Batch{}
	for _, i := range All() {
		if i.ID == stockInvariant {
			continue
		}
		b.Queue(ofOrder+`SELECT subject, detail FROM (`+i.SQL+`) AS v(subject, detail) ORDER BY subject, detail LIMIT 20`, args).Query(func(rows pgx.Rows) error { //nolint:unqueryvet // as above
			examples, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Example])
			if err == nil && len(examples) > 0 {
				broken = append(broken, Finding{ID: i.ID, Name: i.Name, Promise: i.Promise, Violations: int64(len(examples)), Examples: examples})
			}
			return err //nolint:wrapcheck // wrapped below
		})
	}
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("check order: %w", err)
	}
	return broken, nil
}
