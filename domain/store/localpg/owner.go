//go:build unix

package localpg

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// unprivileged returns whom to run as: PostgreSQL refuses root, so root becomes the owner of existing data, or "postgres", or
// "nobody".
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			return &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid, Groups: []uint32{}}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}, nil
		}
	}
	return nil, errors.New("PostgreSQL cannot run as root and there is no user postgres or nobody: start as a normal user")
}

// openHome is where root puts what the server's user cannot reach elsewhere.
const openHome = "/var/lib/onefold"

// place makes the folder. Below a folder that is closed to the server's user (as /root is), it takes openHome instead.
func (i *Instance) place(ctx context.Context) error {
	dir, err := filepath.Abs(i.cfg.Dir)
	if err != nil {
		return fmt.Errorf("find data folder: %w", err)
	}
	if i.as, err = unprivileged(dir); err != nil {
		return err
	}
	if err := i.makeDir(dir); err != nil {
		return err
	}
	if i.reachable(ctx, dir) {
		i.dir = dir
		return nil
	}
	sum := sha256.Sum256([]byte(dir))
	elsewhere := filepath.Join(openHome, hex.EncodeToString(sum[:6]))
	i.cfg.Log.Info("the database is kept elsewhere: its user cannot reach the folder", "folder", dir, "instead", elsewhere)
	if err := os.MkdirAll(filepath.Dir(elsewhere), 0o755); err != nil { //nolint:gosec // the server's user must pass through
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := i.makeDir(elsewhere); err != nil {
		return err
	}
	if !i.reachable(ctx, elsewhere) {
		return fmt.Errorf("data folder %s cannot be reached by the server's user", elsewhere)
	}
	i.dir = elsewhere
	return nil
}

func (i *Instance) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := i.handOver(dir); err != nil {
		return err
	}
	if f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("data folder %s is not ours to use (made by another user, perhaps root?): %w", dir, err)
	} else if err := f.Close(); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	return nil
}

func (i *Instance) handOver(path string) error {
	if i.as == nil {
		return nil
	}
	if err := os.Chown(path, int(i.as.Uid), int(i.as.Gid)); err != nil {
		return fmt.Errorf("hand over to the server's user: %w", err)
	}
	return nil
}

// reachable tries it: the child changes to the folder after it has become the server's user.
func (i *Instance) reachable(ctx context.Context, dir string) bool {
	if i.as == nil {
		return true
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "test -w .")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.as}
	return cmd.Run() == nil
}

const lockName = "owner.lock"

// own takes the folder for this process. The lock ends with the process, so a kill leaves nothing to clean.
func (i *Instance) own() error {
	f, err := os.OpenFile(filepath.Join(i.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open owner lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		pid, readErr := os.ReadFile(f.Name())
		if !errors.Is(err, syscall.EWOULDBLOCK) || readErr != nil {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return fmt.Errorf("%w: %s, pid %s", ErrInUse, i.dir, strings.TrimSpace(string(pid)))
	}
	i.lock = f
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("note owner: %w", err)
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		return fmt.Errorf("note owner: %w", err)
	}
	return nil
}

// endStale ends a server that outlived its killed owner. On Linux it is already shutting down, see diesWithUs.
func (i *Instance) endStale(ctx context.Context) error {
	name := filepath.Join(i.data(), "postmaster.pid")
	for deadline := time.Now().Add(30 * time.Second); ; {
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read postmaster.pid: %w", err)
		}
		first, rest, _ := strings.Cut(string(content), "\n")
		pid, _ := strconv.Atoi(strings.TrimSpace(first)) // unreadable: 0, PostgreSQL's to complain about
		if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil // PostgreSQL itself looks after the file of a dead server
		}
		if !isServer(pid, i.data()) {
			// The number belongs to somebody else by now. PostgreSQL would refuse to start, except if it is its parent's; it
			// still checks the shared memory named in the lines that follow.
			return i.writeFile(name, fmt.Appendf(nil, "%d\n%s", os.Getpid(), rest))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("an earlier PostgreSQL (pid %d) does not end", pid)
		}
		_ = syscall.Kill(pid, syscall.SIGINT)
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// readPassword reads the password of an existing cluster or makes one for a new one.
func (i *Instance) readPassword() error {
	name := filepath.Join(i.dir, "password")
	content, err := os.ReadFile(name)
	if err == nil && len(content) > 0 {
		i.secret = strings.TrimSpace(string(content))
		return nil
	}
	if _, err := os.Stat(i.data()); err == nil {
		return fmt.Errorf("the password file %s is gone: put it back, or remove the folder to begin afresh", name)
	}
	i.secret = rand.Text()
	return i.writeFile(name, []byte(i.secret+"\n"))
}

func (i *Instance) writeFile(name string, content []byte) error {
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return i.handOver(name)
}

func (i *Instance) data() string { return filepath.Join(i.dir, "data") }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("start PostgreSQL: %w", context.Cause(ctx))
	case <-time.After(d):
		return nil
	}
}
