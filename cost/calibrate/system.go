package calibrate

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/hostcaches"
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
	list, err := hostcaches.List()
	out := make([]machine.Cache, len(list))
	for i, c := range list {
		out[i] = machine.Cache{Name: fmt.Sprint("L", c.Level), Bytes: c.Bytes, Units: c.Units}
	}
	return split(out), err
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
