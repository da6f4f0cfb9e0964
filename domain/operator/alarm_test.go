package operator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/account"
	"onefold/domain/operator"
	"onefold/domain/payment/paymenttest"
)

// An alarm's form pressed again is absorbed, also when the alarm has gone and come again meanwhile.
func TestAnAlarmIsAnsweredOncePerForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fires := func() {
		b.exec(t, `INSERT INTO alarms AS a (name, state, value, unit, max_value, n, since, checked_at) VALUES ('parked_events', 'FIRING', 9, 'age', 1, 1, now(), now())
			ON CONFLICT (name) DO UPDATE SET state = 'FIRING', acknowledged_by = NULL, silenced_until = NULL`)
	}
	answered := func() (who bool, quiet bool) {
		paymenttest.Read(t, b.db, `SELECT acknowledged_by IS NOT NULL, coalesce(silenced_until > now(), false) FROM alarms`, nil, &who, &quiet)
		return who, quiet
	}
	presses := []operator.Press{
		b.press(account.Operator, operator.Acknowledge, "parked_events"),
		b.press(account.Operator, operator.Silence, "parked_events", operator.Input{For: time.Hour}),
	}
	fires()
	for _, p := range presses {
		b.done(t, p)
		require.True(t, b.done(t, p).Replayed)
	}
	who, quiet := answered()
	require.True(t, who && quiet)
	fires()
	for _, p := range presses {
		require.True(t, b.done(t, p).Replayed)
	}
	b.exec(t, `DELETE FROM operations`) // long ago
	for _, p := range presses {
		require.Equal(t, "IDEMPOTENCY_KEY_EXPIRED", b.refused(t, p))
	}
	who, quiet = answered()
	require.False(t, who || quiet, "an old press is no answer to a new firing")
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM alarm_history`))
	require.Equal(t, []string{"DONE", "REPLAYED", "DONE", "REPLAYED", "REPLAYED", "REPLAYED", "REFUSED", "REFUSED"}, b.audit(t, "parked_events"))
}
