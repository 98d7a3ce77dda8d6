// Package hostcaches reads what the system says of the caches of the processor that tapc runs on. It must not import anything of tapc.
package hostcaches

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cache is one of the first core, for data.
type Cache struct {
	Level int
	Bytes int64
	Units int64 // processors of the system that share it: threads of a core count
}

// List gives the caches, the nearest first.
func List() ([]Cache, error) { return in("/sys/devices/system/cpu/cpu0/cache") }

// Second gives the bytes of the second cache that one core has: its part of one that cores share. 0 is unknown.
func Second() int64 {
	list, err := List()
	if err != nil {
		return 0
	}
	return second(list)
}

func second(list []Cache) int64 {
	threads := int64(1)
	for _, c := range list {
		switch c.Level {
		case 1:
			threads = c.Units // no cores share the first
		case 2:
			return c.Bytes / max(1, c.Units/threads)
		}
	}
	return 0
}

// in reads the folder of a core's caches.
func in(folder string) (list []Cache, err error) {
	dirs, err := filepath.Glob(filepath.Join(folder, "index*"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("there are no caches in %s", folder)
	}
	for _, dir := range dirs {
		var wrong error
		read := func(name string) string {
			text, e := os.ReadFile(filepath.Join(dir, name))
			wrong = errors.Join(wrong, e)
			return strings.TrimSpace(string(text))
		}
		size, e := strconv.ParseInt(strings.TrimSuffix(read("size"), "K"), 10, 44)
		level, e2 := strconv.Atoi(read("level"))
		kind, units := read("type"), shared(read("shared_cpu_list"))
		if wrong = errors.Join(wrong, e, e2); wrong != nil {
			return nil, fmt.Errorf("%s: %w", dir, wrong)
		}
		if kind != "Instruction" {
			list = append(list, Cache{Level: level, Bytes: size << 10, Units: units})
		}
	}
	return list, nil
}

// shared counts the processors of a list such as 0-3,8.
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
