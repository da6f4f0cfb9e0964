package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Line is a number of units (at least 1) of one product.
type Line struct {
	ProductID string
	Quantity  int
}

// Short names a product that has fewer units than asked for; Available is 0 for an unknown one.
type Short struct {
	ProductID string
	Available int
}

// reserveSQL is all or nothing. `locked` takes the rows in the order of their ids, so that two orders with the same products
// wait for each other instead of deadlocking, and holds their newest counters; nobody else can move them until COMMIT.
// NO KEY UPDATE leaves foreign keys on products (basket and order lines) unhindered.
const reserveSQL = `
	WITH want AS (
		SELECT id, sum(quantity) AS quantity FROM unnest($1::text[], $2::int[]) AS line(id, quantity) GROUP BY id
	), locked AS MATERIALIZED (
		SELECT p.id, want.quantity, p.on_hand - p.reserved AS free
		FROM products p JOIN want ON want.id = p.id ORDER BY p.id FOR NO KEY UPDATE OF p
	), verdict AS (
		SELECT count(*) = (SELECT count(*) FROM want) AND bool_and(quantity > 0 AND quantity <= free) AS all_there FROM locked
	), reserved AS (
		UPDATE products p SET reserved = p.reserved + locked.quantity FROM locked, verdict
		WHERE p.id = locked.id AND verdict.all_there AND p.on_hand - p.reserved >= locked.quantity
	)
	SELECT want.id, coalesce(locked.free, 0) FROM want LEFT JOIN locked ON locked.id = want.id
	WHERE locked.id IS NULL OR want.quantity > locked.free OR want.quantity < 1 ORDER BY want.id`

// QueueReserve takes the lines out of stock: every line, or none and the products that fell short in short, which is filled
// when the batch is closed. Lines of one product are summed. Queue it last: its rows are the most wanted ones and stay
// locked until COMMIT. Lock order in one transaction: promo code, cart, then stock.
func QueueReserve(b *pgx.Batch, lines []Line, short *[]Short) {
	ids, quantities := make([]string, len(lines)), make([]int, len(lines))
	for i, l := range lines {
		ids[i], quantities[i] = l.ProductID, l.Quantity
	}
	b.Queue(reserveSQL, ids, quantities).Query(func(rows pgx.Rows) error {
		var err error
		if *short, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Short]); err != nil {
			return fmt.Errorf("reserve stock: %w", err)
		}
		return nil
	})
}

// Reserve is QueueReserve on its own. An empty result means that everything is reserved.
func Reserve(ctx context.Context, tx store.Querier, lines []Line) ([]Short, error) {
	var short []Short
	var b pgx.Batch
	QueueReserve(&b, lines, &short)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err //nolint:wrapcheck // the queued function has wrapped it
	}
	return short, nil
}

// OutOfStock is the refusal that names what fell short; nil when nothing did.
func OutOfStock(short []Short) error {
	if len(short) == 0 {
		return nil
	}
	names := make([]string, len(short))
	for i, s := range short {
		names[i] = fmt.Sprintf("%s (%d left)", s.ProductID, s.Available)
	}
	return fault.New(fault.Conflict, "OUT_OF_STOCK", "Not enough in stock: "+strings.Join(names, ", ")+".")
}

// Release gives an order's units back, in the same lock order as Reserve. It does not know whether that has happened before:
// call it only in the transaction whose conditional UPDATE moved the order to CANCELED or EXPIRED.
func Release(ctx context.Context, tx store.Querier, orderID uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		WITH locked AS MATERIALIZED (
			SELECT p.id, i.quantity FROM products p JOIN order_items i ON i.product_id = p.id
			WHERE i.order_id = $1 ORDER BY p.id FOR NO KEY UPDATE OF p
		)
		UPDATE products p SET reserved = p.reserved - locked.quantity FROM locked WHERE p.id = locked.id`, orderID)
	if err != nil {
		return fmt.Errorf("release stock: %w", err)
	}
	return nil
}
