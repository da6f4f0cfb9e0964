package alarm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/provider"
	"onefold/domain/store"
)

// Alert is one message about one alarm. A repeat after a lost answer carries the same ID.
type Alert struct {
	ID    uuid.UUID `json:"id"`
	Alarm string    `json:"alarm"`
	State string    `json:"state"` // "FIRING" or "RECOVERED"
	Value float64   `json:"value"` // seconds or a number, as Unit says
	Limit float64   `json:"limit"`
	Unit  Unit      `json:"unit"`
	Count int       `json:"count"` // things behind it
	Since time.Time `json:"since"`
	At    time.Time `json:"at"`
	URL   string    `json:"url"` // its list in the console
}

// Poster hands an alert to somebody else's webhook: one HTTP exchange, whose id a repeat carries again. An error means that it may
// not have arrived.
type Poster interface {
	Post(ctx context.Context, id string, body any) error
}

// Teller sends what is due. Webhook and Mailer are nil unless that channel is set up.
type Teller struct {
	DB      store.DB
	Log     *slog.Logger
	Webhook Poster
	Mailer  provider.Mailer
	MailTo  string
	Domain  string                    // right side of Message-IDs
	Link    func(alarm string) string // address of an alarm's list
}

// Channels lists who is told.
func (t Teller) Channels() []string {
	list := []string{"log"}
	if t.Webhook != nil {
		list = append(list, "webhook")
	}
	if t.Mailer != nil && t.MailTo != "" {
		list = append(list, "mail")
	}
	return list
}

// Delivery names a row that is due.
type Delivery struct {
	HistoryID uuid.UUID
	Channel   string
}

const (
	tellLease = time.Minute // until a delivery that a job was made for is due again
	tellMost  = 20          // tries, about a day
	noteLimit = 5 * time.Second
)

// TakeDue locks deliveries that are due and moves them on, so that a lost job makes them due again.
func TakeDue(ctx context.Context, tx pgx.Tx, most int) ([]Delivery, error) {
	rows, err := tx.Query(ctx, `UPDATE alarm_deliveries d SET next_attempt_at = clock_timestamp() + $1::interval FROM (
			SELECT history_id, channel FROM alarm_deliveries WHERE next_attempt_at <= clock_timestamp() ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
		) due WHERE d.history_id = due.history_id AND d.channel = due.channel RETURNING d.history_id, d.channel`, tellLease, most)
	if err != nil {
		return nil, fmt.Errorf("take deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Delivery])
	if err != nil {
		return nil, fmt.Errorf("take deliveries: %w", err)
	}
	return list, nil
}

// Tell sends one delivery, unless it has been sent. What fails is due again later, with the same ID; the row says why.
func (t Teller) Tell(ctx context.Context, d Delivery) error {
	a, open, err := t.read(ctx, d)
	if err != nil || !open {
		return err
	}
	failed := t.send(ctx, d.Channel, a)
	text := ""
	if failed != nil {
		text = failed.Error()
	}
	// Also when the time for the call is up, or the process ends: what isn't noted is told again.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	_, err = t.DB.Exec(noting, `UPDATE alarm_deliveries SET attempts = attempts + 1, last_error = nullif($3, ''),
		sent_at = CASE WHEN $3 = '' THEN clock_timestamp() END,
		next_attempt_at = CASE WHEN $3 <> '' AND attempts + 1 < $4 THEN clock_timestamp() + least(interval '10 s' * 2 ^ least(attempts, 10), interval '2 h') END
		WHERE history_id = $1 AND channel = $2 AND sent_at IS NULL`, d.HistoryID, d.Channel, text, tellMost)
	if err != nil {
		return fmt.Errorf("note delivery: %w", err)
	}
	return failed
}

func (t Teller) read(ctx context.Context, d Delivery) (a Alert, open bool, err error) {
	err = t.DB.QueryRow(ctx, `SELECT h.id, h.alarm, CASE h.what WHEN 'FIRED' THEN 'FIRING' ELSE h.what END, h.value, h.max_value, h.unit, h.n, h.since, h.at,
			d.next_attempt_at IS NOT NULL FROM alarm_deliveries d JOIN alarm_history h ON h.id = d.history_id WHERE d.history_id = $1 AND d.channel = $2`,
		d.HistoryID, d.Channel).Scan(&a.ID, &a.Alarm, &a.State, &a.Value, &a.Limit, &a.Unit, &a.Count, &a.Since, &a.At, &open)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("read delivery: %w", err)
	}
	a.URL = t.Link(a.Alarm)
	return a, open, nil
}

func (t Teller) send(ctx context.Context, channel string, a Alert) error {
	switch {
	case channel == "log":
		t.Log.LogAttrs(ctx, slog.LevelWarn, "alarm", slog.String("alert_id", a.ID.String()), slog.String("alarm", a.Alarm), slog.String("state", a.State),
			slog.Float64("value", a.Value), slog.Float64("limit", a.Limit), slog.String("unit", string(a.Unit)), slog.Int("count", a.Count), slog.String("url", a.URL))
		return nil
	case channel == "webhook" && t.Webhook != nil:
		return t.Webhook.Post(ctx, a.ID.String(), a)
	case channel == "mail" && t.Mailer != nil:
		err := t.Mailer.Send(ctx, provider.Message{ID: "alarm." + a.ID.String() + "@" + t.Domain, To: t.MailTo, Subject: a.subject(), Text: a.text()})
		if err != nil {
			return fmt.Errorf("mail alert: %w", err)
		}
		return nil
	}
	return fmt.Errorf("channel %s is not set up in this process", channel)
}

func (a Alert) subject() string { return "[onefold] " + a.State + ": " + a.Alarm }

func (a Alert) text() string {
	return fmt.Sprintf("%s\n\n%s: %s (limit %s), %d behind it, since %s.\n\n%s\n", a.subject(), a.Alarm, a.Unit.words(a.Value), a.Unit.words(a.Limit),
		a.Count, a.Since.UTC().Format("2006-01-02 15:04:05 UTC"), a.URL)
}

func (u Unit) words(v float64) string {
	if u == Count {
		return strconv.Itoa(int(v))
	}
	return (time.Duration(v) * time.Second).String()
}
