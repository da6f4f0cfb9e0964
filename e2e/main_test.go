//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"onefold/domain/store/storetest"
)

// The binaries under test: as it ships, and with crash points (domain/crash).
var shipped, crashing = artefact("bin", "onefold"), artefact("bin", "onefold-crashpoints")

// patience is how long a test waits for what must happen; far more than it takes, because machines that build are slow.
const patience = 40 * time.Second

// startPatience is the same for a demo's start, which makes a database, migrates it and fills it.
const startPatience = 90 * time.Second

func TestMain(m *testing.M) {
	tidy()
	for binary, tags := range map[string]string{shipped: "", crashing: "crashpoints"} {
		build := exec.Command("go", "build", "-trimpath", "-tags", tags, "-o", binary, "../cmd/onefold")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", binary, err, out)
			os.Exit(1)
		}
	}
	storetest.Main(m)
}

// tidy removes what earlier failures left.
func tidy() {
	old, _ := os.ReadDir(artefact())
	for _, dir := range old {
		if dir.Name() != "bin" {
			_ = os.RemoveAll(artefact(dir.Name()))
		}
	}
}

func artefact(parts ...string) string {
	path, err := filepath.Abs(filepath.Join(append([]string{"artefacts"}, parts...)...))
	if err != nil {
		panic(err)
	}
	return path
}

// missing is the only way to skip: where nothing may be skipped, it fails.
func missing(t *testing.T, what string) {
	t.Helper()
	if storetest.Required() {
		t.Fatal("ONEFOLD_TEST_REQUIRED=1, but there is no " + what)
	}
	t.Skip("no " + what)
}

// eventually waits for a signal instead of sleeping; what says in the failure what never came.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	soon(t, patience, what, ok)
}

func soon(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}
