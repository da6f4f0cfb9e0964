//go:build unix

// Package localpg runs a PostgreSQL of our own for the demo and for tests: no system service, no set-up, nothing left behind
// but its folder. It listens on 127.0.0.1 only, with a random password. One process owns a folder at a time; the server ends
// with its owner, however the owner ends, and the data stays for the next start.
//
// A folder holds: data (the cluster), owner.lock (flock and the owner's pid), password, port, postgres.log.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Config says what to run. Only Dir is required.
type Config struct {
	Dir      string       // the folder to keep everything in; made if absent
	Database string       // made if absent; default "onefold"
	NoSync   bool         // tests only: a power cut may destroy the data, a killed process does not
	Log      *slog.Logger // default slog.Default()
	Owned    func() error // called when the folder is ours alone, before the server starts; nil does nothing
}

// superuser is the role that owns everything in the local cluster.
const superuser = "onefold"

// ErrInUse is returned by Start while another process (or an earlier Start of this one) owns the folder.
var ErrInUse = errors.New("data folder is in use by another process")

// Instance is a running server.
type Instance struct {
	cfg    Config
	dir    string // where things really are, see place
	bin    string
	as     *syscall.Credential // nil: as ourselves
	lock   *os.File
	secret string
	port   int

	process *os.Process
	exited  chan struct{}
	stop    sync.Once
}

// Start returns when the server accepts connections and the database exists. ctx limits only the start. Errors name what is
// missing: ErrInUse (with the owner's pid) and a missing PostgreSQL are the ones to expect.
func Start(ctx context.Context, cfg Config) (*Instance, error) {
	if cfg.Database == "" {
		cfg.Database = "onefold"
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	i := &Instance{cfg: cfg, exited: make(chan struct{})}
	if err := i.start(ctx); err != nil {
		_ = i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Instance) start(ctx context.Context) (err error) {
	if err = i.place(ctx); err != nil {
		return err
	}
	if err = i.own(); err != nil {
		return err
	}
	if i.cfg.Owned != nil {
		if err = i.cfg.Owned(); err != nil {
			return err
		}
	}
	if err = i.findBinaries(ctx); err != nil {
		return err
	}
	if err = i.endStale(ctx); err != nil {
		return err
	}
	if err = i.readPassword(); err != nil {
		return err
	}
	if err = i.initCluster(ctx); err != nil {
		return err
	}
	return i.run(ctx)
}

// URL leads to Config.Database; it contains the password.
func (i *Instance) URL() string { return i.url(i.cfg.Database) }

// Dir is the folder really used: Config.Dir, or the one it was moved to because the server's user cannot reach that.
func (i *Instance) Dir() string { return i.dir }

// Pid is the server's main process.
func (i *Instance) Pid() int { return i.process.Pid }

// Done is closed when the server has ended, wanted or not.
func (i *Instance) Done() <-chan struct{} { return i.exited }

// Stop ends the server cleanly (sessions are cut, the data is written) and gives the folder free. After 20 s it becomes
// rough. A second call does nothing.
func (i *Instance) Stop() error {
	var err error
	i.stop.Do(func() {
		err = i.end()
		if i.lock != nil {
			_ = i.lock.Close()
		}
	})
	return err
}

func (i *Instance) end() error {
	if i.process == nil {
		return nil
	}
	for _, try := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 20 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		_ = i.process.Signal(try.signal)
		select {
		case <-i.exited:
			return nil
		case <-time.After(try.wait):
			i.cfg.Log.Warn("local PostgreSQL does not end", "signal", try.signal.String(), "pid", i.process.Pid)
		}
	}
	return fmt.Errorf("local PostgreSQL (pid %d) does not end", i.process.Pid)
}

// command prepares one of PostgreSQL's programs: in the folder, as the server's user, apart from our terminal's Ctrl-C, and
// ending when we do.
func (i *Instance) command(ctx context.Context, dies syscall.Signal, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(i.bin, name), args...)
	cmd.Dir = i.dir
	cmd.Env = []string{"LC_ALL=" + locale, "TZ=UTC", "PATH=" + i.bin + ":/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.as, Setpgid: true}
	diesWithUs(cmd.SysProcAttr, dies)
	return cmd
}
