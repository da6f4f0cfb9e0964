package alarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// tick runs do if nobody has for the given time: one process at a time, in one transaction. ran says whether it did.
func tick(ctx context.Context, db store.DB, name string, every time.Duration, do func(tx pgx.Tx) error) (ran bool, err error) {
	err = store.InTx(ctx, db, func(tx pgx.Tx) error {
		ran = false
		var due bool
		err := tx.QueryRow(ctx, `UPDATE ticks SET ran_at = clock_timestamp() WHERE name =
			(SELECT name FROM ticks WHERE name = $1 AND ran_at <= clock_timestamp() - $2::interval FOR UPDATE SKIP LOCKED) RETURNING true`, name, every).Scan(&due)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take %s: %w", name, err)
		}
		ran = true
		return do(tx)
	})
	return ran && err == nil, err
}

// RanAt is when the alarms were last looked at, by any process; zero for never.
func RanAt(ctx context.Context, q store.Querier) (at time.Time, err error) {
	var found *time.Time
	err = q.QueryRow(ctx, `SELECT nullif(ran_at, '-infinity') FROM ticks WHERE name = 'alarms'`).Scan(&found)
	if err != nil {
		return at, fmt.Errorf("read last look: %w", err)
	}
	if found != nil {
		at = *found
	}
	return at, nil
}
