//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// run runs a command to its end and returns what it printed.
func run(t testing.TB, input string, env []string, args ...string) string {
	t.Helper()
	stdout, stderr, status := outcome(t, input, env, args...)
	require.Equal(t, 0, status, "onefold %s: %s", strings.Join(args, " "), stderr+stdout)
	return stdout
}

func outcome(t testing.TB, input string, env []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), shipped, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ONEFOLD_PG_BIN=" + os.Getenv("ONEFOLD_PG_BIN")}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	_ = cmd.Run() // the status says it
	require.NotNil(t, cmd.ProcessState, "onefold %s did not start", strings.Join(args, " "))
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
