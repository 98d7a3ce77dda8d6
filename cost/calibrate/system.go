package calibrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule"
)

// kind is that of the device on which programs are started.
var kind = schedule.Host.String()

// units is how many cores programs may use.
func units() int64 { return int64(runtime.NumCPU()) }

var memTotal = regexp.MustCompile(`MemTotal:\s+(\d+) kB`)

// memory gives the bytes of main memory.
func memory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	m := memTotal.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("/proc/meminfo has no MemTotal")
	}
	k, err := strconv.ParseInt(string(m[1]), 10, 64)
	return k << 10, err
}

// narrowRows gives the rows of a machine file by which this processor's programs multiply bytes and bfloat16.
func narrowRows() (bytes, halves string) {
	text, _ := os.ReadFile("/proc/cpuinfo") // without it, the rows that every processor has
	return rowsOf(string(text))
}

// rowsOf finds the rows in what Linux says of a processor: the best of which it has the instructions (backends/cpu/micro).
func rowsOf(cpuinfo string) (bytes, halves string) {
	has := map[string]bool{}
	for line := range strings.Lines(cpuinfo) {
		if key, words, ok := strings.Cut(line, ":"); ok && slices.Contains([]string{"flags", "Features"}, strings.TrimSpace(key)) {
			for _, w := range strings.Fields(words) {
				has[w] = true
			}
		}
	}
	first := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if has[pairs[i]] {
				return pairs[i+1]
			}
		}
		return "any"
	}
	return first("amx_int8", "amx", "avx512_vnni", "vnni", "avx_vnni", "vexvnni", "i8mm", "usdot", "asimddp", "sdot"),
		first("amx_bf16", "amx", "avx512_bf16", "bf16", "bf16", "bfdot")
}

// Caches gives those of the first core for data, the nearest first, in words: what code that was measured here was measured with.
func Caches() (string, error) {
	list, err := caches()
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = fmt.Sprintf("%s %d KiB for %d", c.Name, c.Bytes>>10, c.Units)
	}
	return strings.Join(words, ", "), err
}

// caches gives those of the first core for data, the nearest first, with how many cores share each, without bandwidths.
func caches() ([]machine.Cache, error) {
	dirs, err := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*")
	if err != nil || len(dirs) == 0 {
		return nil, errors.New("there are no caches in /sys/devices/system/cpu")
	}
	var list []machine.Cache
	for _, dir := range dirs {
		read := func(name string) string {
			text, e := os.ReadFile(filepath.Join(dir, name))
			if e != nil {
				err = e
			}
			return strings.TrimSpace(string(text))
		}
		size, e := strconv.ParseInt(strings.TrimSuffix(read("size"), "K"), 10, 64)
		if e != nil || err != nil {
			return nil, fmt.Errorf("%s: %v, %v", dir, e, err)
		}
		if read("type") != "Instruction" {
			list = append(list, machine.Cache{Name: "L" + read("level"), Bytes: size << 10, Units: shared(read("shared_cpu_list"))})
		}
	}
	return split(list), err
}

// farther is how many times larger than the one before a cache is whose first part is a cache of its own: it is shared, with other machines too,
// and less of it is there than its size says.
const farther = 16

// split puts a part of a large cache before it.
func split(list []machine.Cache) (out []machine.Cache) {
	for i, c := range list {
		if i > 0 && c.Bytes >= farther*list[i-1].Bytes*max(1, c.Units/list[i-1].Units) {
			near := c
			near.Name, near.Bytes = c.Name+machine.Nearby, c.Bytes/4
			out = append(out, near)
		}
		out = append(out, c)
	}
	return out
}

// shared counts the cores of a list such as 0-3,8.
func shared(list string) int64 {
	n := int64(0)
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseInt(first, 10, 32)
		b := a
		if isRange {
			b, err = strconv.ParseInt(last, 10, 32)
		}
		if err == nil && b >= a {
			n += b - a + 1
		}
	}
	return max(n, 1)
}
