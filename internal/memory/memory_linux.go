package memory

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// system gives what /proc/meminfo says can be had.
func system() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return unknown
	}
	return free(string(text))
}

// free reads the text of /proc/meminfo, in KiB.
func free(text string) int64 {
	sum, found := int64(0), false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemAvailable:" && f[0] != "SwapFree:" {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 54); err == nil {
			sum, found = sum+n<<10, found || f[0] == "MemAvailable:"
		}
	}
	if !found {
		return unknown
	}
	return sum
}

// groups gives what the control groups (cgroup v2) of the process leave.
func groups() int64 {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return unknown
	}
	left := int64(unknown)
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for ; ; path = filepath.Dir(path) {
			left = min(left, leftIn(filepath.Join("/sys/fs/cgroup", path)))
			if path == "/" || path == "." {
				break
			}
		}
	}
	return left
}

// leftIn gives what one control group leaves.
func leftIn(dir string) int64 {
	limit, used := number(filepath.Join(dir, "memory.max")), number(filepath.Join(dir, "memory.current"))
	if limit == unknown || used == unknown {
		return unknown
	}
	return max(0, limit-used)
}

// number reads a file that holds one number; anything else is unknown.
func number(name string) int64 {
	text, err := os.ReadFile(name)
	if err != nil {
		return unknown
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return unknown
	}
	return n
}

// addresses gives what the limit of addresses (ulimit -v) leaves.
func addresses() int64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &l); err != nil || l.Cur > unknown {
		return unknown
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return unknown
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text) + " x")[0], 10, 50)
	if err != nil {
		return unknown
	}
	return max(0, int64(l.Cur)-pages*int64(os.Getpagesize()))
}
