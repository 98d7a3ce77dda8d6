package hostcaches

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestShared(t *testing.T) {
	for list, want := range map[string]int64{"0": 1, "0-3": 4, "0-1,8-9": 4, "0,2": 2, "": 1, "x": 1, "3-1": 1} {
		if got := shared(list); got != want {
			t.Errorf("%q is %d", list, got)
		}
	}
}

// TestList reads a folder as Linux has it, without the cache for instructions; a file that is missing or no number is an error, and so is no folder.
func TestList(t *testing.T) {
	dir := t.TempDir()
	put := func(index, name, text string) {
		t.Helper()
		folder := filepath.Join(dir, index)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range [][]string{{"1", "Data", "32K", "0-1"}, {"1", "Instruction", "64K", "0-1"}, {"2", "Unified", "1280K", "0-1"}, {"3", "Unified", "32768K", "0-15"}} {
		for j, name := range []string{"level", "type", "size", "shared_cpu_list"} {
			put("index"+string(rune('0'+i)), name, c[j])
		}
	}
	want := []Cache{{1, 32 << 10, 2}, {2, 1280 << 10, 2}, {3, 32 << 20, 16}}
	if got, err := in(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v, %v", got, err)
	}
	for _, size := range []string{"", "many", "99999999999999999999K"} {
		put("index2", "size", size)
		if got, err := in(dir); err == nil {
			t.Errorf("a size of %q: %v", size, got)
		}
	}
	os.Remove(filepath.Join(dir, "index2", "size"))
	if got, err := in(dir); err == nil {
		t.Errorf("without a size: %v", got)
	}
	if got, err := in(filepath.Join(dir, "none")); err == nil {
		t.Errorf("no folder has %v", got)
	}
}

// TestSecond: threads of a core do not share its cache as cores do.
func TestSecond(t *testing.T) {
	for _, c := range []struct {
		list []Cache
		want int64
	}{
		{nil, 0},
		{[]Cache{{1, 32 << 10, 1}}, 0},
		{[]Cache{{1, 32 << 10, 1}, {2, 512 << 10, 1}, {3, 32 << 20, 8}}, 512 << 10},
		{[]Cache{{1, 32 << 10, 2}, {2, 256 << 10, 2}}, 256 << 10},
		{[]Cache{{1, 32 << 10, 1}, {2, 1 << 20, 4}}, 256 << 10},
	} {
		if got := second(c.list); got != c.want {
			t.Errorf("%v: %d", c.list, got)
		}
	}
}
