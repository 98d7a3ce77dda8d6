package supervise

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/plugins/confine"
)

// The supervisor's looks at what the plugin uses: often at the processes that it knows, and every treeTurn-th time for new ones, and at
// files on disk.
const (
	lookInterval = 100 * time.Millisecond
	treeTurn     = 5
)

// watch kills everything when limits are passed.
func (s *supervisor) watch() {
	var pids []int
	limits := &s.order.Task.Limits
	for turn := 0; ; turn++ {
		time.Sleep(lookInterval)
		if turn%treeTurn == 0 {
			pids = tree(s.root, processes())
			if len(pids) > s.order.Processes {
				s.kill("processes")
			}
			if s.folder < 0 && onDisk(s.order.Task.Folder, pids, limits.FileSize) > limits.FileSize {
				s.kill("files")
			}
		}
		use := inMemory(s.folder)
		for _, p := range pids {
			use += memory(p)
		}
		if use > limits.Memory {
			s.kill("memory")
		}
	}
}

// process is one entry of /proc.
type process struct{ pid, parent int }

// processes lists the processes of the system.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent …; the name may hold anything, so the last parenthesis counts
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			list = append(list, process{pid, parent})
		}
	}
	return list
}

// tree gives everything that descends from a process.
func tree(root int, list []process) []int {
	children := map[int][]int{}
	for _, p := range list {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	all := []int{}
	for next := children[root]; len(next) > 0; {
		all = append(all, next...)
		var deeper []int
		for _, p := range next {
			deeper = append(deeper, children[p]...)
		}
		next = deeper
	}
	return all
}

// memory gives the bytes that a process takes, resident, swapped out, and in tables of its pages; 0 if it is gone.
func memory(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS", "VmSwap", "VmPTE":
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB\n")), 10, 64)
			sum += n << 10
		}
	}
	return sum
}

// inMemory gives the bytes of the files in a folder that is a file system in memory, also of those without a name; 0 for none (-1).
func inMemory(folder int) int64 {
	var st unix.Statfs_t
	if folder < 0 || unix.Fstatfs(folder, &st) != nil {
		return 0
	}
	return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
}

// errTooMuch ends a walk that has found enough.
var errTooMuch = errors.New("there is more than there may be")

// onDisk gives the bytes of the files below a directory, and of files without a name that processes have open. It looks no further
// once there are more than the limit.
func onDisk(dir string, pids []int, limit int64) int64 {
	var sum int64
	n := 0
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was taken away just now
		}
		if info, err := e.Info(); err == nil {
			sum += blocks(info)
		}
		if n++; n > confine.MaxFiles {
			sum = limit + 1
		}
		if sum > limit {
			return errTooMuch
		}
		return nil
	})
	seen := map[uint64]bool{}
	for _, pid := range pids {
		names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				if st := info.Sys().(*syscall.Stat_t); st.Nlink == 0 && !seen[st.Ino] {
					seen[st.Ino] = true
					sum += blocks(info)
				}
			}
		}
	}
	return sum
}

// blocks gives the bytes that a file takes on its disk.
func blocks(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
