package fulfilment

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/order"
)

// License issues one licence per paid unit.
func License() operation.Handler { return operation.Handler{Local: issue} }

func issue(ctx context.Context, tx pgx.Tx, op operation.Operation) (operation.End, error) {
	o, err := order.Lock(ctx, tx, op.OrderID.UUID)
	if err != nil {
		return operation.End{}, err
	}
	if o.State == order.Refunded {
		return needless(ctx, tx, op)
	}
	units, err := missing(ctx, tx, o.ID)
	if err != nil {
		return operation.End{}, err
	}
	b := &pgx.Batch{}
	for _, u := range units {
		b.Queue(`INSERT INTO licenses (order_item_id, unit, order_id, license_key) VALUES ($1, $2, $3, $4) ON CONFLICT (order_item_id, unit) DO NOTHING`,
			u.Item, u.Unit, o.ID, newKey())
	}
	journal.Queue(ctx, b, journal.Entry{
		Kind: "license.issued", OperationID: op.ID, OrderID: o.ID, Detail: map[string]any{"units": len(units)},
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return operation.End{}, fmt.Errorf("issue licenses: %w", err)
	}
	if err := wake(ctx, tx, o.ID, SendNotification); err != nil {
		return operation.End{}, err
	}
	return operation.Done("order", o.ID.String()), completing(ctx, tx, op)
}

type unit struct {
	Item uuid.UUID
	Unit int
}

// missing lists the units of an order that have no licence yet: a repeated job finds none.
func missing(ctx context.Context, tx pgx.Tx, orderID uuid.UUID) ([]unit, error) {
	rows, err := tx.Query(ctx, `SELECT i.id, u FROM order_items i CROSS JOIN generate_series(1, i.quantity) u
		WHERE i.order_id = $1 AND i.kind = 'license' AND NOT EXISTS (SELECT 1 FROM licenses l WHERE l.order_item_id = i.id AND l.unit = u)
		ORDER BY i.id, u`, orderID)
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	units, err := pgx.CollectRows(rows, pgx.RowToStructByPos[unit])
	if err != nil {
		return nil, fmt.Errorf("read units: %w", err)
	}
	return units, nil
}

// newKey is 125 random bits as five groups of five letters and digits (Crockford's alphabet has no look-alikes).
func newKey() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	text := base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding).EncodeToString(raw[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", text[0:5], text[5:10], text[10:15], text[15:20], text[20:25])
}
