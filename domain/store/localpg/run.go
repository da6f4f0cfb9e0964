//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// initCluster makes the data folder under another name first: one that is half made never looks like a cluster.
func (i *Instance) initCluster(ctx context.Context) error {
	if _, err := os.Stat(i.data()); err == nil {
		return nil
	}
	unfinished := i.data() + ".init"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove unfinished cluster: %w", err)
	}
	args := []string{
		"-D", unfinished, "-U", superuser, "-A", "scram-sha-256", "--pwfile", filepath.Join(i.dir, "password"),
		"-E", "UTF8", "--locale=" + locale, "--data-checksums",
	}
	if i.cfg.NoSync {
		args = append(args, "--no-sync")
	}
	runtime.LockOSThread() // the death signal belongs to the forking thread
	defer runtime.UnlockOSThread()
	if out, err := i.command(ctx, syscall.SIGKILL, "initdb", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make database cluster: %w\n%s", err, out)
	}
	if err := os.Rename(unfinished, i.data()); err != nil {
		return fmt.Errorf("name database cluster: %w", err)
	}
	return nil
}

// run starts the server until it answers. Two refusals pass by themselves: the port was taken meanwhile, or a session of a
// killed server still holds its memory.
func (i *Instance) run(ctx context.Context) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		if err := i.choosePort(); err != nil {
			return err
		}
		if err := i.launch(ctx); err != nil {
			return err
		}
		err := i.ready(ctx)
		if err == nil {
			return nil
		}
		log := i.log()
		again := strings.Contains(log, "could not bind") || strings.Contains(log, "pre-existing shared memory block")
		if !again || ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("start PostgreSQL: %w\n%s", err, log[max(0, len(log)-2000):])
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// launch forks on a thread that lives as long as the server: when the thread ends, the server gets its death signal.
func (i *Instance) launch(ctx context.Context) error {
	// Sessions of a killed server may still be writing to it, hence O_APPEND.
	log, err := os.OpenFile(i.logFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open server log: %w", err)
	}
	cmd := i.command(context.WithoutCancel(ctx), // the server outlives its start
		syscall.SIGINT, "postgres", i.settings()...)
	cmd.Stdout, cmd.Stderr = log, log
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer func() { _ = log.Close() }()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("run postgres: %w", err)
	}
	i.process, i.exited = cmd.Process, exited
	return nil
}

func (i *Instance) settings() []string {
	list := []string{
		"port=" + strconv.Itoa(i.port),
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=",
		"max_connections=200",
		"timezone=UTC",
		"log_timezone=UTC",
		"jit=off", // short statements only
		"max_wal_size=2GB", "wal_buffers=16MB",
		"logging_collector=off",
	}
	if i.cfg.NoSync {
		list = append(list, "fsync=off", "full_page_writes=off", "max_wal_size=256MB")
	}
	args := []string{"-D", i.data()}
	for _, s := range list {
		args = append(args, "-c", s)
	}
	return args
}

// choosePort takes the port of the last run while it is free, so that noted addresses stay true.
func (i *Instance) choosePort() error {
	name := filepath.Join(i.dir, "port")
	content, _ := os.ReadFile(name) // none yet: 0, any free port
	last, _ := strconv.Atoi(strings.TrimSpace(string(content)))
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(last)))
	if err != nil {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	i.port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return fmt.Errorf("free the port: %w", err)
	}
	return i.writeFile(name, fmt.Appendln(nil, i.port))
}

// ready waits until the server answers, and makes the database.
func (i *Instance) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := i.makeDatabase(ctx)
		if err == nil {
			return nil
		}
		var answer *pgconn.PgError
		if errors.As(err, &answer) && answer.Code != "57P03" { // cannot_connect_now: it is starting
			return err
		}
		select {
		case <-i.exited:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (i *Instance) makeDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, i.url("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, i.cfg.Database).Scan(&there); err != nil {
		return fmt.Errorf("look for database: %w", err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{i.cfg.Database}.Sanitize()); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

func (i *Instance) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, i.secret),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(i.port)), Path: database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

func (i *Instance) logFile() string { return filepath.Join(i.dir, "postgres.log") }

// log is what the server has said since its start.
func (i *Instance) log() string {
	content, _ := os.ReadFile(i.logFile()) // nothing yet
	return string(content)
}
