//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// CASES C29 a: the webhook and the shopper's return meet at one barrier.
func TestC29aWebhookAndReturnPageAtOnceIssueOneLicence(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 2)
	const rounds = 20
	for range rounds {
		o, c := s.unpaid()
		s.succeeded(c)
		events := []map[string]any{s.sim.event("", "payment.succeeded", c), s.sim.event("", "payment.succeeded", c)}
		together(4, func(i int) {
			if i < 2 {
				_, _ = s.try("POST", s.sim.base+"/control/events", "", "", map[string]any{"event": events[i]})
				return
			}
			_, _ = s.try("GET", "http://"+s.addrs[i%2]+"/pay/return?order="+o.OrderID.String(), "", "", nil)
		})
		s.until(o, "FULFILLED")
	}
	require.Equal(t, rounds, s.count(`SELECT count(*) FROM licenses`))
	s.assertClean(0)
}

// CASES C29 d and C09: the job runs fifty times in parallel, in two processes.
func TestC29dFiftyParallelJobsIssueTheLicencesOnce(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	release := s.hold(`LOCK TABLE licenses IN EXCLUSIVE MODE`)
	o := s.pay(s.buy(wish{Items: []item{{license, 3}}, Currency: "RUB"}))
	eventually(t, "the licences wait for our lock", func() bool {
		return s.count(`SELECT count(*) FROM river_job WHERE kind = 'issue_licenses'`) > 0 && s.waiting()
	})
	s.copyJobs("issue_licenses", 50)
	release()
	before := s.until(o, "FULFILLED").Items[0].Licenses
	require.Len(t, before, 3)
	s.copyJobs("issue_licenses", 10) // and again afterwards
	s.copyJobs("send_notification", 10)
	s.copyJobs("apply_event", 10)
	eventually(t, "all jobs are done", func() bool { return s.count(`SELECT count(*) FROM river_job WHERE state <> 'completed'`) == 0 })
	require.Equal(t, before, s.see(o).Items[0].Licenses)
	s.assertClean(0)
}

// copyJobs makes n more jobs of one kind due.
func (s *shop) copyJobs(kind string, n int) {
	s.t.Helper()
	s.exec(`INSERT INTO river_job (args, kind, max_attempts, metadata, priority, queue, state, scheduled_at)
		SELECT args, kind, max_attempts, metadata, priority, queue, 'available', now() - interval '1 hour'
		FROM river_job, generate_series(1, $2) WHERE id = (SELECT min(id) FROM river_job WHERE kind = $1)`, kind, n)
}

// CASES C35 b, c: a job is seen by nobody before its row's COMMIT, and a COMMIT that fails leaves neither job nor effect.
func TestC35bNoWorkerSeesAJobBeforeItsCommit(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 2)
	s.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$`)
	s.exec(`CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON river_job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gate()`)
	release := s.hold(`SELECT pg_advisory_lock(42)`)
	o := s.buy(one(license))
	for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(50 * time.Millisecond) { // several COMMITs fail by their lock timeout
		require.Zero(t, s.count(`SELECT count(*) FROM river_job`))
	}
	require.Empty(t, s.sim.ledger().Payments)
	release()
	s.pay(o)
	s.until(o, "FULFILLED")
	s.assertClean(0)
}

// CASES C35 d: without a job table the order is taken whole, and its work waits in rows.
func TestC35dOrdersWaitWhileTheJobTableIsAway(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	s.exec(`ALTER TABLE river_job RENAME TO river_job_away`)
	const orders = 10
	for range orders {
		s.buy(one(license))
	}
	require.Empty(t, s.sim.ledger().Payments)
	s.exec(`ALTER TABLE river_job_away RENAME TO river_job`)
	s.payAll()
	s.assertClean(0)
	require.Equal(t, orders, s.count(`SELECT count(*) FROM outbox_events WHERE event_type = 'ORDER_PAID'`))
}

// Deleting every job row loses nothing: the rows are the truth.
func TestDeletingAllJobsLosesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 1)
	release := s.hold(`LOCK TABLE licenses IN EXCLUSIVE MODE`)
	o := s.pay(s.buy(one(license)))
	s.until(o, "PAID")
	s.work[0].kill()
	release()
	s.exec(`DELETE FROM river_job`)
	s.startWorker("")
	s.until(o, "FULFILLED")
	s.exec(`DELETE FROM river_job`)
	s.assertClean(0)
}

// Sequence numbers don't order commits: a row with a lower ID that commits later is dispatched too.
func TestLowerIDThatCommitsLaterIsDispatched(t *testing.T) {
	t.Parallel()
	s := open(t, 2, 1)
	release := s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license)
	late := postOrder(t, s.addrs[0], one(license), bearer(s.ann), keyed(newKey()))
	require.NoError(t, late.finish())
	eventually(t, "the first order waits before its COMMIT", s.waiting)
	early := s.must("POST", s.api(1, "/orders"), s.ann.token, newKey(), one(other))
	require.Equal(t, 201, early.status, "%s", early)
	eventually(t, "the second order's event is dispatched", func() bool {
		return s.count(`SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`) == 1
	})
	release()
	a, err := late.answer()
	require.NoError(t, err)
	require.Equal(t, 201, a.status, "%s", a)
	eventually(t, "the first order's event is dispatched", func() bool {
		return s.count(`SELECT count(*) FROM outbox_events WHERE dispatched_at IS NOT NULL`) == 2
	})
	require.Equal(t, 1, s.count(`SELECT count(*) FROM outbox_events a, outbox_events b WHERE a.order_id = $1 AND b.order_id = $2 AND a.id < b.id`,
		decode[order](t, a).OrderID, decode[order](t, early).OrderID), "the later COMMIT has the lower ID")
	s.payAll()
	s.assertClean(0)
}
