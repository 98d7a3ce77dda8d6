//go:build linux

package confine

import "golang.org/x/sys/unix"

// ownRules are the calls of this architecture.
func ownRules(*terms) []rule {
	return []rule{{calls: calls{unix.SYS_RISCV_FLUSH_ICACHE, unix.SYS_RISCV_HWPROBE}, ok: true, why: "the processor"}}
}
