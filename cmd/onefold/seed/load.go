package seed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// ahead is how many stretches may be ready before they are stored.
const ahead = 4

// load writes all stretches in order: written side by side, stored one after the other in the one transaction.
func (e *edition) load(ctx context.Context, tx pgx.Tx, progress func(orders int)) (Counts, error) {
	counts := Counts{}
	ready := make(chan chan *rows, ahead)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(ready)
		for lo := 0; lo < e.orders; lo += stretch {
			slot := make(chan *rows, 1)
			select {
			case ready <- slot:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				slot <- e.write(lo, min(lo+stretch, e.orders))
				return nil
			})
		}
		return nil
	})
	group.Go(func() error {
		stored := 0
		for slot := range ready {
			if err := counts.store(ctx, tx, <-slot); err != nil {
				return err
			}
			stored = min(stored+stretch, e.orders)
			progress(stored)
		}
		return nil
	})
	return counts, group.Wait()
}

// Counts is how many rows a table got, by its name.
type Counts map[string]int64

func (c Counts) store(ctx context.Context, tx pgx.Tx, r *rows) error {
	for t, l := range layout {
		if len(r[t]) == 0 {
			continue
		}
		n, err := tx.CopyFrom(ctx, pgx.Identifier{l.name}, l.columns, pgx.CopyFromRows(r[t]))
		if err != nil {
			return fmt.Errorf("store %s: %w", l.name, err)
		}
		c[l.name] += n
	}
	return nil
}

// stock lets the catalogue hold what was sold, so that as much as before is left.
func stock(ctx context.Context, tx pgx.Tx, since int64) error {
	_, err := tx.Exec(ctx, `UPDATE products p SET on_hand = on_hand + sold.units, reserved = reserved + sold.units FROM (
			SELECT i.product_id, sum(i.quantity)::int AS units FROM order_items i JOIN orders o ON o.id = i.order_id
			WHERE o.number > $1 AND o.status NOT IN ('CANCELED', 'EXPIRED') GROUP BY 1) sold WHERE sold.product_id = p.id`, since)
	if err != nil {
		return fmt.Errorf("book stock: %w", err)
	}
	return nil
}
