package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Foresee works out a plan and keeps it for people to read: a page must not wait for whole tables.
func Foresee(ctx context.Context, db store.DB, cfg Config) error {
	tables, err := Plan(ctx, db, cfg)
	if err != nil {
		return err
	}
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		for i, t := range tables {
			stays, err := json.Marshal(t.Stays)
			if err != nil {
				return fmt.Errorf("write plan of %s: %w", t.Name, err)
			}
			b.Queue(`INSERT INTO retention_plan (table_name, position, goes, stays, at) VALUES ($1, $2, $3, $4, now())
				ON CONFLICT (table_name) DO UPDATE SET position = excluded.position, goes = excluded.goes, stays = excluded.stays, at = excluded.at`,
				t.Name, i, t.Goes, stays)
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return fmt.Errorf("keep plan: %w", err)
		}
		return nil
	})
}

// Foreseen reads the plan that was worked out last, and when; the zero time means that there is none yet.
func Foreseen(ctx context.Context, q store.Querier) (tables []Table, at time.Time, err error) {
	rows, err := q.Query(ctx, `SELECT table_name, goes, stays, at FROM retention_plan ORDER BY position`)
	if err != nil {
		return nil, at, fmt.Errorf("read plan: %w", err)
	}
	tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		var stays []byte
		if err := row.Scan(&t.Name, &t.Goes, &stays, &at); err != nil {
			return t, fmt.Errorf("read plan: %w", err)
		}
		return t, json.Unmarshal(stays, &t.Stays)
	})
	if err != nil {
		return nil, at, fmt.Errorf("read plan: %w", err)
	}
	return tables, at, nil
}
