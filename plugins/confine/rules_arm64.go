//go:build linux

package confine

import "golang.org/x/sys/unix"

// ownRules are the calls of this architecture.
func ownRules(*terms) []rule {
	return []rule{{calls: calls{unix.SYS_RENAMEAT}, ok: true, why: "Landlock and the root directory say where"}}
}
