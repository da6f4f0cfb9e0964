package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Line is a number of units (at least 1) of one product.
type Line struct {
	ProductID string
	Quantity  int
}

// Short names a product that is unknown or has fewer units than asked for.
type Short struct {
	ProductID string
}

// QueueReserve takes the lines out of stock, one conditional UPDATE a product in the order of their ids, so that two orders with
// the same products wait for each other instead of deadlocking. Products that fell short are in short when the batch is
// closed: then the caller must roll back, because the others were taken. Lines of one product are summed. Queue it last: the
// rows stay locked until COMMIT. Lock order in one transaction: promo code, cart, stock.
func QueueReserve(b *pgx.Batch, lines []Line, short *[]Short) {
	sums := map[string]int{}
	for _, l := range lines {
		sums[l.ProductID] += l.Quantity
	}
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		b.Queue(`UPDATE products SET reserved = reserved + $2 WHERE id = $1 AND $2 > 0 AND on_hand - reserved >= $2`, id, sums[id]).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					*short = append(*short, Short{ProductID: id})
				}
				return nil
			})
	}
}

// Reserve is QueueReserve on its own. Unless the result is empty, the transaction must be rolled back.
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
		names[i] = s.ProductID
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
