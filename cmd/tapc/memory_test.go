package main

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
	c, err := readContent(name)
	if err != nil {
		t.Fatal(err)
	}
	if !c.release() || c.data != nil {
		t.Fatal("a large content stays in memory")
	}
	if again, err := c.bytes(); err != nil || !bytes.Equal(again, text) {
		t.Fatalf("%d bytes, %v", len(again), err)
	}
	c.release()
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.bytes(); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Fatal(err)
	}
}

func TestContentThatStays(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in.tap")
	if err := os.WriteFile(name, []byte("tapc 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	small, err := readContent(name)
	if err != nil {
		t.Fatal(err)
	}
	once := &content{data: make([]byte, releaseFrom)}
	for _, c := range []*content{small, once} {
		want := len(c.data)
		c.release()
		if got, err := c.bytes(); err != nil || len(got) != want {
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
		(&app{tuned: c.tuned}).collectWhileCompiling()
		if got := debug.SetGCPercent(c.now); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
