//go:build e2e

package e2e

import (
	"encoding/json"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// demo is `onefold demo` on a folder of its own.
type demo struct {
	*observer
	sim     *simulator
	process *process
	dir     string
	env     []string
	file    demoFile
}

type demoFile struct {
	Web, Sim    string
	DatabaseURL string `json:"databaseUrl"`
	Users       []struct{ Email, Password, Role, APIToken string }
}

func openDemo(t *testing.T) *demo {
	t.Helper()
	d := &demo{dir: openDir(t)}
	d.env = []string{"ONEFOLD_DATA=" + d.dir, "ONEFOLD_ADDR=127.0.0.1:0", "ONEFOLD_SIM_ADDR=127.0.0.1:0", "ONEFOLD_LEASE=2s"}
	d.start(t)
	return d
}

// openDir is a folder that the database's user can reach too, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "onefold-e2e") //nolint:usetesting // see above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(home, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return filepath.Join(home, "data")
}

// start waits for demo.json, which says that everything is ready.
func (d *demo) start(t *testing.T) {
	t.Helper()
	d.process = launch(t, "demo", shipped, d.env, "demo")
	soon(t, startPatience, "demo.json is there", func() bool {
		if !d.process.running() {
			t.Fatalf("the demo ended:\n%s", tail(d.process.log()))
		}
		content, err := os.ReadFile(d.json())
		return err == nil && json.Unmarshal(content, &d.file) == nil
	})
	d.observer = observe(t, d.file.DatabaseURL)
	d.sim = &simulator{t: t, process: d.process, http: d.http, base: d.file.Sim}
}

func (d *demo) json() string { return filepath.Join(d.dir, "demo.json") }

func (d *demo) buyer() buyer {
	u := d.file.Users[0]
	return buyer{email: u.Email, password: u.Password, token: u.APIToken}
}

func (d *demo) place(key string) answer {
	d.t.Helper()
	return d.must("POST", d.file.Web+"/api/orders", d.buyer().token, key, one("pixel-orchard"))
}

func TestDemoKeepsEverythingWhateverEndsIt(t *testing.T) {
	t.Parallel()
	d := openDemo(t)
	requireDemoFile(t, d)
	requireLoopbackOnly(t, d)
	keys := []string{}
	for _, end := range []struct {
		name string
		by   func()
	}{
		{"Ctrl-C", func() { require.Equal(t, 0, d.process.stop(os.Interrupt), tail(d.process.log())) }},
		{"SIGTERM", func() { require.Equal(t, 0, d.process.stop(syscall.SIGTERM), tail(d.process.log())) }},
		{"kill -9", func() { d.process.kill() }},
		{"kill -9 again", func() { d.process.kill() }},
	} {
		key := newKey()
		placed := d.place(key)
		require.Equal(t, 201, placed.status, "%s", placed)
		keys = append(keys, key)
		users := d.file.Users
		end.by()
		requireNothingListens(t, d, end.name)
		if !strings.HasPrefix(end.name, "kill") {
			require.NoFileExists(t, d.json(), "it tells of a demo that ended")
		}
		_ = os.Remove(d.json()) // a killed one could not
		begun := time.Now()
		d.start(t)
		t.Logf("ready %s after %s", time.Since(begun).Round(time.Millisecond), end.name)
		if os.Getenv("CI") == "" { // a promise for a person's machine
			require.Less(t, time.Since(begun), 20*time.Second, "far from ready within 5 s")
		}
		require.Equal(t, users, d.file.Users, "sign-ins stay")
		for _, key := range keys {
			again := d.place(key)
			require.Equal(t, 201, again.status, "after %s: %s", end.name, again)
			require.True(t, again.replayed(), "after %s the committed order is there", end.name)
		}
		require.Equal(t, len(keys), d.count(`SELECT count(*) FROM orders`))
	}
	eventually(t, "every order is at the provider", func() bool {
		return d.count(`SELECT count(*) FROM payments WHERE status = 'PENDING'`) == len(keys)
	})
	for _, c := range d.sim.ledger().Payments {
		d.sim.decide(c.ID, "succeed")
	}
	eventually(t, "every order is fulfilled", func() bool { return d.count(`SELECT count(*) FROM orders WHERE status = 'FULFILLED'`) == len(keys) })
	run(t, "", d.observer.env(), "check")
	assertLedger(d.observer, d.sim.ledger(), 0)
}

func requireDemoFile(t *testing.T, d *demo) {
	t.Helper()
	info, err := os.Stat(d.json())
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "readable by its owner only")
	roles := map[string]int{}
	for _, u := range d.file.Users {
		require.NotEmpty(t, u.Password)
		require.NotEmpty(t, u.APIToken)
		roles[u.Role]++
	}
	require.Equal(t, map[string]int{"shopper": 2, "viewer": 1, "support": 1, "operator": 1, "approver": 1, "admin": 1}, roles)
	require.Equal(t, 200, d.must("GET", d.file.Web+"/readyz", "", "", nil).status)
	require.Contains(t, d.process.output(), d.file.Web)
	require.NotContains(t, d.process.log(), d.file.Users[0].APIToken)
}

// requireLoopbackOnly reads the sockets that our processes listen on.
func requireLoopbackOnly(t *testing.T, d *demo) {
	t.Helper()
	for _, address := range []string{d.file.Web, d.file.Sim, d.file.DatabaseURL} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", u.Hostname())
	}
	u, _ := url.Parse(d.file.DatabaseURL)
	password, _ := u.User.Password()
	require.NotEmpty(t, password, "the database wants a password")
	require.Equal(t, "127.0.0.1", d.text(`SHOW listen_addresses`))
	require.Empty(t, d.text(`SHOW unix_socket_directories`))
	for _, other := range otherAddresses(t) {
		for _, address := range []string{d.file.Web, d.file.Sim, d.file.DatabaseURL} {
			u, _ := url.Parse(address)
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(other, u.Port()), time.Second)
			if err == nil {
				_ = conn.Close()
			}
			require.Error(t, err, "%s can be reached from outside at %s", u.Host, other)
		}
	}
}

// otherAddresses are this machine's addresses that are not loopback.
func otherAddresses(t *testing.T) (list []string) {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			list = append(list, ip.IP.String())
		}
	}
	return list
}

func requireNothingListens(t *testing.T, d *demo, after string) {
	t.Helper()
	for _, address := range []string{d.file.Web, d.file.Sim, d.file.DatabaseURL} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		eventually(t, "nothing listens on "+u.Host+" after "+after, func() bool {
			conn, err := net.DialTimeout("tcp", u.Host, time.Second)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
	}
}

func TestSecondDemoOnTheSameDataSaysSoAndStops(t *testing.T) {
	t.Parallel()
	d := openDemo(t)
	before := read(t, d.json())
	_, errs, status := outcome(t, "", d.env, "demo")
	require.NotZero(t, status)
	require.Contains(t, errs, d.dir)
	require.Contains(t, strings.ToLower(errs), "use")
	require.Equal(t, before, read(t, d.json()), "the first one's demo.json is untouched")
	require.Equal(t, 201, d.place(newKey()).status, "the first one goes on")
}

// demo.json must never lead to addresses of a demo that isn't ready.
func TestDemoFileIsRemovedUntilEverythingIsReady(t *testing.T) {
	t.Parallel()
	d := openDemo(t)
	require.Equal(t, 0, d.process.stop(os.Interrupt))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	env := append(slices.Clone(d.env), "ONEFOLD_SIM_ADDR="+taken.Addr().String())             // the last value wins
	require.NoError(t, os.WriteFile(d.json(), []byte(`{"web":"http://127.0.0.1:1"}`), 0o600)) // as a killed demo leaves it
	_, errs, status := outcome(t, "", env, "demo")
	require.NotZero(t, status)
	require.Contains(t, errs, taken.Addr().String())
	require.NoFileExists(t, d.json())
}

func TestMalformedSettingsStopTheStartAndAreNamed(t *testing.T) {
	t.Parallel()
	good := []string{
		"DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "ONEFOLD_WEBHOOK_SECRET=" + webhookSecret, "ONEFOLD_SESSION_KEY=" + strings.Repeat("k", 40),
		"ONEFOLD_ADDR=127.0.0.1:0", "ONEFOLD_SIM_ADDR=127.0.0.1:0",
	}
	for _, bad := range []string{
		"ONEFOLD_LEASE=abc", "ONEFOLD_LEASE=10ms", "ONEFOLD_LEASE=-5s", "ONEFOLD_PROVIDER=foo", "ONEFOLD_LOG_FORMAT=xml", "ONEFOLD_LOG_LEVEL=loud",
		"ONEFOLD_ADDR=nonsense", "ONEFOLD_OPERATION_RETENTION=never", "ONEFOLD_OPERATION_RETENTION=0s", "ONEFOLD_PUBLIC_URL=shop.example",
		"ONEFOLD_SIM_URL=ftp://x", "ONEFOLD_SESSION_KEY=short", "ONEFOLD_WEBHOOK_SECRET=", "ONEFOLD_MAX_CONNS=many", "ONEFOLD_MAX_CONNS=0",
		"ONEFOLD_WORKERS=x", "ONEFOLD_WORKERS=-1", "DATABASE_URL=", "DATABASE_URL=not a url",
	} {
		t.Run("serve "+bad, func(t *testing.T) {
			t.Parallel()
			requireNamed(t, append(good, bad), bad, "serve")
		})
	}
	for _, bad := range []string{"ONEFOLD_LEASE=abc", "ONEFOLD_PROVIDER=foo", "ONEFOLD_LOG_FORMAT=xml", "ONEFOLD_ADDR=nonsense", "ONEFOLD_SIM_ADDR=nonsense"} {
		t.Run("demo "+bad, func(t *testing.T) {
			t.Parallel()
			requireNamed(t, []string{"ONEFOLD_DATA=" + openDir(t), "ONEFOLD_ADDR=127.0.0.1:0", "ONEFOLD_SIM_ADDR=127.0.0.1:0", bad}, bad, "demo")
		})
	}
	t.Run("without any setting", func(t *testing.T) {
		t.Parallel()
		nothing := []string{"ONEFOLD_DATA=" + openDir(t)}
		requireNamed(t, nothing, "ONEFOLD_SESSION_KEY=", "serve")
		requireNamed(t, nothing, "ONEFOLD_WEBHOOK_SECRET=", "sim")
		requireNamed(t, nothing, "DATABASE_URL=", "migrate", "status")
		requireNamed(t, nothing, "DATABASE_URL=", "check")
	})
	t.Run("an unknown flag", func(t *testing.T) {
		t.Parallel()
		requireNamed(t, good, "--surprise=", "serve", "--surprise")
	})
}

// requireNamed: the start ends with a message that names the setting by its flag or variable, and shows no secret.
func requireNamed(t *testing.T, env []string, setting string, args ...string) {
	t.Helper()
	out, errs, status := outcome(t, "", env, args...)
	require.NotZero(t, status, "%s was taken", setting)
	name, value, _ := strings.Cut(setting, "=")
	flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "ONEFOLD_")), "_", "-")
	said := errs[strings.LastIndex(errs, "onefold: "):] // the message, without the usage
	words := strings.ReplaceAll(name, "_", " ")         // "read database URL: …"
	require.True(t, strings.Contains(said, name) || strings.Contains(said, flag) || strings.Contains(strings.ToUpper(said), words), "%s %s is not named in: %s", name, value, errs+out)
	require.NotContains(t, errs+out, webhookSecret)
}

func TestCommandsForPeopleTokensAndSchema(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	env := s.observer.env()
	status := run(t, "", env, "migrate", "status")
	require.Contains(t, status, "onefold")
	require.NotContains(t, status, "missing")
	run(t, "", env, "migrate", "up") // again: nothing to do

	require.NotZero(t, exitOf(t, "long enough password\n", env, "user", "add", "--email", s.ann.email, "--role", "shopper"), "the address is taken")
	require.NotZero(t, exitOf(t, "long enough password\n", env, "user", "add", "--email", "x@example.com", "--role", "king"))
	require.NotZero(t, exitOf(t, "short\n", env, "user", "add", "--email", "x@example.com", "--role", "viewer"))
	require.NotZero(t, exitOf(t, "", env, "user", "add", "--email", "x@example.com", "--role", "viewer"))
	require.NotZero(t, exitOf(t, "", env, "token", "create", "--email", "nobody@example.com"))

	token := strings.TrimSpace(run(t, "", env, "token", "create", "--email", s.ann.email))
	require.NotEqual(t, s.ann.token, token)
	require.Equal(t, 200, s.must("GET", s.api(0, "/products"), token, "", nil).status)
	require.Zero(t, s.count(`SELECT count(*) FROM api_tokens WHERE api_tokens::text LIKE '%' || $1 || '%'`, token), "only a hash is stored")
	require.Zero(t, s.count(`SELECT count(*) FROM users WHERE users::text LIKE '%' || $1 || '%'`, s.ann.password))
}

func exitOf(t *testing.T, input string, env []string, args ...string) int {
	t.Helper()
	_, _, status := outcome(t, input, env, args...)
	return status
}

func TestServeRefusesWorkOnASchemaThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := open(t, 1, 0)
	run(t, "", s.observer.env(), "migrate", "down")
	require.Equal(t, 503, s.must("GET", "http://"+s.addrs[0]+"/readyz", "", "", nil).status)
	require.Equal(t, 200, s.must("GET", "http://"+s.addrs[0]+"/healthz", "", "", nil).status)
	run(t, "", s.observer.env(), "migrate", "up")
	require.Equal(t, 200, s.must("GET", "http://"+s.addrs[0]+"/readyz", "", "", nil).status)
}
