//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// quiet waits until no job is left to run.
func (s *shop) quiet() {
	s.t.Helper()
	s.settled()
	eventually(s.t, "no job is left", func() bool {
		return s.count(`SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending')`) == 0
	})
}

// CASES C33: jobs are only transport; what was done is decided by rows, however often, late, altered or cleaned away the jobs are.
// 2, the operator's "send again", comes with the console.
func TestC33_JobsDecideNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	s.carried()
	o := s.pay(s.buyCups(2)) // 1
	s.until(s.pay(s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"})), "FULFILLED")
	s.until(o, "FULFILLED")
	s.quiet()
	before, mails := s.effects(), len(s.sim.ledger().Mails)
	same := func(what string) {
		t.Helper()
		s.quiet()
		require.Equal(t, before, s.effects(), what)
		require.Len(t, s.sim.ledger().Mails, mails, what)
		require.Len(t, s.sim.outside().Shipments, 1, what)
	}
	everything := []string{"create_payment", "issue_licenses", "accrue_bonus", "ship_parcel", "send_notification", "apply_event"}
	s.again()
	for _, kind := range everything {
		s.copyJobs(kind, 3)
	}
	same("3: within the hour")
	s.exec(`UPDATE outbox_events SET trace_id = md5('another')`) // 5
	for _, kind := range everything {
		s.copyJobs(kind, 1)
	}
	s.exec(`UPDATE river_job SET metadata = jsonb_build_object('trace_id', md5('yet another')) WHERE state = 'available'`)
	s.again()
	same("5: with another trace")
	for _, table := range []string{"orders SET created_at = created_at", "outbox_events SET created_at = created_at", "operations SET created_at = created_at"} {
		s.exec(`UPDATE ` + table + ` - interval '25 hours'`)
	}
	s.exec(`DELETE FROM river_job`) // 4: what the cleaner does a day later
	s.again()
	same("4: a day later, after the cleaner")

	release := s.hold(`LOCK TABLE licenses IN EXCLUSIVE MODE`) // 6
	late := s.pay(s.buy(one(other)))
	eventually(t, "its job fails and is discarded", func() bool {
		s.exec(`UPDATE river_job SET state = 'discarded', finalized_at = now() WHERE kind = 'issue_licenses' AND state = 'retryable'`)
		return s.count(`SELECT count(*) FROM river_job WHERE kind = 'issue_licenses' AND state = 'discarded'`) > 0
	})
	release()
	s.exec(`UPDATE outbox_events SET dispatched_at = NULL, next_attempt_at = now() WHERE event_type = 'ORDER_PAID'`)
	s.until(late, "FULFILLED")
	s.quiet()
	before, mails = s.effects(), mails+1
	s.exec(`DELETE FROM river_job`)
	same("every job is deleted")
	s.proven()
}

// rescue does what River's rescuer does with jobs that run for too long: it lets them run again, whether or not they still do.
func (s *shop) rescue(kind string) {
	s.t.Helper()
	s.exec(`UPDATE river_job SET state = 'available', scheduled_at = now() - interval '1 hour' WHERE kind = $1 AND state = 'running'`, kind)
}

// CASES C34: rescued, timed out, stopped or discarded while it still runs.
func TestC34_TheLateCopyEndsQuietly(t *testing.T) {
	t.Parallel()
	t.Run("a: the call takes longer than the job may", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 0)
		s.carried()
		s.env = append(s.env, "ONEFOLD_LEASE=6s") // a job may take three
		s.startWorker("")
		s.startWorker("")
		s.sim.breaks(fault{On: "shipments.create", Do: "delay", Times: 0, DelayMs: 8000})
		o := s.pay(s.buyCups(1))
		eventually(t, "the carrier has made the label", func() bool { return len(s.sim.outside().Shipments) == 1 })
		s.rescue("ship_parcel")
		s.copyJobs("ship_parcel", 2)
		eventually(t, "the copies have run", func() bool {
			return s.count(`SELECT count(*) FROM river_job WHERE kind = 'ship_parcel' AND state = 'completed'`) >= 2
		})
		s.soon("the label is found", func() bool { return s.see(o).Status == "FULFILLED" })
		require.Len(t, keysOf(s.sim.callsOf("shipments.create")), 1)
		s.labelled(1)
	})
	t.Run("b: a worker stands still in the licence job", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 1)
		s.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$`)
		s.exec(`CREATE TRIGGER gate BEFORE INSERT ON licenses FOR EACH ROW EXECUTE FUNCTION gate()`)
		release := s.hold(`SELECT pg_advisory_lock(42)`)
		late := s.work[0]
		o := s.pay(s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"}))
		eventually(t, "the licences are being written", s.waiting)
		late.freeze()
		release()
		s.startWorker("")
		s.rescue("issue_licenses")
		s.until(o, "FULFILLED") // once PostgreSQL has ended the transaction that stands still, after ten seconds
		before := s.effects()
		late.thaw()
		s.until(s.pay(s.buy(one(other))), "FULFILLED")
		require.Equal(t, 3, s.count(`SELECT count(*) FROM licenses WHERE order_id = $1`, o.OrderID))
		require.Contains(t, before, s.text(`SELECT license_key FROM licenses WHERE order_id = $1 LIMIT 1`, o.OrderID))
		require.Equal(t, 1, s.count(`SELECT count(*) FROM journal WHERE kind = 'license.issued' AND order_id = $1`, o.OrderID))
		s.assertClean(1)
	})
	t.Run("d: the last try ends after the effect, an operator retries", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 0)
		victim := s.startWorker("after-effect/ISSUE_LICENSES")
		o := s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"})
		s.pay(o)
		victim.crashed()
		s.exec(`UPDATE river_job SET state = 'discarded', finalized_at = now(), attempt = max_attempts WHERE kind = 'issue_licenses'`)
		before := s.licenses()
		require.Len(t, before, 3, "the effect is recorded")
		s.startWorker("")
		s.until(o, "FULFILLED")
		require.Equal(t, 1, s.count(`SELECT count(*) FROM river_job WHERE kind = 'issue_licenses' AND state = 'discarded'`), "the job is parked in sight")
		for range 2 { // of a completed one too: it runs again
			s.retryJob(s.count(`SELECT id FROM river_job WHERE kind = 'issue_licenses'`))
			eventually(t, "the job is completed", func() bool {
				return s.count(`SELECT count(*) FROM river_job WHERE kind = 'issue_licenses' AND state = 'completed'`) == 1
			})
		}
		require.Equal(t, before, s.licenses())
		s.assertClean(1)
	})
	t.Run("e: SIGTERM in mid-job", func(t *testing.T) {
		t.Parallel()
		s := open(t, 1, 0)
		s.carried()
		s.env = append(s.env, "ONEFOLD_LEASE=20s")
		worker := s.startWorker("")
		s.sim.breaks(fault{On: "shipments.create", Do: "delay", Times: 1, DelayMs: 1500})
		o := s.pay(s.buyCups(1))
		eventually(t, "the carrier has made the label", func() bool { return len(s.sim.outside().Shipments) == 1 })
		require.Equal(t, 0, worker.stop(syscall.SIGTERM), tail(worker.log()))
		require.Zero(t, s.count(`SELECT count(*) FROM river_job WHERE state = 'running'`))
		require.Equal(t, "SUCCEEDED", s.text(`SELECT status FROM shipments`), "what the running call taught is kept")
		s.startWorker("")
		s.until(o, "FULFILLED")
		require.Len(t, s.sim.callsOf("shipments.create"), 1)
		s.labelled(1)
	})
}

// retryJob presses Retry on River's page of a job, as an administrator, who alone may.
func (s *shop) retryJob(id int) {
	s.t.Helper()
	admin := buyer{email: newKey() + "@example.com", password: "correct horse battery"}
	run(s.t, admin.password+"\n", s.observer.env(), "user", "add", "--email", admin.email, "--role", "admin")
	v := s.surfer()
	require.Equal(s.t, 303, v.signIn("/console/sign-in", admin).status)
	r, err := http.NewRequest(http.MethodPost, v.base+"/console/river/api/jobs/retry", strings.NewReader(fmt.Sprintf(`{"ids":["%d"]}`, id)))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", v.base)
	response, err := v.http.Do(r)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Equal(s.t, 200, response.StatusCode)
}

// CASES C35 c: a transaction that is rolled back after it has inserted its jobs leaves neither job nor effect; the rows stay due.
func TestC35_ARolledBackBatchLeavesNoJob(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	s.exec(`CREATE SEQUENCE failures`)
	s.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN IF nextval('failures') <= 5 THEN RAISE EXCEPTION 'on purpose'; END IF; RETURN NULL; END $$`)
	s.exec(`CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON river_job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`)
	o := s.buy(one(license))
	eventually(t, "batches were rolled back", func() bool { return s.count(`SELECT last_value FROM failures`) >= 5 })
	require.LessOrEqual(t, len(s.sim.callsOf("payments.create")), 1, "no call without a committed job")
	s.until(s.pay(o), "FULFILLED")
	require.Len(t, s.sim.callsOf("payments.create"), 1)
	require.Equal(t, s.count(`SELECT count(*) FROM orders WHERE status = 'FULFILLED'`), s.count(`SELECT count(*) FROM operations WHERE type = 'ISSUE_LICENSES'`),
		"as much work as paid orders")
	s.assertClean(0)
}
