package localpg

import (
	"os"
	"strconv"
	"syscall"
)

const locale = "C.UTF-8"

// diesWithUs lets the kernel signal the child when the thread that forked it ends, so that even kill -9 leaves no server.
// Go sets it after the change of user, which would reset it.
func diesWithUs(attr *syscall.SysProcAttr, s syscall.Signal) { attr.Pdeathsig = s }

// isServer reports that pid is a server of this data folder: PostgreSQL works in it.
func isServer(pid int, data string) bool {
	cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	ours, oursErr := os.Stat(data)
	there, thereErr := os.Stat(cwd)
	return err == nil && oursErr == nil && thereErr == nil && os.SameFile(ours, there)
}
