package alarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
)

// MaxSilence bounds Silence: a silence that somebody forgets ends the next day.
const MaxSilence = 24 * time.Hour

// Acknowledge says that somebody looks after a firing alarm; the next firing is nobody's again. id is the press's own, which
// operator.Press claims, so that it comes once. Errors: NotFound for an alarm that never was; Conflict ALARM_STATE unless it fires.
func Acknowledge(ctx context.Context, tx pgx.Tx, id uuid.UUID, name string, user uuid.UUID, reason string) error {
	firing, err := lock(ctx, tx, name)
	if err != nil {
		return err
	}
	if !firing {
		return fault.New(fault.Conflict, "ALARM_STATE", "This alarm doesn't fire any more.")
	}
	if _, err := tx.Exec(ctx, `UPDATE alarms SET acknowledged_by = $2 WHERE name = $1`, name, user); err != nil {
		return fmt.Errorf("acknowledge alarm: %w", err)
	}
	return press(ctx, tx, id, name, "ACKNOWLEDGED", user, reason)
}

// Silence holds alerts of an alarm back for a time (0 < d ≤ MaxSilence), counted from now; a later one replaces it. id is as
// for Acknowledge. Errors: NotFound; Invalid SILENCE_TOO_LONG.
func Silence(ctx context.Context, tx pgx.Tx, id uuid.UUID, name string, user uuid.UUID, reason string, d time.Duration) error {
	if d <= 0 || d > MaxSilence {
		return fault.New(fault.Invalid, "SILENCE_TOO_LONG", "An alarm can be silenced for 24 hours at most.")
	}
	if _, err := lock(ctx, tx, name); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE alarms SET silenced_until = clock_timestamp() + $2::interval WHERE name = $1`, name, d); err != nil {
		return fmt.Errorf("silence alarm: %w", err)
	}
	return press(ctx, tx, id, name, "SILENCED", user, reason)
}

func lock(ctx context.Context, tx pgx.Tx, name string) (firing bool, err error) {
	err = tx.QueryRow(ctx, `SELECT state = 'FIRING' FROM alarms WHERE name = $1 FOR UPDATE`, name).Scan(&firing)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fault.Missing("alarm")
	}
	if err != nil {
		return false, fmt.Errorf("lock alarm: %w", err)
	}
	return firing, nil
}

func press(ctx context.Context, tx pgx.Tx, id uuid.UUID, name, what string, user uuid.UUID, reason string) error {
	_, err := tx.Exec(ctx, `INSERT INTO alarm_history (id, alarm, what, value, max_value, unit, n, since, user_id, reason, until)
		SELECT $1, name, $3, value, max_value, unit, n, since, $4, $5, CASE WHEN $3 = 'SILENCED' THEN silenced_until END FROM alarms WHERE name = $2`,
		id, name, what, user, reason)
	if err != nil {
		return fmt.Errorf("note press: %w", err)
	}
	return nil
}
