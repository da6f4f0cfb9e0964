//go:build e2e

package e2e

import "syscall"

// dieWithUs lets the kernel end a process whose test was killed.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
