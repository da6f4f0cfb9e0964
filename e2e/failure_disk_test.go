//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallDisk is a folder on a disk of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "right to mount a small disk")
	}
	dir := filepath.Dir(openDir(t))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0755,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		missing(t, "small disk: "+string(out))
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return dir
}

// fill takes all the room there is; the function returned gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	require.NoError(t, err)
	for block := make([]byte, 1<<20); len(block) > 0; {
		n, err := f.Write(block)
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			block = block[:min(n, len(block)/2)]
		}
	}
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(name)) }
}

// With its disk full Postgres refuses what needs room, and ends altogether when its log does. Clients are told to come back;
// with room again (and Postgres started, as a supervisor does) everything goes on.
func TestPostgresDiskFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "300m")
	c := startCluster(t, filepath.Join(dir, "data"))
	s := openOn(t, c.URL(), 2, 2)
	before := s.until(s.pay(s.buy(one(license))), "FULFILLED")
	keys := s.during(8, func() {
		free := fill(t, dir)
		eventually(t, "an order is refused", s.refuses)
		free()
		eventually(t, "an order is taken again", func() bool { return !s.refuses() })
		free = fill(t, dir)
		eventually(t, "Postgres ends, for it can't write its log", func() bool {
			_, _ = s.db.Exec(t.Context(), `SELECT pg_switch_wal() FROM txid_current()`)
			select {
			case <-c.Done():
				return true
			default:
				return false
			}
		})
		s.requireUnready()
		require.NoError(t, c.Stop())
		free()
		c.start()
	})
	s.resumes(keys)
	require.Equal(t, before.OrderID, s.until(before, "FULFILLED").OrderID)
}

// refuses tries to place an order.
func (s *shop) refuses() bool {
	s.t.Helper()
	a := s.place(s.ann, newKey(), one(license))
	if a.status != 201 {
		requireComeBack(s.t, a)
	}
	return a.status != 201
}
