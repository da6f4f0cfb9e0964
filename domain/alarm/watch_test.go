package alarm_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"onefold/domain/alarm"
	"onefold/domain/console"
	"onefold/domain/fault"
	"onefold/domain/store"
	"onefold/domain/store/storetest"
)

// post is somebody's webhook.
type post struct {
	got  []alarm.Alert
	fail bool
}

func (p *post) Post(_ context.Context, _ string, body any) error {
	p.got = append(p.got, body.(alarm.Alert))
	if p.fail {
		return errors.New("no answer")
	}
	return nil
}

// duty is a database with somebody on duty.
type duty struct {
	*testing.T
	db      *pgxpool.Pool
	watcher alarm.Watcher
	teller  alarm.Teller
	hook    *post
	person  uuid.UUID
}

func newDuty(t *testing.T) *duty {
	t.Helper()
	d := &duty{T: t, db: storetest.DB(t), hook: &post{}, person: uuid.New()}
	d.teller = alarm.Teller{DB: d.db, Log: slog.New(slog.DiscardHandler), Webhook: d.hook, Link: func(name string) string { return "http://shop.test/list/" + name }}
	d.watcher = alarm.Watcher{DB: d.db, Channels: d.teller.Channels(), Every: time.Nanosecond}
	d.exec(`INSERT INTO users (id, email, role) VALUES ($1, 'ada@example.com', 'operator')`, d.person)
	return d
}

func (d *duty) exec(sql string, args ...any) {
	d.Helper()
	_, err := d.db.Exec(d.Context(), sql, args...)
	require.NoError(d, err)
}

func (d *duty) text(sql string, args ...any) (text string) {
	d.Helper()
	require.NoError(d, d.db.QueryRow(d.Context(), sql, args...).Scan(&text))
	return text
}

// look evaluates once and tells whom it concerns, twice: a repeated job says nothing again.
func (d *duty) look() {
	d.Helper()
	ran, err := d.watcher.Watch(d.Context())
	require.NoError(d, err)
	require.True(d, ran)
	var due []alarm.Delivery
	require.NoError(d, store.InTx(d.Context(), d.db, func(tx pgx.Tx) (err error) {
		due, err = alarm.TakeDue(d.Context(), tx, 100)
		return err
	}))
	for range 2 {
		for _, one := range due {
			_ = d.teller.Tell(d.Context(), one)
		}
	}
}

func (d *duty) parked(age time.Duration) {
	d.Helper()
	d.exec(`INSERT INTO outbox_events (id, dedupe_key, event_type, order_id, trace_id, created_at, parked_at)
		VALUES (gen_random_uuid(), gen_random_uuid(), 'ORDER_PAID', gen_random_uuid(), 't', now() - interval '1 day', now() - $1::interval)`, age)
}

func (d *duty) heard() (list []string) {
	for _, a := range d.hook.got {
		list = append(list, a.State+" "+a.Alarm)
	}
	return list
}

func TestOneAlertAndOneRecoveredPerFiring(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.parked(time.Minute)
	d.look()
	require.Empty(t, d.heard(), "younger than its limit")
	d.exec(`UPDATE outbox_events SET parked_at = now() - interval '1 hour'`)
	for range 3 {
		d.look()
	}
	require.Equal(t, []string{"FIRING parked_events"}, d.heard())
	require.Equal(t, "http://shop.test/list/parked_events", d.hook.got[0].URL)
	require.Greater(t, d.hook.got[0].Value, d.hook.got[0].Limit)
	d.exec(`DELETE FROM outbox_events`)
	d.look()
	require.Len(t, d.heard(), 1, "one calm look may be a tremble")
	for range 3 {
		d.look()
	}
	require.Equal(t, []string{"FIRING parked_events", "RECOVERED parked_events"}, d.heard())
	d.parked(time.Hour)
	d.look()
	require.Len(t, d.heard(), 3, "a new firing is a new alert")
	require.NotEqual(t, d.hook.got[0].ID, d.hook.got[2].ID)
}

func TestAnAlertThatDoesNotArriveIsRepeatedWithItsID(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.parked(time.Hour)
	d.hook.fail = true
	d.look()
	require.NotEmpty(t, d.text(`SELECT last_error FROM alarm_deliveries WHERE channel = 'webhook' AND sent_at IS NULL AND next_attempt_at > now()`))
	require.Equal(t, "1", d.text(`SELECT count(*)::text FROM alarm_deliveries WHERE channel = 'log' AND sent_at IS NOT NULL`))
	d.hook.fail = false
	d.exec(`UPDATE alarm_deliveries SET next_attempt_at = now() WHERE sent_at IS NULL`)
	d.look()
	d.look()
	got := d.hook.got
	require.Equal(t, got[0].ID, got[len(got)-1].ID)
	require.Equal(t, "0", d.text(`SELECT count(*)::text FROM alarm_deliveries WHERE next_attempt_at IS NOT NULL`))
}

func TestOneProcessLooksAtATime(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.watcher.Every = time.Hour
	ran, err := d.watcher.Watch(t.Context())
	require.NoError(t, err)
	require.True(t, ran)
	ran, err = d.watcher.Watch(t.Context())
	require.NoError(t, err)
	require.False(t, ran)
	at, err := alarm.RanAt(t.Context(), d.db)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
}

func (d *duty) press(do func(tx pgx.Tx) error) error {
	d.Helper()
	return store.InTx(d.Context(), d.db, do)
}

func TestAcknowledgeEndsWithTheFiring(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	ack := func(id uuid.UUID, reason string) error {
		return d.press(func(tx pgx.Tx) error {
			return alarm.Acknowledge(t.Context(), tx, id, "parked_events", d.person, reason)
		})
	}
	e, ok := fault.Of(ack(uuid.New(), "x"))
	require.True(t, ok)
	require.Equal(t, fault.NotFound, e.Kind)
	d.look()
	e, _ = fault.Of(ack(uuid.New(), "x"))
	require.Equal(t, "ALARM_STATE", e.Code)
	d.parked(time.Hour)
	d.look()
	id := uuid.New()
	require.NoError(t, ack(id, "on it"))
	require.Error(t, ack(id, "something else"), "a press is one line")
	firing, err := alarm.Firing(t.Context(), d.db)
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", firing[0].AcknowledgedBy)
	history, err := alarm.History(t.Context(), d.db, "parked_events", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"ACKNOWLEDGED", "FIRED"}, []string{history[0].What, history[1].What})
	require.Equal(t, "on it", history[0].Reason)
	require.ElementsMatch(t, []string{"log", "webhook"}, history[1].Told)
	d.exec(`DELETE FROM outbox_events`)
	d.look()
	d.look()
	d.parked(time.Hour)
	d.look()
	firing, err = alarm.Firing(t.Context(), d.db)
	require.NoError(t, err)
	require.Len(t, firing, 1)
	require.Empty(t, firing[0].AcknowledgedBy, "the next firing is nobody's")
}

func TestASilenceHoldsAlertsBackAndThenLetsThemGo(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	silence := func(id uuid.UUID, length time.Duration) error {
		return d.press(func(tx pgx.Tx) error {
			return alarm.Silence(t.Context(), tx, id, "parked_events", d.person, "known", length)
		})
	}
	d.look()
	e, _ := fault.Of(silence(uuid.New(), 25*time.Hour))
	require.Equal(t, "SILENCE_TOO_LONG", e.Code)
	id := uuid.New()
	require.NoError(t, silence(id, time.Hour))
	require.Error(t, silence(id, 2*time.Hour), "a press is one line")
	require.Equal(t, "true", d.text(`SELECT (silenced_until < now() + interval '61 minutes')::text FROM alarms WHERE name = 'parked_events'`))
	d.parked(time.Hour)
	d.look()
	d.look()
	require.Empty(t, d.heard())
	d.exec(`UPDATE alarms SET silenced_until = now()`)
	d.look()
	d.look()
	require.Equal(t, []string{"FIRING parked_events"}, d.heard())
}

func TestAViolationFires(t *testing.T) {
	t.Parallel()
	d := newDuty(t)
	d.exec(`INSERT INTO invariant_results (number, name, violations, checked_at, took_ms) VALUES (3, 'paid-once', 2, now(), 5) ON CONFLICT (number) DO UPDATE SET violations = 2`)
	d.look()
	require.Equal(t, []string{"FIRING violations"}, d.heard())
	require.Equal(t, 2, d.hook.got[0].Count)
}

func TestLimitsAreParsedByTheirUnit(t *testing.T) {
	t.Parallel()
	l, err := alarm.ParseLimits(map[string]string{"unknown_payments": "2s", "violations": "3"})
	require.NoError(t, err)
	require.True(t, l.Of("unknown_payments").Over(1, 3*time.Second))
	require.False(t, l.Of("unknown_payments").Over(1, time.Second))
	require.False(t, l.Of("violations").Over(3, time.Hour))
	require.True(t, alarm.Limits(nil).Of("a new queue").Over(1, 2*time.Hour))
	for name, value := range map[string]string{"nothing": "1s", "inbox_lag": "5", "violations": "1s", "outbox_lag": "-1s"} {
		_, err := alarm.ParseLimits(map[string]string{name: value})
		require.ErrorContains(t, err, name)
	}
}

func TestEveryQueueHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	var named []string
	for _, l := range alarm.Thresholds() {
		if !slices.Contains([]string{alarm.Violations, alarm.OutboxLag, alarm.InboxLag}, l.Name) {
			named = append(named, l.Name)
		}
	}
	require.ElementsMatch(t, console.QueueNames(), named)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, l := range alarm.Thresholds() {
		limit := strings.NewReplacer("h0m0s", " h", "m0s", " min").Replace((time.Duration(l.Limit) * time.Second).String())
		if l.Unit == alarm.Count {
			limit = strconv.Itoa(int(l.Limit))
		}
		require.Regexp(t, "`"+l.Name+"`.* "+limit+"[ ,;|]", string(readme), "the README says the limit")
	}
}

// A call that takes longer than it may is noted all the same, and due again.
func TestADeliveryIsNotedThoughItsTimeIsUp(t *testing.T) {
	t.Parallel()
	tx := storetest.Tx(t)
	id := uuid.New()
	_, err := tx.Exec(t.Context(), `WITH h AS (INSERT INTO alarm_history (id, alarm, what, value, max_value, unit, n, since) VALUES ($1, 'x', 'FIRED', 1, 0, 'count', 1, now()) RETURNING id)
		INSERT INTO alarm_deliveries (history_id, channel) SELECT id, 'webhook' FROM h`, id)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	teller := alarm.Teller{DB: tx, Webhook: posterFunc(func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}), Link: func(string) string { return "" }}
	require.ErrorIs(t, teller.Tell(ctx, alarm.Delivery{HistoryID: id, Channel: "webhook"}), context.Canceled)
	var attempts int
	var due bool
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT attempts, next_attempt_at > now() AND sent_at IS NULL AND last_error LIKE '%canceled%' FROM alarm_deliveries WHERE history_id = $1`, id).Scan(&attempts, &due))
	require.Equal(t, 1, attempts)
	require.True(t, due)
}

type posterFunc func(ctx context.Context, id string) error

func (f posterFunc) Post(ctx context.Context, id string, _ any) error { return f(ctx, id) }
