//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"onefold/domain/store/localpg"
)

// cluster is a Postgres of the test's own, which it may kill.
type cluster struct {
	*localpg.Instance
	t   *testing.T
	dir string
}

func startCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: dir}
	c.start()
	t.Cleanup(func() { _ = c.Stop() })
	run(t, "", []string{"DATABASE_URL=" + c.URL()}, "migrate", "up")
	return c
}

// start starts it, again at its address.
func (c *cluster) start() {
	c.t.Helper()
	instance, err := localpg.Start(c.t.Context(), localpg.Config{Dir: c.dir})
	if errors.Is(err, localpg.ErrNoPostgres) {
		missing(c.t, "PostgreSQL of our own: "+err.Error())
	}
	require.NoError(c.t, err)
	if c.Instance != nil {
		require.Equal(c.t, c.URL(), instance.URL(), "it has kept its address")
	}
	c.Instance = instance
}

// signal reaches the server and all its sessions.
func (c *cluster) signal(to syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, syscall.Kill(c.Pid(), to)) // first, so that it starts no more sessions
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", c.Pid()))
	if err != nil {
		missing(c.t, "list of child processes: "+err.Error())
	}
	for child := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(child)
		require.NoError(c.t, err)
		_ = syscall.Kill(pid, to)
	}
}

// crash kills the server, as the kernel does when memory is short; its sessions notice. Its folder is free then.
func (c *cluster) crash() {
	c.t.Helper()
	require.NoError(c.t, syscall.Kill(c.Pid(), syscall.SIGKILL))
	<-c.Done()
	require.NoError(c.t, c.Stop())
}

func TestPostgresKilledInMidTransaction(t *testing.T) {
	t.Parallel()
	c := startCluster(t, openDir(t))
	s := openOn(t, c.URL(), 2, 2)
	before := s.pay(s.buy(one(license)))
	s.hold(`SELECT 1 FROM products WHERE id = $1 FOR UPDATE`, license) // so that all of them are in mid-transaction
	keys := s.during(16, func() {
		eventually(t, "they wait inside their transactions", s.waiting)
		c.crash()
		s.requireUnready()
		s.startWorker("") // it waits for the database
		c.start()
	})
	s.resumes(keys)
	s.until(before, "FULFILLED")
}

func TestPostgresStandsStill(t *testing.T) {
	t.Parallel()
	c := startCluster(t, openDir(t))
	s := openOn(t, c.URL(), 2, 2)
	before := s.pay(s.buy(one(license)))
	keys := s.during(16, func() {
		c.signal(syscall.SIGSTOP)
		defer c.signal(syscall.SIGCONT)
		until := time.Now().Add(10 * time.Second)
		s.requireUnready()
		within(t, 12*time.Second, func() { // the request's own limit, and what it takes to say so
			a := s.place(s.ann, newKey(), one(license))
			requireComeBack(t, a)
		})
		<-time.After(time.Until(until)) // ten seconds are the failure itself
	})
	s.resumes(keys)
	s.until(before, "FULFILLED")
}

// during runs f while n clients place orders through both web processes, each repeating with its key until it has an answer that
// counts. It returns when f and all of them are done.
func (s *shop) during(n int, f func()) (keys []string) {
	s.t.Helper()
	var clients sync.WaitGroup
	defer clients.Wait() // also when f fails
	for i := range n {
		key := newKey()
		keys = append(keys, key)
		clients.Go(func() { s.insist(i, key) })
	}
	f()
	s.db.Reset() // our own sessions died, too
	return keys
}

// insist sends one order again and again, with the same key, until it is placed. Nothing but "come back" and cut connections is
// allowed meanwhile.
func (s *shop) insist(i int, key string) (placed order) {
	eventually(s.t, "an order is placed", func() bool {
		a, err := s.try("POST", s.api(i%len(s.addrs), "/orders"), s.ann.token, key, one(license))
		i++
		if err != nil {
			return false // a killed process
		}
		if a.status == 201 {
			placed = decode[order](s.t, a)
			return true
		}
		requireComeBack(s.t, a)
		return false
	})
	return placed
}

// requireComeBack: not now, and nothing about why.
func requireComeBack(t testing.TB, a answer) {
	t.Helper()
	require.Contains(t, []int{503, 409}, a.status, "%s", a)
	require.Contains(t, []string{"TEMPORARILY_UNAVAILABLE", "OPERATION_IN_PROGRESS"}, a.code(), "%s", a)
	require.NotEmpty(t, a.header.Get("Retry-After"), "%s", a)
	require.NotContains(t, string(a.body), "SQLSTATE")
}

// requireUnready waits until every web says that it isn't ready; it is alive all the time.
func (s *shop) requireUnready() {
	s.t.Helper()
	for i := range s.web {
		eventually(s.t, "readiness tells", func() bool { return s.probe(i, "/readyz") == http.StatusServiceUnavailable })
		require.Equal(s.t, http.StatusOK, s.probe(i, "/healthz"))
	}
}

func (s *shop) probe(i int, path string) int {
	s.t.Helper()
	return s.must("GET", fmt.Sprintf("http://%s%s", s.addrs[i], path), "", "", nil).status
}

// resumes: with the failure gone, everything goes on without help, and nothing was lost or doubled.
func (s *shop) resumes(keys []string) {
	s.t.Helper()
	begun := time.Now()
	for i := range s.web {
		eventually(s.t, "it is ready again", func() bool { return s.probe(i, "/readyz") == http.StatusOK })
	}
	for _, key := range keys {
		var a answer
		eventually(s.t, "the key answers", func() bool { // a connection that died with the server may cost one more try
			if a = s.place(s.ann, key, one(license)); a.status != 201 {
				requireComeBack(s.t, a)
			}
			return a.status == 201
		})
		require.True(s.t, a.replayed())
	}
	s.t.Logf("ready after %s", time.Since(begun).Round(time.Millisecond))
	s.payBehind()
	s.t.Logf("all paid and fulfilled after %s", time.Since(begun).Round(time.Millisecond))
	for _, p := range append(append([]*process{}, s.web...), s.work...) {
		require.True(s.t, p.running(), "%s ended:\n%s", p.name, tail(p.log()))
	}
	s.provesClean(len(s.work)*8*len(keys), append(append([]*process{}, s.web...), s.work...))
}

// payBehind pays whatever the provider has, until every order is fulfilled.
func (s *shop) payBehind() {
	s.t.Helper()
	eventually(s.t, "every order is fulfilled", func() bool {
		for _, c := range s.sim.ledger().Payments {
			if c.Status == "pending" {
				s.sim.decide(c.ID, "succeed")
			}
		}
		return s.count(`SELECT count(*) FROM orders WHERE status <> 'FULFILLED'`) == 0
	})
}

// provesClean is assertClean for when mails may have been cut off twice.
func (s *shop) provesClean(repeats int, all []*process) {
	s.t.Helper()
	eventually(s.t, "nothing is due", func() bool {
		return s.count(`SELECT (SELECT count(*) FROM operations WHERE status = 'PROCESSING' AND type NOT IN ('WATCH_PAYMENT', 'EXPIRE_ORDER')) +
			(SELECT count(*) FROM incoming_events WHERE status = 'RECEIVED') + (SELECT count(*) FROM outbox_events WHERE dispatched_at IS NULL)`) == 0
	})
	run(s.t, "", s.observer.env(), "check")
	assertLedger(s.observer, s.sim.ledger(), repeats)
	for _, p := range all {
		assertHealthyLog(s.observer, p)
	}
	if cut := s.count(`SELECT count(*) FROM operations WHERE failure_code = 'MAIL_UNCONFIRMED'`); cut > 0 {
		s.t.Logf("%d mails were cut off twice", cut)
	}
}
