package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store/localpg"
)

// embedded takes the first of a few kept folders that no other test process owns: a start in one takes 0.1 s, and its
// template is ready. They are under the temporary folder, one set per user and boot (without fsync, data does not outlive a
// power cut).
func embedded(ctx context.Context) (*server, error) {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // not on every system
	sum := sha256.Sum256(boot)
	home := filepath.Join(os.TempDir(), fmt.Sprintf("onefold-test-%d-%s", os.Getuid(), hex.EncodeToString(sum[:4])))
	if err := os.MkdirAll(home, 0o755); err != nil { // as root, the server's user must pass through
		return nil, fmt.Errorf("make folder for test databases: %w", err)
	}
	for slot := range 32 {
		dir := filepath.Join(home, strconv.Itoa(slot))
		s, err := startIn(ctx, dir)
		if errors.Is(err, localpg.ErrInUse) {
			continue
		}
		return s, err
	}
	return nil, errors.New("32 test processes own all embedded servers")
}

func startIn(ctx context.Context, dir string) (*server, error) {
	cfg := localpg.Config{Dir: dir, NoSync: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	instance, err := localpg.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &server{url: instance.URL(), end: instance.Stop}
	if err := dropLeftovers(ctx, s.url); err != nil {
		return nil, errors.Join(err, instance.Stop())
	}
	return s, nil
}

// dropLeftovers removes what a killed test process left. The server is ours alone, so nobody uses them.
func dropLeftovers(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	version, err := fingerprint()
	if err != nil {
		return err
	}
	rows, _ := conn.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1) AND datname <> $2`,
		prefix, prefix+"template_"+version)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list leftover databases: %w", err)
	}
	for _, name := range names {
		if _, err := conn.Exec(ctx, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop leftover database: %w", err)
		}
	}
	return nil
}
