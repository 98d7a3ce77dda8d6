package memory

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFree(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable:   70 kB\nSwapFree:  2 kB\n": 72 << 10,
		"SwapFree: 2 kB\n":               unknown, // an old kernel
		"MemAvailable:\nMemAvailable: x": unknown,
		"":                               unknown,
	} {
		if got := free(text); got != want {
			t.Errorf("%q: %d, expected %d", text, got, want)
		}
	}
}

func TestLeftIn(t *testing.T) {
	for _, c := range []struct {
		limit, used string
		want        int64
	}{{"1000\n", "300\n", 700}, {"1000\n", "3000\n", 0}, {"max\n", "300\n", unknown}, {"", "300\n", unknown}, {"1000\n", "", unknown}} {
		dir := t.TempDir()
		for name, text := range map[string]string{"memory.max": c.limit, "memory.current": c.used} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := leftIn(dir); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestAvailable(t *testing.T) {
	if n := Available(); n <= 0 || n > 1<<50 {
		t.Errorf("%d bytes", n)
	}
}
