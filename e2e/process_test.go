//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is one running onefold. It is ended with its test, whatever happens.
type process struct {
	t              testing.TB
	name           string
	cmd            *exec.Cmd
	stdout, stderr string // files
	gone           chan struct{}
}

// launch starts a binary with an environment of its own: nothing of ours gets in but the way to Postgres' programs.
func launch(t testing.TB, name, binary string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: exec.Command(binary, args...), gone: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ONEFOLD_PG_BIN=" + os.Getenv("ONEFOLD_PG_BIN")}, env...)
	p.cmd.SysProcAttr = dieWithUs()
	p.stdout, p.stderr = logFile(t, name+".out"), logFile(t, name+".log")
	out, err := os.Create(p.stdout)
	require.NoError(t, err)
	log, err := os.Create(p.stderr)
	require.NoError(t, err)
	p.cmd.Stdout, p.cmd.Stderr = out, log
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal belongs to the forking thread
		started <- p.cmd.Start()
		_ = p.cmd.Wait()
		_, _ = out.Close(), log.Close()
		close(p.gone)
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.gone:
		case <-time.After(patience):
			p.kill()
			t.Errorf("%s did not end on SIGTERM", name)
		}
	})
	return p
}

// logFile names a file that stays only if the test fails.
func logFile(t testing.TB, name string) string {
	t.Helper()
	dir := artefact(strings.ReplaceAll(t.Name(), "/", "_"))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	file := filepath.Join(dir, name)
	for n := 2; ; n++ {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return file
		}
		file = filepath.Join(dir, fmt.Sprintf("%d-%s", n, name))
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.t.Helper()
	_ = p.cmd.Process.Kill()
	p.ended("after kill -9")
}

// stop sends a signal that asks to end, and returns the exit status.
func (p *process) stop(with os.Signal) int {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(with))
	return p.ended("after " + with.String())
}

// ended waits for the end and returns the exit status; -1 after a signal.
func (p *process) ended(when string) int {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(patience):
		p.t.Fatalf("%s still runs %s:\n%s", p.name, when, tail(p.log()))
	}
	return p.cmd.ProcessState.ExitCode()
}

// crashed waits for the process to kill itself at its crash point.
func (p *process) crashed() {
	p.t.Helper()
	p.ended("and did not reach its crash point")
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(p.t, status.Signaled() && status.Signal() == syscall.SIGKILL, "%s: %s\n%s", p.name, p.cmd.ProcessState, tail(p.log()))
}

func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) log() string    { return read(p.t, p.stderr) }
func (p *process) output() string { return read(p.t, p.stdout) }

// said waits for a log line with this message and returns it.
func (p *process) said(message string) (line map[string]any) {
	p.t.Helper()
	eventually(p.t, p.name+" says "+message, func() bool {
		if !p.running() {
			p.t.Fatalf("%s ended:\n%s", p.name, tail(p.log()))
		}
		for _, l := range p.lines() {
			if l["msg"] == message {
				line = l
			}
		}
		return line != nil
	})
	return line
}

func (p *process) lines() (all []map[string]any) {
	for text := range strings.Lines(p.log()) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil {
			all = append(all, line)
		}
	}
	return all
}

func read(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

func tail(log string) string { return log[max(0, len(log)-2000):] }
