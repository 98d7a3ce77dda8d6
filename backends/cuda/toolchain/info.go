package toolchain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Info is ptxas's account of a module.
type Info struct {
	Kernels  []KernelInfo // in order of name
	Warnings []string     // one line each
}

// KernelInfo is what one kernel takes. All counts but Registers and Barriers are bytes.
type KernelInfo struct {
	Name         string
	Registers    int // a thread
	Barriers     int // a block
	Stack        int // a thread's frame, spills included
	SpillStores  int // a thread
	SpillLoads   int // a thread
	StaticShared int // a block; shared memory given at launch comes on top
	Constant     int // all constant banks together, parameters included
}

// Kernel returns the account of the kernel of that name.
func (i Info) Kernel(name string) (KernelInfo, bool) {
	at, ok := slices.BinarySearchFunc(i.Kernels, name, func(k KernelInfo, name string) int {
		return strings.Compare(k.Name, name)
	})
	if !ok {
		return KernelInfo{}, false
	}
	return i.Kernels[at], true
}

var (
	entryLine   = regexp.MustCompile(`Compiling entry function '([^']+)' for`)
	frameLine   = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedLine    = regexp.MustCompile(`: Used (\d+) registers(.*)`)
	usedPart    = regexp.MustCompile(`used (\d+) barriers|(\d+)(?:\+\d+)? bytes smem|(\d+)(?:\+\d+)? bytes cmem\[\d+\]`)
	warningLine = regexp.MustCompile(`(?i)\bwarning\b`)
)

// ParseInfo reads what nvcc prints under --ptxas-options=-v. Stack and spills of device functions
// that were not inlined are added to the kernel they are printed under.
func ParseInfo(log string) (Info, error) {
	var info Info
	var now *KernelInfo
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if warningLine.MatchString(line) {
			info.Warnings = append(info.Warnings, line)
		}
		if m := entryLine.FindStringSubmatch(line); m != nil {
			info.Kernels = append(info.Kernels, KernelInfo{Name: m[1]})
			now = &info.Kernels[len(info.Kernels)-1]
			continue
		}
		if now == nil {
			continue
		}
		if err := now.read(line); err != nil {
			return Info{}, fmt.Errorf("ptxas: %w in %q", err, line)
		}
	}
	slices.SortFunc(info.Kernels, func(a, b KernelInfo) int { return strings.Compare(a.Name, b.Name) })
	return info, nil
}

func (k *KernelInfo) read(line string) error {
	if m := frameLine.FindStringSubmatch(line); m != nil {
		return sums(m[1:], &k.Stack, &k.SpillStores, &k.SpillLoads)
	}
	m := usedLine.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	if err := sums(m[1:2], &k.Registers); err != nil {
		return err
	}
	for _, part := range usedPart.FindAllStringSubmatch(m[2], -1) {
		if err := sums(part[1:], &k.Barriers, &k.StaticShared, &k.Constant); err != nil {
			return err
		}
	}
	return nil
}

// sums adds each decimal text that is not empty to the number at its place.
func sums(texts []string, into ...*int) error {
	for i, text := range texts {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		*into[i] += n
	}
	return nil
}
