//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/store/storetest"
)

const alertMail = "on-call@shop.example"

// pager is the webhook of somebody's chat.
type pager struct {
	*httptest.Server
	mu    sync.Mutex
	calls []paged
	hang  chan struct{} // not nil: calls get no answer until it is closed
}

type paged struct{ ID, Alarm, State, URL string }

func newPager(t *testing.T) *pager {
	t.Helper()
	p := &pager{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var call paged
		_ = json.NewDecoder(r.Body).Decode(&call)
		p.mu.Lock()
		p.calls = append(p.calls, call)
		hang := p.hang
		p.mu.Unlock()
		if hang != nil {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pager) heard() []paged {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]paged(nil), p.calls...)
}

func (p *pager) hangs(on chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = on
}

func (p *pager) states() (list []string) {
	for _, c := range p.heard() {
		list = append(list, c.State)
	}
	return list
}

// openAlarmed is a shop with workers that look at the alarms every second; an order may wait for its review for one.
func openAlarmed(t *testing.T, p *pager, workers int) *shop {
	t.Helper()
	return openOn(t, storetest.URL(t), 1, workers, "ONEFOLD_ALERT_WEBHOOK="+p.URL, "ONEFOLD_ALERT_MAIL="+alertMail, "ONEFOLD_ALARM_EVERY=1s",
		"ONEFOLD_ALARM_LIMITS=orders_in_review=1s;possible_duplicates=48h")
}

var alertLine = regexp.MustCompile(`(?m)^\[onefold\] [A-Z]+: [a-z_]+`)

// alerts are the first lines of the mails to whoever is on call, in their order.
func (s *shop) alerts() (lines []string) {
	for _, m := range s.sim.ledger().Mails {
		if slices.Contains(m.To, alertMail) {
			lines = append(lines, alertLine.FindString(m.Body))
		}
	}
	return lines
}

// looks waits until the alarms were looked at for some seconds more.
func (s *shop) looks(seconds int) {
	s.t.Helper()
	now := s.text(`SELECT clock_timestamp()::text`)
	eventually(s.t, "the alarms are looked at", func() bool {
		return s.count(`SELECT count(*) FROM ticks WHERE name = 'alarms' AND ran_at > $1::text::timestamptz + make_interval(secs => $2)`, now, seconds) == 1
	})
}

func (s *shop) flags(o order, review bool) {
	s.t.Helper()
	s.exec(`WITH o AS (UPDATE orders SET needs_review = $2, review_reason = CASE WHEN $2 THEN 'e2e' END WHERE id = $1 RETURNING id)
		INSERT INTO journal (kind, trace_id, order_id) SELECT 'order.flagged', 'e2e', id FROM o WHERE $2`, o.OrderID, review)
}

// An alarm that fires is one message through each channel, though two workers look; the one that told is killed and started again;
// while it lasts nothing is repeated; and one message says that it is over.
func TestAnAlarmTellsOnceAndOnceThatItIsOver(t *testing.T) {
	t.Parallel()
	p := newPager(t)
	s := openAlarmed(t, p, 2)
	o := s.buy(one(license))
	s.flags(o, true)
	fired := []string{"[onefold] FIRING: orders_in_review"}
	tellers := func() (list []*process) {
		for _, w := range s.work {
			for _, l := range w.lines() {
				if l["msg"] == "alarm" {
					list = append(list, w)
				}
			}
		}
		return list
	}
	told := func(n int) bool {
		return s.count(`SELECT count(*) FROM alarm_deliveries WHERE sent_at IS NOT NULL`) >= n
	}
	eventually(t, "everybody is told", func() bool { return told(3) && len(tellers()) > 0 })
	require.Len(t, tellers(), 1, "one of the two")
	tellers()[0].kill()
	s.startWorker("")
	s.looks(4)
	require.Equal(t, []string{"FIRING"}, p.states(), "it lasts")
	require.Equal(t, fired, s.alerts())
	require.Equal(t, 1, s.count(`SELECT count(*) FROM alarms WHERE state = 'FIRING'`))

	s.flags(o, false)
	eventually(t, "everybody hears that it is over", func() bool { return told(6) && len(tellers()) > 1 })
	s.looks(4)
	require.Equal(t, []string{"FIRING", "RECOVERED"}, p.states())
	require.Equal(t, append(fired, "[onefold] RECOVERED: orders_in_review"), s.alerts())
	require.Len(t, tellers(), 2, "the log has them, too")
	require.NotEqual(t, p.heard()[0].ID, p.heard()[1].ID)
	require.Equal(t, "http://"+s.addrs[0]+"/console/work/orders_in_review", p.heard()[0].URL)
	require.Zero(t, s.count(`SELECT count(*) FROM alarm_deliveries WHERE sent_at IS NULL OR attempts <> 1`))
}

// The worker dies while the webhook hasn't answered: nobody can know whether it was heard, so it is told again, as the same alert.
// The mail had gone, and goes once.
func TestAnAlertWhoseAnswerIsLostIsRepeatedAsTheSame(t *testing.T) {
	t.Parallel()
	p := newPager(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	p.hangs(never)
	s := openAlarmed(t, p, 1)
	s.flags(s.buy(one(license)), true)
	eventually(t, "the webhook hears it and is silent", func() bool {
		return len(p.heard()) == 1 && s.count(`SELECT count(*) FROM alarm_deliveries WHERE channel = 'mail' AND sent_at IS NOT NULL`) == 1
	})
	s.work[0].kill()
	p.hangs(nil)
	for range 2 {
		s.startWorker("")
	}
	s.exec(`UPDATE alarm_deliveries SET next_attempt_at = now() WHERE sent_at IS NULL`) // the minute of its lease is over
	eventually(t, "it is told again", func() bool { return s.count(`SELECT count(*) FROM alarm_deliveries WHERE sent_at IS NULL`) == 0 })
	s.looks(3)
	require.Len(t, p.heard(), 2)
	require.Equal(t, p.heard()[0], p.heard()[1], "the same ID: the pager can tell")
	require.Len(t, s.alerts(), 1)
	require.Equal(t, 1, s.count(`SELECT count(*) FROM alarm_history WHERE what = 'FIRED'`))
}

// What can't be a limit ends the start, with the setting, the alarm and the rule.
func TestLimitsThatMakeNoSenseAreRefusedByName(t *testing.T) {
	t.Parallel()
	o := observe(t, storetest.URL(t))
	env := append(o.env(), "ONEFOLD_SESSION_KEY="+strings.Repeat("k", 40), "ONEFOLD_WEBHOOK_SECRET="+webhookSecret, "ONEFOLD_PUBLIC_URL=http://127.0.0.1:1",
		"ONEFOLD_SIM_URL=http://127.0.0.1:1", "ONEFOLD_SMTP_ADDR=127.0.0.1:1")
	for given, said := range map[string]string{
		"unknown_payments=soon":             `unknown_payments: must be a duration like 15m, not "soon"`,
		"unknown_payments=15":               `unknown_payments: must be a duration like 15m, not "15"`,
		"approvals=-1h":                     `approvals: must be a duration like 15m, not "-1h"`,
		"violations=0.5":                    `violations: must be a whole number, not "0.5"`,
		"failed_jobs=1h;unknown_payment=1m": `there is no alarm "unknown_payment"; there are [approvals failed_effects failed_jobs`,
		"unknown_payments":                  `--alarm-limits`,
	} {
		for _, args := range [][]string{{"serve", "--work", "--alarm-limits=" + given}, {"serve", "--work"}} {
			here := env
			if len(args) == 2 {
				here = append(append([]string{}, env...), "ONEFOLD_ALARM_LIMITS="+given)
			}
			_, stderr, status := outcome(t, "", here, args...)
			require.NotZero(t, status, given)
			require.Contains(t, stderr, said, given)
			require.Contains(t, stderr, "--alarm-limits", given)
		}
	}
}
