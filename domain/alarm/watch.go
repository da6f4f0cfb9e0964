package alarm

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

// Every is the pause between two looks.
const Every = 15 * time.Second

// Watcher evaluates the alarms.
type Watcher struct {
	DB       store.DB
	Limits   Limits        // nil means DefaultLimits
	Channels []string      // who is told: "log", "webhook", "mail"
	Every    time.Duration // 0 means Every
}

// Watch looks at everything once, unless another process has just done so. ran says whether it did.
func (w Watcher) Watch(ctx context.Context) (ran bool, err error) {
	every := w.Every
	if every == 0 {
		every = Every
	}
	return tick(ctx, w.DB, "alarms", every, func(tx pgx.Tx) error {
		found, err := measureAll(ctx, tx)
		if err != nil {
			return err
		}
		if err := sample(ctx, tx, found); err != nil {
			return err
		}
		known, err := states(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range found {
			if err := w.judge(ctx, tx, m, known[m.name]); err != nil {
				return err
			}
			delete(known, m.name)
		}
		for name, left := range known { // nobody measures it any more
			if err := w.judge(ctx, tx, measure{name: name}, left); err != nil {
				return err
			}
		}
		return nil
	})
}

// state is what the row of an alarm said before.
type state struct {
	firing   bool
	since    time.Time
	calm     int
	alerted  uuid.NullUUID
	silenced bool
}

func states(ctx context.Context, tx pgx.Tx) (map[string]state, error) {
	rows, err := tx.Query(ctx, `SELECT name, state = 'FIRING', since, calm, alerted, coalesce(silenced_until > clock_timestamp(), false) FROM alarms FOR UPDATE`)
	if err != nil {
		return nil, fmt.Errorf("read alarms: %w", err)
	}
	all := map[string]state{}
	var name string
	var s state
	_, err = pgx.ForEachRow(rows, []any{&name, &s.firing, &s.since, &s.calm, &s.alerted, &s.silenced}, func() error {
		all[name] = s
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read alarms: %w", err)
	}
	return all, nil
}

// calmLooks in a row end a firing: what trembles around its limit makes one alert, not many.
const calmLooks = 2

// judge moves one alarm and tells people of what changed.
func (w Watcher) judge(ctx context.Context, tx pgx.Tx, m measure, s state) error {
	t := w.Limits.Of(m.name)
	over := t.Over(m.n, m.age)
	if s.calm++; over || !s.firing {
		s.calm = 0
	}
	firing := over || s.firing && s.calm < calmLooks
	if err := keep(ctx, tx, m, t, firing, s.calm); err != nil {
		return err
	}
	switch {
	case firing && !s.firing:
		id, err := note(ctx, tx, m.name, "FIRED")
		if err != nil || s.silenced {
			return err
		}
		return w.alert(ctx, tx, m.name, id)
	case firing && !s.alerted.Valid && !s.silenced: // the silence is over, and it still fires
		id, err := lastFired(ctx, tx, m.name)
		if err != nil {
			return err
		}
		return w.alert(ctx, tx, m.name, id)
	case !firing && s.firing:
		return w.recover(ctx, tx, m.name, s)
	}
	return nil
}

// keep writes how an alarm stands; its own transition clears or begins what belongs to one firing.
func keep(ctx context.Context, tx pgx.Tx, m measure, t Threshold, firing bool, calm int) error {
	now := "OK"
	if firing {
		now = "FIRING"
	}
	_, err := tx.Exec(ctx, `INSERT INTO alarms AS a (name, state, value, unit, max_value, n, since, checked_at) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())
		ON CONFLICT (name) DO UPDATE SET state = excluded.state, value = excluded.value, unit = excluded.unit, max_value = excluded.max_value,
			n = excluded.n, checked_at = excluded.checked_at, calm = $7,
			since = CASE WHEN a.state = excluded.state THEN a.since ELSE excluded.since END,
			acknowledged_by = CASE WHEN excluded.state = 'FIRING' THEN a.acknowledged_by END,
			alerted = CASE WHEN a.state = excluded.state AND excluded.state = 'FIRING' THEN a.alerted END`,
		m.name, now, t.value(m.n, m.age), t.Unit, t.Limit, m.n, calm)
	if err != nil {
		return fmt.Errorf("keep alarm: %w", err)
	}
	return nil
}

// recover notes the end of a firing; people hear of it if they heard of its beginning.
func (w Watcher) recover(ctx context.Context, tx pgx.Tx, name string, s state) error {
	id, err := note(ctx, tx, name, "RECOVERED")
	if err != nil || !s.alerted.Valid {
		return err
	}
	return w.deliver(ctx, tx, id)
}

func (w Watcher) alert(ctx context.Context, tx pgx.Tx, name string, id uuid.UUID) error {
	if _, err := tx.Exec(ctx, `UPDATE alarms SET alerted = $2 WHERE name = $1`, name, id); err != nil {
		return fmt.Errorf("mark alarm: %w", err)
	}
	return w.deliver(ctx, tx, id)
}

func (w Watcher) deliver(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `INSERT INTO alarm_deliveries (history_id, channel) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`, id, w.Channels)
	if err != nil {
		return fmt.Errorf("plan delivery: %w", err)
	}
	return nil
}

// note appends a transition as the row of the alarm says it now.
func note(ctx context.Context, tx pgx.Tx, name, what string) (uuid.UUID, error) {
	id := uuid.Must(uuid.NewV7())
	_, err := tx.Exec(ctx, `INSERT INTO alarm_history (id, alarm, what, value, max_value, unit, n, since)
		SELECT $1, name, $3, value, max_value, unit, n, since FROM alarms WHERE name = $2`, id, name, what)
	if err != nil {
		return id, fmt.Errorf("note alarm: %w", err)
	}
	return id, nil
}

func lastFired(ctx context.Context, tx pgx.Tx, name string) (id uuid.UUID, err error) {
	err = tx.QueryRow(ctx, `SELECT id FROM alarm_history WHERE alarm = $1 AND what = 'FIRED' ORDER BY at DESC, id DESC LIMIT 1`, name).Scan(&id)
	if err != nil {
		return id, fmt.Errorf("find firing: %w", err)
	}
	return id, nil
}
