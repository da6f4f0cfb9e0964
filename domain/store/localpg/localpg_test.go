//go:build linux

package localpg_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"onefold/domain/store/localpg"
)

// childDir makes the test binary a stand-in for `onefold demo`: it starts a server in the folder, says so, and waits.
const childDir = "LOCALPG_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

func child(dir string) (code int) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	i, err := localpg.Start(ctx, localpg.Config{Dir: dir, NoSync: true})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready", i.Pid(), i.URL())
	<-ctx.Done()
	if err := i.Stop(); err != nil {
		return 1
	}
	return 0
}

// dir is a folder that every user can reach, unlike t.TempDir.
func dir(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "localpg") //nolint:usetesting // see above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(home, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return filepath.Join(home, "pg")
}

func start(t *testing.T, dir string) *localpg.Instance {
	t.Helper()
	i, err := localpg.Start(t.Context(), localpg.Config{Dir: dir, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.Stop() })
	return i
}

// query reads one number on a new connection.
func query(t *testing.T, url, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

const (
	write = `WITH made AS (INSERT INTO kept VALUES (1) RETURNING 1) SELECT count(*) FROM made`
	count = `SELECT count(*) FROM kept`
)

func create(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE kept (n integer)`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func TestRestartKeepsDataPasswordAndPort(t *testing.T) {
	t.Parallel()
	dir := dir(t)
	first := start(t, dir)
	create(t, first.URL())
	for n := range 2 {
		query(t, first.URL(), write)
		require.NoError(t, first.Stop())
		require.NoError(t, first.Stop(), "a second stop does nothing")
		<-first.Done()
		again := start(t, dir)
		require.Equal(t, first.URL(), again.URL())
		require.Equal(t, n+1, query(t, again.URL(), count))
		first = again
	}
	info, err := os.Stat(filepath.Join(first.Dir(), "password"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestOnlyTheLoopbackAndThePasswordOpenIt(t *testing.T) {
	t.Parallel()
	i := start(t, dir(t))
	cfg, err := pgx.ParseConfig(i.URL())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", cfg.Host)
	cfg.Password = "guess"
	_, err = pgx.ConnectConfig(t.Context(), cfg)
	require.ErrorContains(t, err, "28P01")
	require.Zero(t, query(t, i.URL(), `SELECT count(*) FROM pg_settings WHERE name = 'unix_socket_directories' AND setting <> ''`))
}

func TestDataIsSyncedUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	const on = `SELECT count(*) FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'on'`
	i, err := localpg.Start(t.Context(), localpg.Config{Dir: dir(t), Database: "named"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.Stop() })
	require.Equal(t, 3, query(t, i.URL(), on))
	require.Contains(t, i.URL(), "/named?")
	require.Equal(t, 1, query(t, start(t, dir(t)).URL(), on), "only synchronous_commit is left")
}

func TestSecondOwnerIsRefused(t *testing.T) {
	t.Parallel()
	dir := dir(t)
	i := start(t, dir)
	for range 2 {
		_, err := localpg.Start(t.Context(), localpg.Config{Dir: dir})
		require.ErrorIs(t, err, localpg.ErrInUse)
		require.ErrorContains(t, err, "pid "+strconv.Itoa(os.Getpid()))
	}
	require.Equal(t, 1, query(t, i.URL(), `SELECT 1`), "the first owner is not disturbed")
}

func TestKilledServerRecovers(t *testing.T) {
	t.Parallel()
	dir := dir(t)
	i := start(t, dir)
	create(t, i.URL())
	query(t, i.URL(), write)
	require.NoError(t, syscall.Kill(i.Pid(), syscall.SIGKILL))
	select {
	case <-i.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done does not tell")
	}
	require.NoError(t, i.Stop())
	require.Equal(t, 1, query(t, start(t, dir).URL(), count))
}

func TestReusedProcessNumberDoesNotBlockTheStart(t *testing.T) {
	t.Parallel()
	dir := dir(t)
	i := start(t, dir)
	create(t, i.URL())
	name := filepath.Join(i.Dir(), "data", "postmaster.pid")
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(i.Pid(), syscall.SIGKILL))
	<-i.Done()
	require.NoError(t, i.Stop())

	_, rest, _ := strings.Cut(string(content), "\n")
	require.NoError(t, os.WriteFile(name, []byte("1\n"+rest), 0o600)) // process 1 always lives and is no PostgreSQL
	require.Equal(t, 0, query(t, start(t, dir).URL(), count))
}

// TestOwnerEnds runs a real owner process as each user we can be, ends it in each way, and starts again at once.
func TestOwnerEnds(t *testing.T) {
	t.Parallel()
	for _, who := range users() {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			home := dir(t)
			require.NoError(t, os.Mkdir(home, 0o755))
			if who.as != nil {
				require.NoError(t, os.Chown(home, int(who.as.Uid), int(who.as.Gid)))
			}
			dir := filepath.Join(home, "pg")
			owner, server, url := runChild(t, who.as, dir)
			create(t, url)
			for n, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
				query(t, url, write)
				require.NoError(t, owner.Process.Signal(how))
				_ = owner.Wait() // by a signal: an error

				last := server
				owner, server, url = runChild(t, who.as, dir)
				require.Equal(t, n+1, query(t, url, count), how.String())
				_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", last))
				require.ErrorIs(t, err, os.ErrNotExist, "the last owner's server is gone, or a zombie")
			}
			require.NoError(t, owner.Process.Signal(syscall.SIGTERM))
			require.NoError(t, owner.Wait())
		})
	}
}

type identity struct {
	name string
	as   *syscall.Credential
}

// users are ourselves, and as root a normal user as well.
func users() []identity {
	if os.Geteuid() != 0 {
		return []identity{{"user", nil}}
	}
	return []identity{{"root", nil}, {"user", &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{}}}}
}

func runChild(t *testing.T, as *syscall.Credential, dir string) (cmd *exec.Cmd, server int, url string) {
	t.Helper()
	cmd = exec.Command(program(t))
	if as != nil {
		cmd.Dir = "/" // ours may be closed to it
	}
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as} // no death signal: it belongs to the forking thread, which may end before us
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscanf(line, "ready %d %s", &server, &url)
	require.NoError(t, err, line)
	return cmd, server, url
}

// program copies the test binary to where every user can run it: go test builds in a closed folder.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	name := filepath.Join(filepath.Dir(dir(t)), "localpg.test")
	require.NoError(t, os.WriteFile(name, content, 0o755))
	return name
}

func TestFolderBelowAClosedOneIsMoved(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as another user")
	}
	home, err := os.MkdirTemp("", "closed") //nolint:usetesting // short, and closed by itself
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	dir := filepath.Join(home, "pg")
	i := start(t, dir)
	t.Cleanup(func() { _ = os.RemoveAll(i.Dir()) })
	require.True(t, strings.HasPrefix(i.Dir(), "/var/lib/onefold/"), i.Dir())
	create(t, i.URL())
	require.NoError(t, i.Stop())
	require.Equal(t, 0, query(t, start(t, dir).URL(), count))
}

func TestMissingProgramsAreExplained(t *testing.T) {
	t.Setenv("ONEFOLD_PG_BIN", "/nowhere")
	_, err := localpg.Start(t.Context(), localpg.Config{Dir: dir(t)})
	require.ErrorContains(t, err, "ONEFOLD_PG_BIN=/nowhere")
}
