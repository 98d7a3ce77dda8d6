package compare

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// peakOf gives the greatest resident set that a process has had, in bytes.
func peakOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\nVmHWM:"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, fmt.Errorf("process %d is over", pid)
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kilobytes << 10, err
}
