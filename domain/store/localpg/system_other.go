//go:build unix && !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const locale = "en_US.UTF-8"

// diesWithUs: this kernel has no death signal. A server that outlives a killed owner is ended by the next start, see endStale.
func diesWithUs(*syscall.SysProcAttr, syscall.Signal) {}

// isServer reports that pid is a server of this data folder, which is on its command line.
func isServer(pid int, data string) bool {
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), data)
}
