package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// cgroup is a control group of a plugin's processes, of version 2: the kernel bounds their memory together, whatever it is used for, and
// the number of their threads.
type cgroup struct {
	dir  string
	file *os.File
}

// cgroupRoot is where control groups of version 2 are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupNeeds are the controllers without which a group is of no use.
var cgroupNeeds = []string{"memory", "pids"}

// threadsOfProcess is how many threads each process may have in the mean: a group counts threads.
const threadsOfProcess = 64

// newCgroup makes a group of a name with bounds, in a directory where the controllers are on for groups below it: that of this
// process's group, or that above it, as only the topmost may have processes and groups with controllers. Where this user may not, or
// there is none such, it is an error.
func newCgroup(root, name string, needs []string, memory int64, processes int) (*cgroup, error) {
	own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	for _, at := range []string{own, filepath.Dir(own)} {
		dir := filepath.Join(root, at, name)
		if err = controlled(filepath.Dir(dir), needs); err != nil {
			continue
		}
		if err = os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		g := &cgroup{dir: dir}
		if len(needs) > 0 {
			err = g.bound(memory, processes)
		}
		if err == nil {
			g.file, err = os.Open(dir)
		}
		if err == nil {
			return g, nil
		}
		g.remove()
	}
	return nil, err
}

// ownCgroup gives the path of this process's group.
func ownCgroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("there are no control groups of version 2")
}

// controlled says whether groups in a directory have the controllers.
func controlled(dir string, needs []string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, need := range needs {
		if !slices.Contains(strings.Fields(string(text)), need) {
			return fmt.Errorf("%s has no controller %s for groups below it", dir, need)
		}
	}
	return nil
}

// bound sets the bounds of the group.
func (g *cgroup) bound(memory int64, processes int) error {
	for _, x := range []struct {
		name  string
		value int64
		must  bool
	}{{"memory.max", memory, true}, {"memory.swap.max", 0, false}, {"memory.oom.group", 1, false}, {"pids.max", int64(processes) * threadsOfProcess, true}} {
		err := os.WriteFile(filepath.Join(g.dir, x.name), strconv.AppendInt(nil, x.value, 10), 0o644)
		if err != nil && (x.must || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// into makes a process start in the group; nil is no group.
func (g *cgroup) into(sys *syscall.SysProcAttr) *syscall.SysProcAttr {
	if g != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(g.file.Fd())
	}
	return sys
}

// starved says whether the kernel killed a process of the group because its memory was at its bound.
func (g *cgroup) starved() bool {
	if g == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return count != "0"
		}
	}
	return false
}

// remove takes the group away; no process is in it any more.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.file != nil {
		g.file.Close()
	}
	syscall.Rmdir(g.dir)
}
