//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// workSteps are the places in a worker's part of a purchase, with the numbers of DESIGN section 3. At those before a commit it
// holds row locks, until the server ends its session (idle_in_transaction_session_timeout, 10 s).
var workSteps = []string{
	"before-publish:2", "after-publish:1", "after-publish:2", // 3
	"after-claim/CREATE_PAYMENT", "after-call/CREATE_PAYMENT", "after-record/CREATE_PAYMENT", // 4, 5, 6
	"before-apply/payment.succeeded", "after-apply:2", // 8
	"after-publish:4",                                                                          // 9
	"before-commit/ISSUE_LICENSES", "after-effect/ISSUE_LICENSES", "after-effect/ACCRUE_BONUS", // 10
	"after-claim/SEND_NOTIFICATION", "after-call/SEND_NOTIFICATION", "after-record/SEND_NOTIFICATION",
}

// A worker stands still at every point of a purchase until its lease is long over and another one has done its work. When it
// goes on, it finds that out and changes nothing.
func TestStoppedWorkerComesBackTooLate(t *testing.T) {
	t.Parallel()
	for _, at := range workSteps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 0)
			victim := s.startStoppable(at)
			o := s.buyPast(victim.stopped, func() { s.startWorker("") })
			done := s.until(o, "FULFILLED")
			require.Len(t, done.Items[0].Licenses, 3)
			s.settled()
			journal := s.count(`SELECT max(id) FROM journal`)
			facts := s.factsOf(o)
			victim.goOn()
			if late, isOwner := owned(at); isOwner {
				eventually(t, "the journal tells of the late owner", func() bool { return s.fenced(journal, late) })
			}
			require.Zero(t, s.stopOthers(victim), "the one that stood still carries the next purchase on alone")
			s.until(s.pay(s.buy(one(license))), "FULFILLED")
			require.Equal(t, facts, s.factsOf(o), "nothing changed")
			s.assertClean(1)
		})
	}
}

// owned is the operation whose lease the victim holds at this place.
func owned(at string) (operation string, leased bool) {
	place, operation, _ := strings.Cut(at, "/")
	return operation, place == "after-claim" || place == "after-call"
}

// fenced: a write was refused because its lease was another try's by then, or an event had already settled the operation.
func (s *shop) fenced(after int, operation string) bool {
	s.t.Helper()
	return s.count(`SELECT count(*) FROM journal j JOIN operations o ON o.id = j.operation_id
		WHERE j.id > $1 AND o.type = $2 AND (j.kind = 'operation.late_owner' AND (j.detail->>'attempt')::int < o.attempt
			OR j.kind = 'operation.already_settled' AND (j.detail->>'attempt')::int = o.attempt)`, after, operation) == 1
}

// SIGTERM at every point: what was begun is finished, the exit is clean, no job stays running, and the next worker goes on.
func TestWorkerToldToEndAnywhere(t *testing.T) {
	t.Parallel()
	for _, at := range workSteps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s := open(t, 1, 0)
			victim := s.startWorker(at + ":term")
			o := s.buyPast(func() bool { return !victim.running() }, func() {
				require.Equal(t, 0, victim.ended("after SIGTERM"), tail(victim.log()))
				require.Zero(t, s.count(`SELECT count(*) FROM river_job WHERE state = 'running'`), "no job is left running")
				s.startWorker("")
			})
			s.until(o, "FULFILLED")
			s.assertClean(0)
		})
	}
}

// buyPast buys three licences while the only worker is on its way to where it stops; gone says that it has, and then next helps.
func (s *shop) buyPast(gone func() bool, next func()) order {
	s.t.Helper()
	o := s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"})
	booked := func() bool { return len(s.sim.charges(o.last().PaymentID)) == 1 }
	eventually(s.t, "the provider has booked, or the worker stands still", func() bool { return booked() || gone() })
	helped := gone()
	if helped {
		next()
		eventually(s.t, "the provider has booked", booked)
	}
	s.sim.decide(s.sim.charges(o.last().PaymentID)[0].ID, "succeed")
	if !helped {
		eventually(s.t, "the worker comes to its place", gone)
		next()
	}
	return o
}

func (s *shop) startStoppable(at string) *process {
	s.t.Helper()
	p := s.startWorker(at + ":stop")
	s.t.Cleanup(p.goOn) // before the end that launch planned: who stands still hears no SIGTERM
	return p
}

// stopped says that the process stands still.
func (p *process) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil && p.running() {
		p.t.Fatalf("no way to see whether a process stands still: %v", err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "T")
}

const term = syscall.SIGTERM

func (p *process) goOn() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// stopOthers ends every worker but one in the ordinary way, and returns the sum of their exit statuses.
func (s *shop) stopOthers(but *process) (status int) {
	s.t.Helper()
	for _, p := range s.work {
		if p != but && p.running() {
			status += p.stop(term)
		}
	}
	return status
}

// factsOf are what a purchase came to.
func (s *shop) factsOf(o order) []string {
	s.t.Helper()
	return s.texts(`SELECT x::text FROM (
		SELECT id::text, status, number::text AS more FROM orders UNION ALL SELECT order_id::text, status, provider_payment_id FROM payments
		UNION ALL SELECT order_id::text, license_key, unit::text FROM licenses UNION ALL SELECT order_id::text, kind, points::text FROM bonus_entries
		UNION ALL SELECT order_id::text, message_id, '' FROM notifications) x WHERE x.id = $1 ORDER BY 1`, o.OrderID.String())
}
