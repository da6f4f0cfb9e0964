package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"onefold/domain/fault"
	"onefold/domain/store"
)

// Preferences are how somebody wants the console to look and behave. An empty or zero field means the default named here.
type Preferences struct {
	Lang    string `json:"lang,omitempty"`    // "en" or "ru"; default: the browser's
	Zone    string `json:"zone,omitempty"`    // IANA name or "UTC"; default: the browser's
	Clock   string `json:"clock,omitempty"`   // "12" or "24"; default 24
	Density string `json:"density,omitempty"` // "compact" or "comfortable"; default compact
	Theme   string `json:"theme,omitempty"`   // "system", "light" or "dark"; default system
	Refresh string `json:"refresh,omitempty"` // seconds between two looks of a page, or "off"; default 10
	Keys    string `json:"keys,omitempty"`    // "on" or "off": shortcuts; default on
}

// PreferenceValues lists what a field may hold besides nothing. Zone isn't among them: see Preferences.Valid.
func PreferenceValues() map[string][]string {
	return map[string][]string{
		"lang": {"en", "ru"}, "clock": {"24", "12"}, "density": {"compact", "comfortable"}, "theme": {"system", "light", "dark"},
		"refresh": {"off", "5", "10", "30", "60"}, "keys": {"on", "off"},
	}
}

// field finds one by its name; nil for a name that there isn't.
func (p *Preferences) field(name string) *string {
	return map[string]*string{
		"lang": &p.Lang, "zone": &p.Zone, "clock": &p.Clock, "density": &p.Density, "theme": &p.Theme, "refresh": &p.Refresh, "keys": &p.Keys,
	}[name]
}

// Set changes one field. Returns VALIDATION_FAILED, which names the field, for a value that it can't hold.
func (p *Preferences) Set(name, value string) error {
	f := p.field(name)
	known := value == "" || slices.Contains(PreferenceValues()[name], value)
	if name == "zone" && value != "" {
		known = validZone(value)
	}
	if f == nil || !known {
		return fault.Validation(fault.Field{Field: name, Rule: "known", Message: "can't be " + shortened(value)})
	}
	*f = value
	return nil
}

// validZone: "Local" would be the server's own.
func validZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

func shortened(value string) string {
	if r := []rune(value); len(r) > 40 {
		value = string(r[:40]) + "…"
	}
	return "“" + strings.ToValidUTF8(value, "�") + "”"
}

// PreferencesOf reads somebody's; who has none has the zero value.
func PreferencesOf(ctx context.Context, q store.Querier, id ID) (p Preferences, err error) {
	var raw []byte
	err = q.QueryRow(ctx, `SELECT prefs FROM preferences WHERE user_id = $1`, id).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("read preferences: %w", err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("read preferences: %w", err)
	}
	return p, nil
}

// Prefer changes the named fields of somebody's preferences and leaves the others; the same again changes nothing.
// Returns VALIDATION_FAILED for an unknown name or value.
func Prefer(ctx context.Context, db store.DB, id ID, changes map[string]string) error {
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		// The row is there and locked before it is read, so that two tabs don't undo each other.
		if _, err := tx.Exec(ctx, `INSERT INTO preferences (user_id, prefs) VALUES ($1, '{}') ON CONFLICT (user_id) DO UPDATE SET prefs = preferences.prefs`, id); err != nil {
			return fmt.Errorf("lock preferences: %w", err)
		}
		p, err := PreferencesOf(ctx, tx, id)
		if err != nil {
			return err
		}
		for name, value := range changes {
			if err := p.Set(name, value); err != nil {
				return err
			}
		}
		raw, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("write preferences: %w", err)
		}
		if _, err := tx.Exec(ctx, `UPDATE preferences SET prefs = $2 WHERE user_id = $1`, id, raw); err != nil {
			return fmt.Errorf("write preferences: %w", err)
		}
		return nil
	})
}
