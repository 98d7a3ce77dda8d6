package content

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestContentIsReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in.tap")
	text := bytes.Repeat([]byte("0123456789abcdef"), releaseFrom/16)
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Release() || c.Data != nil {
		t.Fatal("a large content stays in memory")
	}
	if again, err := c.Bytes(); err != nil || !bytes.Equal(again, text) {
		t.Fatalf("%d bytes, %v", len(again), err)
	}
	c.Release()
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bytes(); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Fatal(err)
	}
}

func TestContentThatStays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in.tap")
	if err := os.WriteFile(name, []byte("tapc 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	small, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	once := &Content{Data: make([]byte, releaseFrom)}
	for _, c := range []*Content{small, once} {
		want := len(c.Data)
		c.Release()
		if got, err := c.Bytes(); err != nil || len(got) != want {
			t.Errorf("%d bytes of %d: %v", len(got), want, err)
		}
	}
}

// A compilation collects garbage no more often than it must, whatever was set for the graph that it reads, and as the environment says.
func TestCollectWhileCompiling(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, c := range []struct {
		tuned     bool
		now, want int
	}{{true, workingPercent, compilingPercent}, {true, readingPercent, readingPercent}, {false, 30, 30}} {
		debug.SetGCPercent(c.now)
		CollectWhileCompiling(c.tuned)
		if got := debug.SetGCPercent(c.now); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
